package locktable

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/tries"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// twin is the lock table as one would write it without a care for speed: a
// list of what is held, a list of who waits, and the grant rule of the package
// comment looked up in them from the beginning each time.
type twin struct {
	opt    Options
	now    int64
	held   []twinHold
	queue  []*Request
	phases map[string]twinPhase
	// marked are the owners that have been told to give way.
	marked   map[kv.TxnRef]bool
	prepared map[kv.TxnRef]int64
	// begun is when each id counts as begun, 0 for its time.
	begun map[kv.TxnID]int64
}

func (w *twin) age(txn kv.TxnRef) kv.Age { return kv.AgeOf(txn, w.begun[txn.TxnID]) }

type twinHold struct {
	txn    kv.TxnRef
	span   kv.Span
	mode   adt.Mode
	number uint64
}

type twinPhase struct {
	since int64
	count int
}

func newTwin(opt Options) *twin {
	return &twin{opt: opt.withDefaults(), begun: map[kv.TxnID]int64{}, phases: map[string]twinPhase{}, marked: map[kv.TxnRef]bool{}, prepared: map[kv.TxnRef]int64{}}
}

func sameSpan(a, b kv.Span) bool { return a.IsPoint() == b.IsPoint() && sameRange(a, b) }

// grantable is the grant rule.
func (w *twin) grantable(r *Request) bool {
	for _, n := range r.Needs {
		if !w.free(r, n) {
			return false
		}
	}
	return true
}

func (w *twin) free(r *Request, n Need) bool {
	changesMode, running := false, 0
	for _, h := range w.held {
		own := h.txn == r.Txn
		if own && sameSpan(h.span, n.Span) && adt.Covers(h.mode, n.Mode) {
			return true
		}
		if own && sameSpan(h.span, n.Span) {
			changesMode = n.Span.IsPoint()
		}
		if h.span.IsPoint() && sameSpan(h.span, n.Span) {
			running++
		}
	}
	for _, h := range w.held {
		if h.txn != r.Txn && h.span.Overlaps(n.Span) && !adt.Compatible(h.mode, n.Mode) {
			return false
		}
	}
	if r.Instant || changesMode {
		return true
	}
	ph := w.phases[string(n.Span.Start)]
	join := n.Span.IsPoint() && running > 0 && ph.count < w.opt.MaxPhaseCount && w.now-ph.since < int64(w.opt.MaxPhaseTime)
	for _, q := range w.queue {
		if q != r && q.age().Older(r.age()) && conflicts(q, n) && !(join && onlyPoints(q)) {
			return false
		}
	}
	return true
}

func conflicts(q *Request, n Need) bool {
	return slices.ContainsFunc(q.Needs, func(m Need) bool { return m.Span.Overlaps(n.Span) && !adt.Compatible(m.Mode, n.Mode) })
}

func onlyPoints(q *Request) bool {
	return !slices.ContainsFunc(q.Needs, func(m Need) bool { return !m.Span.IsPoint() })
}

// grant notes what r got.
func (w *twin) grant(r *Request) {
	w.queue = slices.DeleteFunc(w.queue, func(q *Request) bool { return q == r })
	for _, g := range r.Grants() {
		if slices.ContainsFunc(w.held, func(h twinHold) bool { return h.number == g.Number }) {
			continue
		}
		if k := string(g.Span.Start); g.Span.IsPoint() {
			if !slices.ContainsFunc(w.held, func(h twinHold) bool { return sameSpan(h.span, g.Span) }) {
				w.phases[k] = twinPhase{since: w.now}
			}
			w.phases[k] = twinPhase{w.phases[k].since, w.phases[k].count + 1}
		}
		w.held = append(w.held, twinHold{r.Txn, g.Span, g.Mode, g.Number})
	}
}

func (w *twin) release(txn kv.TxnRef) {
	w.held = slices.DeleteFunc(w.held, func(h twinHold) bool { return h.txn == txn })
	w.queue = slices.DeleteFunc(w.queue, func(q *Request) bool { return q.Txn == txn })
	delete(w.marked, txn)
	delete(w.prepared, txn)
}

