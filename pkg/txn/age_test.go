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

// testGateway is a gateway whose messages tests inspect.
type testGateway struct {
	*Gateway
	t   *testing.T
	now int64
}

func newTestGateway(t *testing.T) *testGateway {
	return &testGateway{t: t, Gateway: NewGateway(Config{Node: 1, Router: oneHome{}, MaxInFlight: 8, NoOptimistic: true,
		Repeat: time.Second, Liveness: time.Second, MaxAge: time.Minute})}
}

// timeOfDay is a time of day, an hour after the zero time and more.
func timeOfDay(since time.Duration) int64 { return int64(time.Hour + since) }

// loseAttempt begins an attempt of an interactive transaction that arrives at a time of day, wounds
// it, and returns its begin time.
func (g *testGateway) loseAttempt(ref kv.TxnRef, arrived time.Duration) (begun int64) {
	g.t.Helper()
	g.now++
	require.Nil(g.t, g.Begin(g.now, ref, false, TxnOptions{Arrived: timeOfDay(arrived), User: 7}))
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

// TestBeginTimeIsTheArrivalTime: the time in the id does not count, whether it is past or future.
func TestBeginTimeIsTheArrivalTime(t *testing.T) {
	for _, made := range []time.Duration{-9 * time.Minute, 0, 9 * time.Minute} {
		g := newTestGateway(t)
		id := kv.TxnID{Time: timeOfDay(made)}
		g.Execute(1, 1, id, []msg.Op{{Kind: msg.OpPut, Key: []byte("k")}}, int64(time.Minute),
			TxnOptions{Arrived: timeOfDay(0)})
		require.Equal(t, timeOfDay(0), msg.As[msg.CommitRequest](g.Flush().Send[0]).Begun)
		require.Equal(t, timeOfDay(time.Second), newTestGateway(t).loseAttempt(kv.TxnRef{TxnID: id, Attempt: 1}, time.Second))
	}
}

// TestAgeIsEqualOnAllShards: otherwise shards could order two transactions differently, and a cycle
// of waits might have no younger transaction to wound.
func TestAgeIsEqualOnAllShards(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: router3{}, MaxInFlight: 8})
	ops := []msg.Op{{Kind: msg.OpPut, Key: []byte("a")}, {Kind: msg.OpPut, Key: []byte("b")}}
	g.Execute(1, 1, kv.TxnID{Time: 1}, ops, int64(time.Minute), TxnOptions{Arrived: timeOfDay(0)})
	sent := g.Flush().Send
	require.Len(t, sent, 2)
	require.Equal(t, timeOfDay(0), msg.As[msg.Prepare](sent[0]).Begun)
	require.Equal(t, timeOfDay(0), msg.As[msg.CommitRequest](sent[1]).Begun)
}

// TestRetriesKeepTheAgeOfTheFirstAttempt at one gateway. At another gateway a retry counts as a
// first attempt.
func TestRetriesKeepTheAgeOfTheFirstAttempt(t *testing.T) {
	g := newTestGateway(t)
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: timeOfDay(-9 * time.Minute)}}
	for _, c := range []struct{ arrived, begun time.Duration }{
		{0, 0},
		{10 * time.Second, 0},
		{kv.MaxTxnAge, 0},
		{kv.MaxTxnAge + time.Second, time.Second}, // the begin time is bounded
	} {
		ref.Attempt++
		require.Equal(t, timeOfDay(c.begun), g.loseAttempt(ref, c.arrived))
		require.Equal(t, timeOfDay(c.arrived), newTestGateway(t).loseAttempt(ref, c.arrived), "it is a first attempt there")
	}
}

// TestErrorsNameTheMaximumAge: if the maximum age ends a transaction, and not a deadline of its
// client, the error and its hint state that.
func TestErrorsNameTheMaximumAge(t *testing.T) {
	const age, byClient = "the maximum age of 60 s", "the deadline passed"
	read, write := msg.Op{Kind: msg.OpGet, Key: []byte("k")}, msg.Op{Kind: msg.OpPut, Key: []byte("k")}
	for name, c := range map[string]struct {
		ops        []msg.Op
		open       bool
		deadline   time.Duration // 0 is none
		text, hint string
	}{
		"a read":                           {ops: []msg.Op{read}, text: age, hint: "read a snapshot"},
		"a write":                          {ops: []msg.Op{write}, text: age, hint: "transactions; the receipt"},
		"a deadline beyond the age":        {ops: []msg.Op{write}, deadline: time.Hour, text: age, hint: "smaller"},
		"a deadline before it":             {ops: []msg.Op{write}, deadline: 59 * time.Second, text: byClient},
		"an idle transaction":              {open: true, text: age, hint: "for long reads use"},
		"a step":                           {open: true, ops: []msg.Op{read}, text: age, hint: "for long reads use"},
		"a step with a deadline":           {open: true, ops: []msg.Op{read}, deadline: 59 * time.Second, text: byClient},
		"a step with a later deadline":     {open: true, ops: []msg.Op{read}, deadline: time.Hour, text: age, hint: "Scan"},
		"a read with a deadline before it": {ops: []msg.Op{read}, deadline: time.Second, text: byClient},
		"a read with a deadline at it":     {ops: []msg.Op{read}, deadline: time.Minute, text: age, hint: "snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTestGateway(t).runUntilFailure(c.open, c.ops, int64(c.deadline))
			require.Equal(t, kv.KindDeadlineExceeded, kv.Kind(f.Kind), f.Text)
			require.Contains(t, f.Text, c.text)
			require.Contains(t, f.Text, "nothing was applied")
			require.Contains(t, f.Hint, c.hint)
			require.Equal(t, c.hint == "", f.Hint == "")
		})
	}
}

// runUntilFailure executes a transaction to which no shard responds except to its cancellation, and
// returns its failure.
func (g *testGateway) runUntilFailure(open bool, ops []msg.Op, deadline int64) *msg.Failure {
	g.t.Helper()
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}
	switch {
	case !open:
		g.Execute(0, 1, ref.TxnID, ops, cmp.Or(deadline, env.Never), TxnOptions{})
	default:
		require.Nil(g.t, g.Begin(0, ref, false, TxnOptions{}))
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
