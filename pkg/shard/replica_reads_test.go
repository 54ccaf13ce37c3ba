package shard_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/golden"
)

// replicaReads is a shard with leaders, one after the other, and the states of it that rounds have fixed.
type replicaReads struct {
	*leaders
	r      *rand.Rand
	states []*fixedState
	served int
}

// fixedState is a state with what the leader has read at it.
type fixedState struct {
	round    kv.TxnRef
	csn      kv.CSN
	inc      kv.Incarnation
	text     string
	released bool
	// refused: a replica has refused the state. It must not serve it later.
	refused bool
}

func newReplicaReads(t *testing.T, seed uint64, mutants mutant.Set) *replicaReads {
	f := &replicaReads{r: rand.New(rand.NewPCG(seed, 1))}
	f.leaders = newLeadersWith(t, func(c *shard.Config) {
		c.Mutants, c.Lease, c.GarbageBatch, c.CacheBytes = mutants, 2*time.Second, 1, 1
		c.Paging = mvcc.Paging{Threshold: 60, MinPageBytes: 30, ChainPages: 2}
	})
	f.at(time.Minute)
	return f
}

// ops are the operations by which a state is read.
func (f *replicaReads) ops() (ops []msg.Op) {
	text := "get a; get b; scan [a,z)"
	for i := range 8 {
		text += fmt.Sprintf("; sorted-set.score s member-%d-with-a-long-name", i)
	}
	ops, err := golden.Ops(text)
	require.NoError(f.t, err)
	return ops
}

// write makes a random write.
func (f *replicaReads) write() {
	m := fmt.Sprintf("member-%d-with-a-long-name", f.r.IntN(8))
	texts := []string{"put a " + m, "del a", "put b " + m, "sorted-set.add s 1 " + m, "sorted-set.increment s " + m + " 1",
		"sorted-set.remove s " + m}
	ops, err := golden.Ops(texts[f.r.IntN(len(texts))])
	require.NoError(f.t, err)
	f.now++
	e := commitMsg(nthTxn(f.now), kv.CommitID{Gateway: 1, Number: uint64(f.now)}, 0, nil, msg.Piece{Ops: ops})
	msg.As[msg.CommitRequest](e).Piece.Incarnation = f.machine().Incarnation()
	f.send(e)
	require.True(f.t, f.answer().Committed)
}

func (f *replicaReads) request(s *fixedState) *msg.Read {
	return &msg.Read{Reader: nthTxn(f.now), Gateway: 1, Number: 1, CSN: s.csn, Round: s.round, Incarnation: s.inc,
		Ops: f.ops()}
}

// fix has a round fix a state, and reads it at the leader.
func (f *replicaReads) fix() {
	f.now++
	s := &fixedState{round: nthTxn(f.now)}
	e := msg.ToShard(0)
	e.Body = &msg.Read{Reader: s.round, Gateway: 1, Number: 1, RetainNanos: int64(time.Minute)}
	f.send(e)
	r := msg.As[msg.ReadResponse](f.out[len(f.out)-1])
	s.csn, s.inc = r.CSN, r.Reading.Incarnation
	f.now++
	e = msg.ToShard(0)
	e.Body = f.request(s)
	f.send(e)
	r = msg.As[msg.ReadResponse](f.out[len(f.out)-1])
	require.Nil(f.t, r.Failure)
	s.text = golden.Results(r.Results)
	f.states = append(f.states, s)
}

// release ends the retention of a state.
func (f *replicaReads) release(s *fixedState) {
	s.released = true
	e := msg.ToShard(0)
	e.Body = &msg.ReadPage{Txn: s.round, Done: true}
	f.send(e)
}

// read reads a state at a replica, and returns what is wrong with the response.
func (f *replicaReads) read(s *fixedState) error {
	applied := f.machine().CSN()
	closed := applied - kv.CSN(f.r.IntN(int(min(applied, 3))+1))
	replica, err := replicaOf(f.shards[0], closed)
	require.NoError(f.t, err)
	out, refused := replica.Serve(&msg.Envelope{Body: f.request(s)})
	p := msg.As[msg.ReadResponse](out)
	switch {
	case refused == shard.Served && (s.refused || closed < s.csn):
		return fmt.Errorf("CSN %d is served after a refusal, or above %d", s.csn, closed)
	case refused == shard.Served && golden.Results(p.Results) != s.text:
		return fmt.Errorf("CSN %d is %q at the replica, and was %q", s.csn, golden.Results(p.Results), s.text)
	case refused == shard.Served:
		f.served++
	case refused == shard.NotClosed && closed >= s.csn,
		refused == shard.TooOld && !s.released && s.inc == f.machine().Incarnation(), refused == shard.Unreadable:
		return fmt.Errorf("CSN %d of %d is refused: %v", s.csn, closed, refused)
	}
	s.refused = refused == shard.TooOld
	return nil
}