// check is called when nobody can go next: nobody who waits could, and
// everybody younger in the way of somebody older knows it.
func (w *twin) check() error {
	for _, q := range w.queue {
		if w.grantable(q) {
			return fmt.Errorf("%v waits for %v and nothing is in its way", q.Txn, q.Needs)
		}
		for _, h := range w.held {
			at, prepared := w.prepared[h.txn]
			inGrace := prepared && w.now < at+int64(w.opt.Grace)
			if h.txn != q.Txn && q.age().Older(w.age(h.txn)) && !inGrace && !w.marked[h.txn] && conflicts(q, Need{Span: h.span, Mode: h.mode}) {
				return fmt.Errorf("%v waits for the younger %v, which holds %v %v and is not marked", q.Txn, h.txn, h.span, h.mode)
			}
		}
	}
	return nil
}

// setModes are those of calls on a set: of the same member, of others, of all.
var setModes = func() (out []adt.Mode) {
	set := adt.Lookup(adt.Set)
	for _, name := range []string{"add", "contains", "remove"} {
		for _, member := range []string{"x", "y"} {
			op := set.MethodByName(name).Op([]byte("k"), adt.Bytes([]byte(member)))
			out = adt.Modes(out, &op)
		}
	}
	op := set.MethodByName("len").Op([]byte("k"))
	return adt.Modes(out, &op)
}()

// drawNeeds draws a few needs on the keys a to d, one in six a range.
func drawNeeds(t *rapid.T) []Need {
	modes := append([]adt.Mode{adt.ModeWrite, adt.ModeRead, adt.ModeAdd}, setModes...)
	var out []Need
	for range rapid.IntRange(1, 3).Draw(t, "needs") {
		k := rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(t, "key")
		span := kv.Point([]byte{byte('a' + k)})
		switch rapid.SampledFrom([]int{9, 8, 0, 7, 6, 5, 1, 2, 3, 4, 10, 11}).Draw(t, "kind") {
		case 0:
			span = kv.Range(span.Start, []byte{byte('a' + k + rapid.IntRange(1, 4).Draw(t, "width"))})
		case 1:
			span = kv.Range(span.Start, nil)
		}
		out = append(out, Need{Span: span, Mode: rapid.SampledFrom(modes).Draw(t, "mode")})
	}
	return Normalize(out)
}

func drawTxn(t *rapid.T) kv.TxnRef {
	n := rapid.SampledFrom([]int{3, 1, 4, 2, 5, 12}).Draw(t, "txn")
	return kv.TxnRef{TxnID: kv.TxnID{Time: int64(n % 10)}, Attempt: uint32(1 + n/10)}
}

// both is the table with its twin.
type both struct {
	t     *rapid.T
	table *Table
	twin  *twin
}

// TestMain has rapid try more inputs than it does by default: they are cheap.
func TestMain(m *testing.M) { tries.Main(m, "1000") }

// TestTwin does the same random things to the table and to its dumb twin.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opt := Options{MaxPhaseCount: rapid.IntRange(1, 4).Draw(t, "phase"), MaxPhaseTime: 3, Grace: 4, Repeat: 20, Liveness: 30, MaxWaiters: 12, MaxKeyWaiters: rapid.IntRange(2, 12).Draw(t, "for a key")}
		b := &both{t, New(opt), newTwin(opt)}
		for id := range 5 {
			b.twin.begun[kv.TxnID{Time: int64(id + 1)}] = rapid.SampledFrom([]int64{0, 2, 4, 7}).Draw(t, "begun")
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			b.twin.now += int64(rapid.IntRange(0, 2).Draw(t, "time"))
			b.step()
			b.settle()
		}
		for len(b.twin.held) > 0 {
			txn := b.twin.held[0].txn
			b.table.Release(txn)
			b.twin.release(txn)
			b.settle()
		}
		require.Empty(t, b.twin.queue, "all locks are released, and somebody waits")
		require.Zero(t, b.table.Waiting()+b.table.Held()+len(b.table.keys)+len(b.table.ranges))
	})
}

func (b *both) step() {
	txn := drawTxn(b.t)
	switch rapid.SampledFrom([]int{9, 0, 8, 2, 7, 3, 6, 1, 5, 4}).Draw(b.t, "verb") {
	default:
		b.acquire(txn)
	case 0, 1:
		b.table.Release(txn)
		b.twin.release(txn)
	case 2:
		if len(b.twin.queue) > 0 {
			r := rapid.SampledFrom(b.twin.queue).Draw(b.t, "victim")
			b.table.Cancel(r)
			b.twin.queue = slices.DeleteFunc(b.twin.queue, func(q *Request) bool { return q == r })
		}
	case 3:
		if slices.ContainsFunc(b.twin.held, func(h twinHold) bool { return h.txn == txn }) {
			b.table.SetPrepared(b.twin.now, txn)
			b.twin.prepared[txn] = b.twin.now
		}
	}
}

