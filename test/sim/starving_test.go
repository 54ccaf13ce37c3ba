package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	o := quiet(b.nodes, 3, b.keys, b.oneWay, b.jitter)
	o.Seed, o.Far, o.Sync, o.Mutants = seed, true, b.sync, b.mutants
	w, out := newSim(o), &results{}
	for i := range b.writers {
		b.write(w, out, i)
	}
	for i := range b.views {
		w.After(w.UpTo(b.viewFor), func() { b.view(w, out, w.nodes[i%len(w.nodes)]) })
	}
	for i := range b.oneShots {
		b.read(w, out, i)
	}
	w.Run(int64(length), nil)
	require.NoError(t, w.Err)
	for _, n := range w.nodes {
		out.rounds += int(n.Machines[0].Stats().Rounds)
	}
	return out
}

// drawKeys returns n different keys.
func (b *starvation) drawKeys(w *sim, n int) (keys [][]byte) {
	for _, i := range w.Rng.Perm(b.keys)[:min(n, b.keys)] {
		keys = append(keys, regKey(i))
	}
	return keys
}

// write has a writer put keys, one transaction after another: alternately one key and several.
func (b *starvation) write(w *sim, out *results, i int) {
	begin, width := w.Now(), b.width
	if i%2 == 1 {
		width = 1
	}
	w.nodes[i%len(w.nodes)].execute(txn.TxnOptions{}, func(d txn.Done) {
		out.held = append(out.held, time.Duration(w.Now()-begin))
		out.puts++
		out.record(&d)
		b.write(w, out, i)
	}, opsOn(put, b.drawKeys(w, width))...)
}

func opsOn(op func([]byte) msg.Op, keys [][]byte) (ops []msg.Op) {
	for _, k := range keys {
		ops = append(ops, op(k))
	}
	return ops
}

func (t *results) record(d *txn.Done) {
	if d.Failure != nil {
		t.failed = append(t.failed, d.Failure)
	}
}

// view opens one view after another, each with four calls of two keys.
func (b *starvation) view(w *sim, out *results, n *node) {
	keys := func() []msg.Op { return opsOn(get, b.drawKeys(w, 2)) }
	open := n.view(4, b.viewFor/4, keys, func(began int64, d txn.Done) {
		out.waits = append(out.waits, time.Duration(w.Now()-began))
		out.record(&d)
		if d.Closed {
			out.views++
			w.After(0, func() { b.view(w, out, n) })
		}
	})
	if !open {
		out.failed = append(out.failed, &msg.Failure{Text: "a view was refused"})
	}
}

// read runs one one-shot reader after another.
func (b *starvation) read(w *sim, out *results, i int) {
	begin := w.Now()
	w.nodes[i%len(w.nodes)].execute(txn.TxnOptions{}, func(d txn.Done) {
		out.waits = append(out.waits, time.Duration(w.Now()-begin))
		out.views++
		out.record(&d)
		b.read(w, out, i)
	}, opsOn(get, b.drawKeys(w, 3))...)
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
	t.Parallel()
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
	w := newSim(o)
	k := keysOnShards(w, 1)
	n := w.nodes[0]
	fine := func(d txn.Done) { require.Nil(t, d.Failure) }
	view := func(from, to time.Duration, key []byte) {
		w.After(from, func() {
			ref, f := n.open(true, txn.TxnOptions{})
			require.Nil(t, f)
			n.do(ref, fine, get(key))
			w.After(to-from, func() { n.commit(ref, fine) })
		})
	}
	view(0, 45*time.Millisecond, k[1])
	w.After(2*time.Millisecond, func() {
		began := w.Now()
		n.execute(txn.TxnOptions{}, func(d txn.Done) {
			fine(d)
			took = time.Duration(w.Now() - began)
		}, put(k[0]), put(k[1]))
	})
	view(40*time.Millisecond, 200*time.Millisecond, k[0])
	w.Run(w.Now()+int64(time.Second), nil)
	require.NoError(t, w.Err)
	t.Logf("it took %v", took)
	return took
}
