package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// starvation is a cluster in which writers put keys while readers read them without a pause.
type starvation struct {
	nodes, keys, views, oneShots int
	viewFor                      time.Duration
	// writers is the number of writers, width the number of keys that each puts; oneKey alternates with several.
	writers, width int
	// oneWay is the minimum delay of a message, jitter the mean of the random part, sync the mean time of an fsync.
	oneWay, jitter, sync time.Duration
	mutants              mutant.Set
}

// results are what was measured in some virtual time.
type results struct {
	puts, views, rounds int
	// held are the durations of puts, waits those of single calls of readers.
	held, waits []time.Duration
	failed      []*msg.Failure
}

func (t *results) String() string {
	slices.Sort(t.held)
	slices.Sort(t.waits)
	return fmt.Sprintf("%d puts, p50 %v, p99 %v, longest %v; "+
		"%d readers, their calls p99 %v, longest %v; %d rounds; %d failed", t.puts,
		percentile(t.held, 0.5), percentile(t.held, 0.99), percentile(t.held, 1), t.views, percentile(t.waits, 0.99),
		percentile(t.waits, 1), t.rounds, len(t.failed))
}

func percentile(of []time.Duration, p float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	return of[min(int(p*float64(len(of))), len(of)-1)]
}

// run runs the cluster for a virtual time.
func (b *starvation) run(t *testing.T, seed int64, length time.Duration) *results {
	o := Options{Seed: seed, Nodes: b.nodes, Shards: 3, Registers: b.keys, HotKeys: 1, Learned: true, Far: true,
		Delay: b.oneWay, Jitter: b.jitter, Sync: b.sync, Bound: time.Hour, Mutants: b.mutants, Mix: Mix{MaxOps: 1}}
	w, out := newWorld(o), &results{}
	for i := range b.writers {
		b.write(w, out, i)
	}
	for i := range b.views {
		b.view(w, out, i)
	}
	for i := range b.oneShots {
		b.read(w, out, i)
	}
	w.run(int64(length), func() bool { w.eventCount = 0; return false })
	require.NoError(t, w.err)
	for _, n := range w.nodes {
		out.rounds += int(n.machines[0].Stats().Rounds)
	}
	return out
}

// drawKeys returns n different keys.
func (b *starvation) drawKeys(w *world, n int) (keys [][]byte) {
	for _, i := range w.rng.Perm(b.keys)[:min(n, b.keys)] {
		keys = append(keys, regKey(i))
	}
	return keys
}

func (w *world) newID() kv.TxnID {
	w.sum.Txns++
	return kv.TxnID{Time: wallBase + w.now, Rand: uint64(w.sum.Txns)}
}

// write has a writer put keys, one transaction after another: alternately one key and several.
func (b *starvation) write(w *world, out *results, i int) {
	begin := w.now
	width := b.width
	if i%2 == 1 {
		width = 1
	}
	var ops []msg.Op
	for _, k := range b.drawKeys(w, width) {
		ops = append(ops, put(k))
	}
	n := w.nodes[i%len(w.nodes)]
	w.call(n, func(now int64, tok txn.CallHandle) {
		n.machines[0].Execute(now, tok, w.newID(), ops, forever, txn.TxnOptions{})
	},
		func(d txn.Done, _ bool) {
			out.held = append(out.held, time.Duration(w.now-begin))
			out.puts++
			b.record(out, &d)
			b.write(w, out, i)
		})
}

func (b *starvation) record(out *results, d *txn.Done) {
	if d.Failure != nil {
		out.failed = append(out.failed, d.Failure)
	}
}

// view opens one view after another, each with four calls of two keys.
func (b *starvation) view(w *world, out *results, i int) {
	n := w.nodes[i%len(w.nodes)]
	w.after(w.upTo(b.viewFor), func() { b.open(w, out, n) })
}

func (b *starvation) open(w *world, out *results, n *node) {
	ref := kv.TxnRef{TxnID: w.newID(), Attempt: 1}
	if f := n.machines[0].Begin(n.local(w.now), ref, true, txn.TxnOptions{}); f != nil {
		out.failed = append(out.failed, f)
		return
	}
	b.readView(w, out, n, ref, 4)
}

func (b *starvation) readView(w *world, out *results, n *node, ref kv.TxnRef, left int) {
	begin := w.now
	end := func(d txn.Done, _ bool) {
		out.waits = append(out.waits, time.Duration(w.now-begin))
		b.record(out, &d)
		switch {
		case d.Closed:
			out.views++
			w.after(0, func() { b.open(w, out, n) })
		default:
			w.after(b.viewFor/4, func() { b.readView(w, out, n, ref, left-1) })
		}
	}
	if left == 0 {
		w.call(n, func(now int64, tok txn.CallHandle) { n.machines[0].Commit(now, tok, ref, forever) }, end)
		return
	}
	var ops []msg.Op
	for _, k := range b.drawKeys(w, 2) {
		ops = append(ops, get(k))
	}
	w.call(n, func(now int64, tok txn.CallHandle) { n.machines[0].Do(now, tok, ref, ops, 0) }, end)
}

