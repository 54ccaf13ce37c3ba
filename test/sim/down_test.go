package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestRefusedReadersEndWhileDeciderIsDown: readers have blocked an update for so long that its queues are closed, and
// the node of the hot shard, which decides it, fails. Readers of its key are refused, and no round can be fixed. They
// end with that node's failure, and those of other keys of the shard read.
func TestRefusedReadersEndWhileDeciderIsDown(t *testing.T) {
	w := newSim(steady(txn.HotLast))
	keys := keysOnShards(w, 1)
	key, hot := keys[0], keys[1]
	down := w.nodes[w.Shards[w.Router.HotShard()].Node.ID-1]
	x := w.nodes[w.Shards[w.Router.Shard(key)].Node.ID-1]
	require.NotEqual(t, down, x)

	ref, f := x.open(true, txn.TxnOptions{})
	require.Nil(t, f)
	x.do(ref, func(d txn.Done) { require.Nil(t, d.Failure) }, get(key))
	w.Run(int64(10*oneWay), nil)
	down.execute(txn.TxnOptions{}, func(txn.Done) {}, put(key), put(hot))
	w.Run(w.Now()+int64(30*oneWay), nil)
	x.commit(ref, func(d txn.Done) { require.Nil(t, d.Failure) })
	w.Run(w.Now()+int64(oneWay/2), nil)
	down.CutUntil = forever
	w.Run(w.Now()+int64(3*time.Second), nil)
	x.Machines[0].SetDown(x.Local(), down.ID, true)

	for name, read := range map[string]func(then func(txn.Done), k []byte){
		"one-shot": func(then func(txn.Done), k []byte) { x.execute(txn.TxnOptions{}, then, get(k)) },
		"view": func(then func(txn.Done), k []byte) {
			ref, f := x.open(true, txn.TxnOptions{})
			require.Nil(t, f)
			x.do(ref, then, get(k))
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Nil(t, w.await(t, read, otherKey(w, key)), "another key")
			f := w.await(t, read, key)
			require.NotNil(t, f)
			require.Equal(t, down.ID, f.Down, f.Text)
		})
	}
}

// lockedByLostCommit runs a commit whose gateway and one participant are on a node that fails before that participant
// has a sealed vote. It returns for how long another participant's key stays locked.
func lockedByLostCommit(t *testing.T, broken mutant.Set) time.Duration {
	o := steady(txn.HotLast)
	o.Mutants = broken
	w := newSim(o)
	hot := w.nodes[w.Shards[w.Router.HotShard()].Node.ID-1]
	lost := w.nodes[int(hot.ID)%len(w.nodes)]
	var keys [2][]byte // on the node that fails, and on the third one
	for _, k := range keysOnShards(w, 4) {
		switch n := w.Shards[w.Router.Shard(k)].Node; {
		case n == lost.Node:
			keys[0] = k
		case n != hot.Node:
			keys[1] = k
		}
	}
	ref, f := lost.open(true, txn.TxnOptions{})
	require.Nil(t, f)
	lost.do(ref, func(d txn.Done) { require.Nil(t, d.Failure) }, get(keys[0]))
	w.Run(w.Now()+int64(10*oneWay), nil)
	lost.execute(txn.TxnOptions{}, func(txn.Done) {}, put(keys[0]), put(keys[1]), put(regKey(0)))
	w.Run(w.Now()+int64(10*oneWay), nil)
	lost.CutUntil = forever

	begun, ended := w.Now(), false
	hot.execute(txn.TxnOptions{}, func(d txn.Done) { ended = d.Failure == nil }, put(keys[1]))
	w.Run(begun+int64(time.Minute), func() bool { return ended })
	require.NoError(t, w.Err)
	return time.Duration(w.Now() - begun)
}

// TestCommitsOfSilentGatewaysEnd: keys of other nodes are not locked until the node is back.
func TestCommitsOfSilentGatewaysEnd(t *testing.T) {
	took := lockedByLostCommit(t, mutant.Set{})
	require.Greater(t, took, 4*time.Second, "the key was locked")
	require.Less(t, took, 7*time.Second)
}

// TestCallsEndWhileNodeIsCutOff: random clients run beside a node that is cut off for up to half a minute. Each call
// ends soon after others count the node as down.
func TestCallsEndWhileNodeIsCutOff(t *testing.T) {
	t.Parallel()
	sum := sumOf(t, 60, func(seed int64) Options {
		o := drawUpdates(seed)
		o.Nodes, o.Shards, o.Registers, o.Counters, o.Clients, o.Txns = 3, 3, 3, 2, 10, 60
		o.Crashes, o.Cuts, o.Down, o.Bound = 0, 1, 30*time.Second, 4*downAfter
		return o
	}, func(*sim) {})
	require.Greater(t, sum.Committed, 10000)
}

// await reads a key, which ends within a second, and returns the failure.
func (w *sim) await(t *testing.T, read func(then func(txn.Done), k []byte), k []byte) *msg.Failure {
	var done *txn.Done
	read(func(d txn.Done) { done = &d }, k)
	w.Run(w.Now()+int64(time.Second), func() bool { return done != nil })
	require.NoError(t, w.Err)
	require.NotNil(t, done, "it has not ended")
	return done.Failure
}

// otherKey returns another key of the same shard.
func otherKey(w *sim, key []byte) []byte {
	for i := 0; ; i++ {
		k := regKey(i)
		if string(k) != string(key) && w.Router.Shard(k) == w.Router.Shard(key) {
			return k
		}
	}
}