func (b *both) acquire(txn kv.TxnRef) {
	r := &Request{Txn: txn, Begun: b.twin.begun[txn.TxnID], Needs: drawNeeds(b.t), NoWait: rapid.IntRange(0, 5).Draw(b.t, "nowait") == 0}
	r.Instant = onlyPoints(r) && rapid.IntRange(0, 3).Draw(b.t, "instant") == 0
	r.Admitted = rapid.IntRange(0, 7).Draw(b.t, "admitted") == 0
	want := Waiting
	switch {
	case b.twin.grantable(r):
		want = Granted
	case r.NoWait:
		want = Died
	case r.Admitted, slices.ContainsFunc(b.twin.held, func(h twinHold) bool { return h.txn == txn }):
	case b.twin.crowded(r):
		want = Crowded
	case len(b.twin.queue) >= b.twin.opt.MaxWaiters:
		want = Full
	}
	got := b.table.Acquire(b.twin.now, r)
	require.Equal(b.t, want, got, "%v wants %v", txn, r.Needs)
	switch got {
	case Granted:
		b.granted(r)
	case Waiting:
		b.twin.queue = append(b.twin.queue, r)
	}
}

// crowded reports whether one of the keys has too many who wait for it.
func (w *twin) crowded(r *Request) bool {
	most := min(w.opt.MaxKeyWaiters, max(w.opt.MaxWaiters-len(w.queue), fewWaiters))
	return slices.ContainsFunc(r.Needs, func(n Need) bool {
		waiting := 0
		for _, q := range w.queue {
			if slices.ContainsFunc(q.Needs, func(x Need) bool { return x.Span.IsPoint() && bytes.Equal(x.Span.Start, n.Span.Start) }) {
				waiting++
			}
		}
		return n.Span.IsPoint() && waiting >= most
	})
}

func (b *both) granted(r *Request) {
	if r.Instant {
		require.Empty(b.t, r.Grants())
	} else {
		require.Len(b.t, r.Grants(), len(r.Needs))
	}
	for _, g := range r.Grants() {
		require.True(b.t, b.table.Holds(r.Txn, g))
	}
	b.twin.grant(r)
}

// settle lets go next who can, takes the marks, and compares.
func (b *both) settle() {
	for r := b.table.Next(b.twin.now); r != nil; r = b.table.Next(b.twin.now) {
		require.True(b.t, b.twin.grantable(r), "%v is granted %v, which the rule does not allow", r.Txn, r.Needs)
		b.granted(r)
	}
	if b.twin.now >= b.table.NextTick() {
		b.table.Tick(b.twin.now)
	}
	for _, m := range b.table.Marks() {
		require.True(b.t, b.twin.age(m.By).Older(b.twin.age(m.Holder)), "%v is marked for the sake of the younger %v", m.Holder, m.By)
		b.twin.marked[m.Holder] = true
	}
	require.NoError(b.t, b.table.Check())
	require.NoError(b.t, b.twin.check())
	for _, h := range b.twin.held {
		require.True(b.t, b.table.Holds(h.txn, Grant{h.span, h.mode, h.number}))
	}
	require.Equal(b.t, len(b.twin.queue), b.table.Waiting())
	for _, key := range []string{"a", "b", "c", "d", "nowhere"} {
		n := 0
		for _, r := range b.twin.queue {
			if slices.ContainsFunc(r.Needs, func(n Need) bool { return n.Span.IsPoint() && string(n.Span.Start) == key }) {
				n++
			}
		}
		require.Equal(b.t, n, b.table.WaitingFor([]byte(key)), "those who wait for %s", key)
	}
}

func TestNextTickIsInTheFuture(t *testing.T) {
	table := New(Options{Repeat: 50 * time.Millisecond, Liveness: time.Second})
	a := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}
	b := kv.TxnRef{TxnID: kv.TxnID{Time: 2}, Attempt: 1}
	needs := []Need{{Span: kv.Point([]byte("k")), Mode: adt.ModeWrite}}
	require.Equal(t, Granted, table.Acquire(0, &Request{Txn: b, Needs: needs}))
	require.Equal(t, Waiting, table.Acquire(0, &Request{Txn: a, Needs: needs}))
	for now := table.NextTick(); now < int64(5*time.Second); now = table.NextTick() {
		table.Tick(now)
		require.Greater(t, table.NextTick(), now, "a tick leaves nothing due, or the caller spins")
	}
}