// read runs one one-shot reader after another.
func (b *starvation) read(w *world, out *results, i int) {
	begin, n := w.now, w.nodes[i%len(w.nodes)]
	var ops []msg.Op
	for _, k := range b.drawKeys(w, 3) {
		ops = append(ops, get(k))
	}
	w.call(n, func(now int64, tok txn.CallHandle) {
		n.machines[0].Execute(now, tok, w.newID(), ops, forever, txn.TxnOptions{})
	},
		func(d txn.Done, _ bool) {
			out.waits = append(out.waits, time.Duration(w.now-begin))
			out.views++
			b.record(out, &d)
			b.read(w, out, i)
		})
}

// manyViews is the measured cluster: six keys of four shards, and sixteen views of 20 ms that overlap on them.
func manyViews() starvation {
	return starvation{nodes: 3, keys: 6, views: 16, viewFor: 20 * time.Millisecond, writers: 8, width: 2,
		oneWay: 100 * time.Microsecond, jitter: 50 * time.Microsecond}
}

// TestWritersProgressBesideShortViews: updates make progress, however readers overlap. Beside many views there are at
// least half as many puts as beside a single one. Where one-shot readers overlap without a gap, there are at least half
// as many as there were beside a single view before the rule existed (842 in 2 s). No call of a reader takes more than
// 70 ms, and none fails.
func TestWritersProgressBesideShortViews(t *testing.T) {
	one := manyViews()
	one.views = 1
	alone := one.run(t, 1, 2*time.Second)
	t.Logf("one view: %v", alone)
	for _, tc := range []struct {
		name   string
		change func(*starvation)
	}{
		{"16 views of 20 ms", func(*starvation) {}},
		{"32 views of 5 ms", func(b *starvation) { b.views, b.viewFor = 32, 5*time.Millisecond }},
		{"16 views of 45 ms", func(b *starvation) { b.viewFor = 45 * time.Millisecond }},
		{"16 views of 200 ms", func(b *starvation) { b.viewFor = 200 * time.Millisecond }},
		{"one-shots back to back", func(b *starvation) { b.views, b.oneShots = 0, 4 }},
		{"views and one-shots", func(b *starvation) { b.oneShots = 2 }},
		{"views at 8 gateways", func(b *starvation) { b.nodes = 8 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := manyViews()
			tc.change(&b)
			got := b.run(t, 1, 2*time.Second)
			t.Logf("%v", got)
			least := alone.puts / 2
			if b.oneShots > 0 {
				least = 842 / 2
			}
			require.Greater(t, got.puts, least)
			require.Less(t, percentile(got.waits, 1), 70*time.Millisecond)
			require.Empty(t, got.failed)
		})
	}
}

// TestTimeBlockedIsSharedByShards: a view on the hot shard holds an update there for 43 ms, while it is sealed on the
// shard of k. A view of k arrives and has it unsealed. That view holds the update only until the total time blocked is
// 50 ms.
func TestTimeBlockedIsSharedByShards(t *testing.T) {
	require.Less(t, timeBlockedOnTwoShards(t, mutant.Set{}), 65*time.Millisecond)
}

// timeBlockedOnTwoShards returns the duration of the update.
func timeBlockedOnTwoShards(t *testing.T, broken mutant.Set) (took time.Duration) {
	o := steady(txn.HotLast)
	o.Mutants = broken
	w := newWorld(o)
	k := keysOnShards(w, 1)
	n, began := w.nodes[0], int64(0)
	fine := func(d txn.Done, _ bool) { require.Nil(t, d.Failure) }
	view := func(from, to time.Duration, key []byte) {
		ref := kv.TxnRef{TxnID: w.newID(), Attempt: 1}
		w.after(from, func() {
			require.Nil(t, n.machines[0].Begin(n.local(w.now), ref, true, txn.TxnOptions{}))
			w.call(n, func(now int64, tok txn.CallHandle) { n.machines[0].Do(now, tok, ref, []msg.Op{get(key)}, 0) }, fine)
		})
		w.after(to, func() {
			w.call(n, func(now int64, tok txn.CallHandle) { n.machines[0].Commit(now, tok, ref, forever) }, fine)
		})
	}
	view(0, 45*time.Millisecond, k[1])
	w.after(2*time.Millisecond, func() {
		began = w.now
		w.call(n, func(now int64, tok txn.CallHandle) {
			n.machines[0].Execute(now, tok, w.newID(), []msg.Op{put(k[0]), put(k[1])}, forever, txn.TxnOptions{})
		}, func(d txn.Done, lost bool) {
			fine(d, lost)
			took = time.Duration(w.now - began)
		})
	})
	view(40*time.Millisecond, 200*time.Millisecond, k[0])
	w.run(w.now+int64(time.Second), func() bool { return false })
	require.NoError(t, w.err)
	t.Logf("it took %v", took)
	return took
}
