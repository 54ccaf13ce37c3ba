package txn

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// aged is a gateway, and what its messages say about when transactions began.
type aged struct {
	*Gateway
	t   *testing.T
	now int64
}

func newAged(t *testing.T) *aged {
	return &aged{t: t, Gateway: NewGateway(Config{Node: 1, Router: oneHome{}, MaxInFlight: 8, NoOptimistic: true,
		Repeat: time.Second, Liveness: time.Second, MaxAge: time.Minute})}
}

// at is a time of day.
func at(since time.Duration) int64 { return int64(time.Hour + since) }

// locks begins an attempt of an interactive transaction at a time of day, has it lose, and tells when it
// counted as begun.
func (g *aged) locks(ref kv.TxnRef, arrived time.Duration) (begun int64) {
	g.t.Helper()
	g.now++
	require.Nil(g.t, g.Begin(g.now, ref, false, How{Arrived: at(arrived), User: 7}))
	g.Do(g.now, 1, ref, []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}, 0)
	sent := g.Flush().Send
	require.Len(g.t, sent, 1)
	l := msg.As[msg.Lock](sent[0])
	require.EqualValues(g.t, 7, l.User)
	lost := msg.ToGateway(1)
	lost.Body = &msg.LockResponse{Txn: ref, Number: l.Number, Shard: sent[0].Shard, Incarnation: 1,
		Failure: &msg.Failure{Reason: msg.ReasonWounded, Kind: uint32(kv.KindAborted)}}
	g.Deliver(g.now, lost)
	done := g.Flush().Done
	require.Len(g.t, done, 1)
	require.True(g.t, done[0].Closed)
	return l.Begun
}

// TestATransactionBeginsWhenItArrives: neither an id of the past nor one of the future counts.
func TestATransactionBeginsWhenItArrives(t *testing.T) {
	for _, made := range []time.Duration{-9 * time.Minute, 0, 9 * time.Minute} {
		g := newAged(t)
		id := kv.TxnID{Time: at(made)}
		g.Execute(1, 1, id, []msg.Op{{Kind: msg.OpPut, Key: []byte("k")}}, int64(time.Minute), How{Arrived: at(0)})
		require.Equal(t, at(0), msg.As[msg.CommitRequest](g.Flush().Send[0]).Begun)
		require.Equal(t, at(time.Second), newAged(t).locks(kv.TxnRef{TxnID: id, Attempt: 1}, time.Second))
	}
}

// TestEachShardGetsTheSameAge, or the order of two transactions would differ from shard to shard.
func TestEachShardGetsTheSameAge(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: router3{}, MaxInFlight: 8})
	ops := []msg.Op{{Kind: msg.OpPut, Key: []byte("a")}, {Kind: msg.OpPut, Key: []byte("b")}}
	g.Execute(1, 1, kv.TxnID{Time: 1}, ops, int64(time.Minute), How{Arrived: at(0)})
	sent := g.Flush().Send
	require.Len(t, sent, 2)
	require.Equal(t, []int64{at(0), at(0)}, []int64{msg.As[msg.Prepare](sent[0]).Begun, msg.As[msg.CommitRequest](sent[1]).Begun})
}

// TestAttemptsKeepTheAgeOfTheFirst at one gateway, and none gets older at another one.
func TestAttemptsKeepTheAgeOfTheFirst(t *testing.T) {
	g := newAged(t)
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: at(-9 * time.Minute)}}
	for _, c := range []struct{ arrived, begun time.Duration }{
		{0, 0},
		{10 * time.Second, 0},
		{kv.MaxTxnAge, 0},
		{kv.MaxTxnAge + time.Second, time.Second}, // ids are not kept for later
	} {
		ref.Attempt++
		require.Equal(t, at(c.begun), g.locks(ref, c.arrived))
		require.Equal(t, at(c.arrived), newAged(t).locks(ref, c.arrived), "it is a first attempt there")
	}
}

// TestErrorsNameTheMaximumAge: if the maximum age ends a transaction, and not a deadline of its client, the
// error says so, and what to use instead.
func TestErrorsNameTheMaximumAge(t *testing.T) {
	const age, byClient = "the maximum age of 60 s", "the deadline passed"
	read, write := msg.Op{Kind: msg.OpGet, Key: []byte("k")}, msg.Op{Kind: msg.OpPut, Key: []byte("k")}
	for name, c := range map[string]struct {
		ops        []msg.Op
		open       bool
		deadline   time.Duration // 0 is none
		text, hint string
	}{
		"a read":                              {ops: []msg.Op{read}, text: age, hint: "read a snapshot"},
		"a write":                             {ops: []msg.Op{write}, text: age, hint: "use smaller transactions; the receipt"},
		"a deadline beyond the age":           {ops: []msg.Op{write}, deadline: time.Hour, text: age, hint: "smaller"},
		"a deadline before it":                {ops: []msg.Op{write}, deadline: 59 * time.Second, text: byClient},
		"an idle transaction":                 {open: true, text: age, hint: "for long reads use"},
		"a step":                              {open: true, ops: []msg.Op{read}, text: age, hint: "for long reads use"},
		"a step with a deadline":              {open: true, ops: []msg.Op{read}, deadline: 59 * time.Second, text: byClient},
		"a step with a deadline beyond it":    {open: true, ops: []msg.Op{read}, deadline: time.Hour, text: age, hint: "Scan"},
		"a read with a deadline before it":    {ops: []msg.Op{read}, deadline: time.Second, text: byClient},
		"a read with a deadline at that time": {ops: []msg.Op{read}, deadline: time.Minute, text: age, hint: "snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newAged(t).outlives(c.open, c.ops, int64(c.deadline))
			require.Equal(t, kv.KindDeadlineExceeded, kv.Kind(f.Kind), f.Text)
			require.Contains(t, f.Text, c.text)
			require.Contains(t, f.Text, "nothing was applied")
			require.Contains(t, f.Hint, c.hint)
			require.Equal(t, c.hint == "", f.Hint == "")
		})
	}
}

// outlives runs a transaction of which no shard responds to anything but its cancellation, and returns
// its failure.
func (g *aged) outlives(open bool, ops []msg.Op, deadline int64) *msg.Failure {
	g.t.Helper()
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}
	switch {
	case !open:
		g.Execute(0, 1, ref.TxnID, ops, cmp.Or(deadline, env.Never), How{})
	default:
		require.Nil(g.t, g.Begin(0, ref, false, How{}))
		if len(ops) > 0 {
			g.Do(0, 1, ref, ops, deadline)
		}
	}
	for now := int64(0); now <= int64(61*time.Second); now += int64(50 * time.Millisecond) {
		out := g.Flush()
		if len(out.Done) > 0 {
			return out.Done[0].Failure
		}
		for _, e := range out.Send {
			c := msg.As[msg.CancelRequest](e)
			if c == nil {
				continue
			}
			cancelled := msg.ToGateway(1)
			cancelled.Body = &msg.CommitResponse{Shard: e.Shard, Incarnation: 1, Txn: c.Txn, CommitID: c.CommitID,
				Failure: &msg.Failure{Reason: msg.ReasonCancelled, Kind: uint32(kv.KindAborted)}}
			g.Deliver(now, cancelled)
		}
		g.Tick(now)
	}
	require.True(g.t, open && len(ops) == 0, "the transaction has not ended")
	g.Do(int64(61*time.Second), 1, ref, []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}, 0)
	done := g.Flush().Done
	require.Len(g.t, done, 1)
	return done[0].Failure
}
