package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// contender is a client that writes keys in interactive transactions, one after another.
type contender struct {
	w *sim
	n *node
	// keys are read and written in this order, with thinkTime between two of them.
	keys      [][]byte
	thinkTime time.Duration
	behind    time.Duration
	// commits counts its transactions, attempts their attempts.
	commits, attempts int
	// longest is the longest duration of a transaction, from its first attempt to its commit.
	longest time.Duration
}

// next begins a transaction.
func (r *contender) next() {
	id := r.w.newID()
	id.Time -= int64(r.behind)
	r.attempt(kv.TxnRef{TxnID: id, Attempt: 1}, r.w.Now())
}

// attempt runs one attempt: it reads each key under its lock, and puts it.
func (r *contender) attempt(ref kv.TxnRef, since int64) {
	w, g := r.w, r.n.Machines[0]
	how := txn.TxnOptions{Arrived: r.n.clk.OrderAt(r.n.Local())}
	r.attempts++
	if f := g.Begin(r.n.Local(), ref, false, how); f != nil {
		w.Fail("an attempt was refused: %v", f)
		return
	}
	r.step(ref, since, r.keys)
}

// step writes the first of the remaining keys, or commits if there is none.
func (r *contender) step(ref kv.TxnRef, since int64, left [][]byte) {
	w := r.w
	then := func(next func()) func(d txn.Done) {
		return func(d txn.Done) {
			if d.Failure == nil {
				next()
				return
			}
			w.After(0, func() { r.attempt(kv.TxnRef{TxnID: ref.TxnID, Attempt: ref.Attempt + 1}, since) })
		}
	}
	if len(left) == 0 {
		r.n.commit(ref, then(func() {
			r.commits++
			r.longest = max(r.longest, time.Duration(w.Now()-since))
			w.After(0, r.next)
		}))
		return
	}
	r.n.do(ref, then(func() {
		w.After(r.thinkTime, func() { r.step(ref, since, left[1:]) })
	}), getForUpdate(left[0]), put(left[0]))
}

// newContendedWorld returns a world without clients.
func newContendedWorld(seed int64, broken mutant.Set) *sim {
	o := quiet(2, 3, 4, 100*time.Microsecond, 50*time.Microsecond)
	o.Seed, o.Far, o.NoOptimistic, o.Mutants = seed, true, true, broken
	return newSim(o)
}

// runContenders runs four clients with correct clocks and four whose clocks are behind. All write one key for two
// seconds.
func runContenders(t *testing.T, seed int64, behind time.Duration, broken mutant.Set) (honest, others contender) {
	w := newContendedWorld(seed, broken)
	var all [8]contender
	for i := range all {
		all[i] = contender{w: w, n: w.nodes[i/2%2], keys: keysOnShards(w, 1)[:1]}
		if i >= len(all)/2 {
			all[i].behind = behind
		}
		all[i].next()
	}
	w.Run(w.Now()+int64(2*time.Second), nil)
	require.NoError(t, w.Err)
	for i := range all {
		sum := &honest
		if i >= len(all)/2 {
			sum = &others
		}
		sum.commits += all[i].commits
		sum.attempts += all[i].attempts
		sum.longest = max(sum.longest, all[i].longest)
	}
	t.Logf("correct clocks: %d commits in %d attempts, longest %v; clocks %v behind: %d in %d, longest %v", honest.commits,
		honest.attempts, honest.longest, behind, others.commits, others.attempts, others.longest)
	return honest, others
}

// TestSlowClientClockGetsEqualShare: a transaction's age is the time when it reaches its gateway. If the age were the
// time in the id, a client with a slow clock would win every conflict.
func TestSlowClientClockGetsEqualShare(t *testing.T) {
	for _, behind := range []time.Duration{-5 * time.Minute, 0, 10 * time.Millisecond, 4 * time.Second, idsBehind} {
		honest, others := runContenders(t, 1, behind, mutant.Set{})
		require.InEpsilon(t, honest.commits, others.commits, 0.1)
		require.Less(t, honest.longest, 50*time.Millisecond)
		require.Less(t, others.longest, 50*time.Millisecond)
	}
}

// runLockOrderConflict has a client lock three keys while it thinks, and others lock two of these keys in another
// order.
func runLockOrderConflict(t *testing.T, broken mutant.Set) *contender {
	w := newContendedWorld(1, broken)
	k := [][]byte{regKey(0), regKey(1), regKey(2)}
	r := &contender{w: w, n: w.nodes[0], keys: k, thinkTime: 3 * time.Millisecond}
	r.next()
	for i := range 8 {
		other := &contender{w: w, n: w.nodes[i/2%2], keys: [][]byte{k[1+i%2], k[0]}, thinkTime: time.Millisecond}
		other.next()
	}
	w.Run(w.Now()+int64(2*time.Second), nil)
	require.NoError(t, w.Err)
	t.Logf("%d commits in %d attempts, longest %v", r.commits, r.attempts, r.longest)
	return r
}

// TestRetriesThatKeepTheirAgeCommit: an aborted transaction keeps its age, so it becomes older than all its competitors
// and commits.
func TestRetriesThatKeepTheirAgeCommit(t *testing.T) {
	r := runLockOrderConflict(t, mutant.Set{})
	require.Less(t, r.longest, 100*time.Millisecond)
	require.Greater(t, r.commits, 30)
}