// run executes a random history, and returns what is wrong with a response of a replica.
func (f *replicaReads) run() error {
	for range 400 {
		switch f.r.IntN(12) {
		case 0, 1:
			f.fix()
		case 2:
			f.at(time.Duration(f.now) + time.Second)
		case 3:
			if f.r.IntN(10) == 0 {
				f.change(0)
			}
		case 4:
			if n := len(f.states); n > 0 {
				f.release(f.states[f.r.IntN(n)])
			}
		default:
			f.write()
		}
		for range min(2, len(f.states)) {
			if err := f.read(f.states[f.r.IntN(len(f.states))]); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestReplicasServeRetainedStates: what a replica serves equals what the leader has served at that state. A state that
// was not retained is refused, and one that this leader retains is served.
func TestReplicasServeRetainedStates(t *testing.T) {
	served, refused := 0, 0
	for seed := range uint64(12) {
		f := newReplicaReads(t, seed, mutant.Set{})
		require.NoError(t, f.run(), "seed %d", seed)
		served += f.served
		for _, s := range f.states {
			if s.refused {
				refused++
			}
		}
	}
	t.Logf("%d reads served, %d states refused", served, refused)
	require.Greater(t, served, 2000)
	require.Greater(t, refused, 200)
}

// TestReplicaThatHasReceivedNothingRefuses: not even the empty state, of which it cannot know that.
func TestReplicaThatHasReceivedNothingRefuses(t *testing.T) {
	r := shard.ReplicaReader{Read: func(entry.Read) entry.ReadResult { return entry.ReadResult{} }}
	_, refused := r.Serve(&msg.Envelope{Body: &msg.Read{}})
	require.Equal(t, shard.TooOld, refused)
	r.Read = func(q entry.Read) entry.ReadResult {
		return entry.ReadResult{Err: kv.Errorf(kv.KindCorrupt, "a block is damaged")}
	}
	_, refused = r.Serve(&msg.Envelope{Body: &msg.ReadPage{}})
	require.Equal(t, shard.Unreadable, refused)
}

// retentionRow returns the row that a shard has, nil without one.
func (f *leaders) retentionRow() *entry.Retention {
	var rec shard.Recovered
	require.NoError(f.t, f.shards[0].Store.Recover(0, rec.Add))
	return rec.Retention
}

// TestOneReplicaWritesNoRetention: a shard with one replica has no such row. With several, the first leader excludes
// what was collected without it; with one replica again, the row is deleted.
func TestOneReplicaWritesNoRetention(t *testing.T) {
	f := &leaders{steps: newStepsWith(t, 1, func(c *shard.Config) { c.GarbageBatch = 1 })}
	for n := range int64(5) {
		require.True(t, f.put(n+1, "k"))
		f.at(time.Duration(n+1) * time.Second)
	}
	require.Nil(t, f.retentionRow())
	f.change(0)
	require.Equal(t, &entry.Retention{SafePoint: 5}, f.retentionRow())
	f.restart(0)
	require.Nil(t, f.retentionRow())
}

// TestLargeRangeFailsAtReplicas as it does at the leader.
func TestLargeRangeFailsAtReplicas(t *testing.T) {
	f := newLeaders(t, mutant.Set{})
	big := make([]byte, kv.MaxResultBytes/40)
	for n := range int64(50) {
		e := commitMsg(nthTxn(n+1), kv.CommitID{Gateway: 1, Number: uint64(n)}, 0, nil, msg.Piece{Ops: []msg.Op{
			{Kind: msg.OpPut, Key: fmt.Appendf(nil, "k%02d", n), Value: big}}})
		msg.As[msg.CommitRequest](e).Piece.Incarnation = f.machine().Incarnation()
		f.send(e)
		require.True(t, f.answer().Committed)
	}
	r, err := replicaOf(f.shards[0], f.machine().CSN())
	require.NoError(t, err)
	scan := msg.Op{Kind: msg.OpScan}
	var ops []msg.Op
	for range 20 {
		ops = append(ops, scan)
		scan.Seq++
	}
	out, refused := r.Serve(&msg.Envelope{Body: &msg.Read{CSN: f.machine().CSN(), Ops: ops}})
	require.Equal(t, shard.Served, refused)
	p := msg.As[msg.ReadResponse](out)
	require.Equal(t, uint32(kv.KindInvalid), p.Failure.Kind)
	require.Contains(t, p.Failure.Text, kv.ResultTooLargeText)
}
