package sim

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// ledBySnapshot is a cluster in which a shard is led by a replica that has its rows from a Raft snapshot (R6.8). As of
// that, the shard had committed an id, fenced another, and prepared a transaction whose last agent does not respond.
//
//	A    leads s ────── s prepares T ─── Raft snapshot to C ─── transfers s to C
//	B    leads the hot shard, T's last agent ─── receives no vote ·············├── decides T
//	C    cut off ····························├──────────────────────── leads s
type ledBySnapshot struct {
	*sim
	a, b, c *node
	s, hot  kv.ShardID
	// read and written are keys of s that T reads and writes, onHot is one of the hot shard.
	read, written, onHot []byte
	committed, fenced    kv.TxnID
	// t is the response to T, nil before it.
	t *txn.Done
}

func newLedBySnapshot(t *testing.T, broken mutant.Set) *ledBySnapshot {
	o := replicated(steady(txn.HotLast))
	o.Mutants, o.Unchecked = broken, true
	x := &ledBySnapshot{sim: led(t, o)}
	x.chooseKeys()
	x.chooseLeaders(t)
	x.c.CutUntil = math.MaxInt64
	x.until(t, func() bool { return x.Now() > int64(4*o.Hold) && x.leads(x.a, x.s) && x.leads(x.b, x.hot) })
	x.committed, x.fenced = x.newID(), x.newID()
	require.Nil(t, x.executeAs(t, x.committed).Failure)
	require.Nil(t, x.query(t, x.fenced).Failure)
	for range 300 { // meanwhile the log is cut
		require.Nil(t, x.executeAs(t, x.newID()).Failure)
	}
	x.prepare(t)
	x.c.CutUntil = 0
	before := x.Counts.Snapshots
	x.until(t, func() bool { return x.Counts.Snapshots > before })
	x.transfer(t, x.s, x.c)
	return x
}

// chooseKeys chooses two keys of one shard, and one of the hot shard.
func (x *ledBySnapshot) chooseKeys() {
	k := keysOnShards(x.sim, 1)
	x.read, x.onHot, x.hot = k[0], k[1], x.Router.HotShard()
	x.s = x.Router.Shard(x.read)
	for i := 0; x.written == nil; i++ {
		if key := regKey(i); x.Router.Shard(key) == x.s && string(key) != string(x.read) {
			x.written = key
		}
	}
}

// chooseLeaders has the hot shard led by another node than s.
func (x *ledBySnapshot) chooseLeaders(t *testing.T) {
	x.a = x.nodes[x.Shards[x.s].Node.ID-1]
	x.b, x.c = x.nodes[int(x.a.ID)%3], x.nodes[int(x.a.ID+1)%3]
	x.transfer(t, x.hot, x.b)
}

// transfer transfers leadership to a node, at once or when it has the log.
func (x *ledBySnapshot) transfer(t *testing.T, s kv.ShardID, to *node) {
	for range 20 {
		x.Shards[s].Transfer(to.Node)
		x.Run(x.Now()+int64(20*time.Millisecond), func() bool { return x.leads(to, s) })
		if x.leads(to, s) {
			return
		}
	}
	require.Fail(t, "the shard's leader does not change")
}

func (x *ledBySnapshot) leads(n *node, s kv.ShardID) bool {
	return x.Shards[s].Node == n.Node && x.Shards[s].M != nil
}

// prepare has T prepared on s, whose votes are lost.
func (x *ledBySnapshot) prepare(t *testing.T) {
	x.isLost = func(env *msg.Envelope) bool { return msg.As[msg.Vote](env) != nil }
	x.a.execute(txn.TxnOptions{}, func(d txn.Done) { x.t = &d }, get(x.read), put(x.written), put(x.onHot))
	x.until(t, func() bool { return x.Shards[x.s].M.Status(0).Prepared == 1 })
	x.Run(x.Now()+int64(10*oneWay), nil)
}

func (x *ledBySnapshot) until(t *testing.T, is func() bool) {
	x.Run(x.Now()+int64(time.Minute), is)
	require.NoError(t, x.Err)
	require.True(t, is())
}

// executeAs puts the key that T reads under an id.
func (x *ledBySnapshot) executeAs(t *testing.T, id kv.TxnID) (d txn.Done) {
	return x.call1(t, func(g *txn.Gateway, now int64, tok txn.CallHandle) {
		g.Execute(now, tok, id, []msg.Op{put(x.read)}, forever, txn.TxnOptions{})
	})
}

func (x *ledBySnapshot) query(t *testing.T, id kv.TxnID) txn.Done {
	return x.call1(t, func(g *txn.Gateway, now int64, tok txn.CallHandle) { g.QueryOutcome(now, tok, id, 0, forever) })
}

func (x *ledBySnapshot) call1(t *testing.T, f func(*txn.Gateway, int64, txn.CallHandle)) (d txn.Done) {
	done := false
	x.a.request(f, func(r txn.Done) { d, done = r, true })
	x.until(t, func() bool { return done })
	return d
}

// violation returns what shows that the leader lacks a row, empty if nothing does.
func (x *ledBySnapshot) violation(t *testing.T) string {
	var p *txn.Done
	x.a.execute(txn.TxnOptions{}, func(d txn.Done) { p = &d }, put(x.read))
	x.Run(x.Now()+int64(2*x.Hold), nil) // a new leader decides when the registrations of the one before have ended
	if p != nil {
		return "a key is written that an undecided transaction has read"
	}
	x.isLost = nil
	x.until(t, func() bool { return x.t != nil && p != nil })
	require.Nil(t, x.t.Failure)
	x.until(t, func() bool { return x.Shards[x.s].M.Status(0).Prepared == 0 })
	d := x.call1(t, func(g *txn.Gateway, now int64, tok txn.CallHandle) {
		g.Execute(now, tok, x.newID(), []msg.Op{get(x.written)}, forever, txn.TxnOptions{})
	})
	switch {
	case !d.Results[0].Found:
		return "what a transaction wrote is lost"
	case !x.query(t, x.committed).Committed:
		return "a committed transaction is reported as aborted"
	case x.executeAs(t, x.fenced).Failure == nil:
		return "an id commits that was reported as aborted"
	}
	return ""
}

// TestRaftSnapshotHasAllRows: a leader that has its rows from a Raft snapshot knows what the leader before had promised
// (R6.8).
func TestRaftSnapshotHasAllRows(t *testing.T) {
	require.Empty(t, newLedBySnapshot(t, mutant.Set{}).violation(t))
}
