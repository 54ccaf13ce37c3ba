package locktable

import (
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

// model is the reference model of the lock table, without regard for speed: a list of held locks, a list of
// waiting requests, and the grant rule of the package comment, evaluated on these lists each time.
type model struct {
	opt    Options
	now    int64
	held   []modelHold
	queue  []*Request
	phases map[string]modelPhase
	// wounded are the owners that have been wounded.
	wounded  map[kv.TxnRef]bool
	prepared map[kv.TxnRef]int64
	// begun is the begin time of each id, 0 for the time in the id.
	begun map[kv.TxnID]int64
}

func (w *model) age(txn kv.TxnRef) kv.Age { return kv.AgeOf(txn, w.begun[txn.TxnID]) }

type modelHold struct {
	txn    kv.TxnRef
	span   kv.Span
	mode   adt.Mode
	number uint64
}

type modelPhase struct {
	since int64
	count int
}

func newModel(opt Options) *model {
	return &model{
		opt: opt.withDefaults(), begun: map[kv.TxnID]int64{}, phases: map[string]modelPhase{},
		wounded: map[kv.TxnRef]bool{}, prepared: map[kv.TxnRef]int64{},
	}
}

// isGrantable is the grant rule.
func (w *model) isGrantable(r *Request) bool {
	for _, n := range r.Needs {
		if !w.isFree(r, n) {
			return false
		}
	}
	return true
}

func (w *model) isFree(r *Request, n Need) bool {
	changesMode, running := false, 0
	for _, h := range w.held {
		own := h.txn == r.Txn
		if own && isSameSpan(h.span, n.Span) && adt.Covers(h.mode, n.Mode) {
			return true
		}
		if own && isSameSpan(h.span, n.Span) {
			changesMode = n.Span.IsPoint()
		}
		if h.span.IsPoint() && isSameSpan(h.span, n.Span) {
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
		if q != r && q.age().Older(r.age()) && conflictsWithNeed(q, n) && !(join && onlyPoints(q)) {
			return false
		}
	}
	return true
}

func conflictsWithNeed(q *Request, n Need) bool {
	return slices.ContainsFunc(q.Needs, func(m Need) bool {
		return m.Span.Overlaps(n.Span) && !adt.Compatible(m.Mode, n.Mode)
	})
}

func onlyPoints(q *Request) bool {
	return !slices.ContainsFunc(q.Needs, func(m Need) bool { return !m.Span.IsPoint() })
}

// grant adds the locks of r.
func (w *model) grant(r *Request) {
	w.queue = slices.DeleteFunc(w.queue, func(q *Request) bool { return q == r })
	for _, g := range r.Grants() {
		if slices.ContainsFunc(w.held, func(h modelHold) bool { return h.number == g.Number }) {
			continue
		}
		if k := string(g.Span.Start); g.Span.IsPoint() {
			if !slices.ContainsFunc(w.held, func(h modelHold) bool { return isSameSpan(h.span, g.Span) }) {
				w.phases[k] = modelPhase{since: w.now}
			}
			w.phases[k] = modelPhase{w.phases[k].since, w.phases[k].count + 1}
		}
		w.held = append(w.held, modelHold{r.Txn, g.Span, g.Mode, g.Number})
	}
}

func (w *model) release(txn kv.TxnRef) {
	w.held = slices.DeleteFunc(w.held, func(h modelHold) bool { return h.txn == txn })
	w.queue = slices.DeleteFunc(w.queue, func(q *Request) bool { return q.Txn == txn })
	delete(w.wounded, txn)
	delete(w.prepared, txn)
}

// check is called when the table grants nothing more: no waiting request is grantable by the rule, and each
// younger holder that blocks an older request is wounded, or within its wound delay.
func (w *model) check() error {
	for _, q := range w.queue {
		if w.isGrantable(q) {
			return fmt.Errorf("%v waits for %v, which is grantable", q.Txn, q.Needs)
		}
		for _, h := range w.held {
			at, prepared := w.prepared[h.txn]
			delayed := prepared && w.now < at+int64(w.opt.WoundDelay)
			blocks := h.txn != q.Txn && conflictsWithNeed(q, Need{Span: h.span, Mode: h.mode})
			if blocks && q.age().Older(w.age(h.txn)) && !delayed && !w.wounded[h.txn] {
				return fmt.Errorf("%v waits for the younger %v, which holds %v %v and is not wounded",
					q.Txn, h.txn, h.span, h.mode)
			}
		}
	}
	return nil
}

// setModes are the modes of calls on a set: of two members, and of the whole set.
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

// comparison is the table with its reference model.
type comparison struct {
	t     *rapid.T
	table *Table
	model *model
}

// TestMain raises the number of inputs of rapid: they are cheap.
func TestMain(m *testing.M) { tries.Main(m, "1000") }

// TestTableMatchesReferenceModel applies the same random steps to the table and to its reference model.
func TestTableMatchesReferenceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opt := Options{MaxPhaseCount: rapid.IntRange(1, 4).Draw(t, "phase"), MaxPhaseTime: 3,
			WoundDelay: 4, WoundInterval: 20, PushInterval: 30,
			MaxWaiters: 12, MaxKeyWaiters: rapid.IntRange(2, 12).Draw(t, "key waiters")}
		b := &comparison{t, New(opt), newModel(opt)}
		for id := range 5 {
			b.model.begun[kv.TxnID{Time: int64(id + 1)}] = rapid.SampledFrom([]int64{0, 2, 4, 7}).Draw(t, "begun")
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			b.model.now += int64(rapid.IntRange(0, 2).Draw(t, "time"))
			b.step()
			b.grantAndCompare()
		}
		for len(b.model.held) > 0 {
			txn := b.model.held[0].txn
			b.table.Release(txn)
			b.model.release(txn)
			b.grantAndCompare()
		}
		require.Empty(t, b.model.queue, "requests wait although all locks are released")
		require.Zero(t, b.table.WaiterCount()+b.table.OwnerCount()+len(b.table.keys)+len(b.table.ranges))
	})
}

func (b *comparison) step() {
	txn := drawTxn(b.t)
	switch rapid.SampledFrom([]int{9, 0, 8, 2, 7, 3, 6, 1, 5, 4}).Draw(b.t, "verb") {
	default:
		b.acquire(txn)
	case 0, 1:
		b.table.Release(txn)
		b.model.release(txn)
	case 2:
		if len(b.model.queue) > 0 {
			r := rapid.SampledFrom(b.model.queue).Draw(b.t, "victim")
			b.table.Cancel(r)
			b.model.queue = slices.DeleteFunc(b.model.queue, func(q *Request) bool { return q == r })
		}
	case 3:
		if slices.ContainsFunc(b.model.held, func(h modelHold) bool { return h.txn == txn }) {
			b.table.SetPrepared(b.model.now, txn)
			b.model.prepared[txn] = b.model.now
		}
	}
}

func (b *comparison) acquire(txn kv.TxnRef) {
	r := &Request{Txn: txn, Begun: b.model.begun[txn.TxnID], Needs: drawNeeds(b.t)}
	r.NoWait = rapid.IntRange(0, 5).Draw(b.t, "nowait") == 0
	r.Instant = onlyPoints(r) && rapid.IntRange(0, 3).Draw(b.t, "instant") == 0
	r.Admitted = rapid.IntRange(0, 7).Draw(b.t, "admitted") == 0
	want := Waiting
	switch {
	case b.model.isGrantable(r):
		want = Granted
	case r.NoWait:
		want = Aborted
	case r.Admitted, slices.ContainsFunc(b.model.held, func(h modelHold) bool { return h.txn == txn }):
	case b.model.isKeyQueueFull(r):
		want = KeyQueueFull
	case len(b.model.queue) >= b.model.opt.MaxWaiters:
		want = QueueFull
	}
	got := b.table.Acquire(b.model.now, r)
	require.Equal(b.t, want, got, "%v requests %v", txn, r.Needs)
	switch got {
	case Granted:
		b.granted(r)
	case Waiting:
		b.model.queue = append(b.model.queue, r)
	}
}

// isKeyQueueFull reports whether the queue of one of the keys is full.
func (w *model) isKeyQueueFull(r *Request) bool {
	most := min(w.opt.MaxKeyWaiters, max(w.opt.MaxWaiters-len(w.queue), minKeyWaiters))
	return slices.ContainsFunc(r.Needs, func(n Need) bool {
		waiting := 0
		for _, q := range w.queue {
			if slices.ContainsFunc(q.Needs, func(x Need) bool { return x.Span.IsPoint() && isSameSpan(x.Span, n.Span) }) {
				waiting++
			}
		}
		return n.Span.IsPoint() && waiting >= most
	})
}

func (b *comparison) granted(r *Request) {
	if r.Instant {
		require.Empty(b.t, r.Grants())
	} else {
		require.Len(b.t, r.Grants(), len(r.Needs))
	}
	for _, g := range r.Grants() {
		require.True(b.t, b.table.Holds(r.Txn, g))
	}
	b.model.grant(r)
}

// grantAndCompare grants what is grantable, applies the wounds, and compares the table with the model.
func (b *comparison) grantAndCompare() {
	for r := b.table.Next(b.model.now); r != nil; r = b.table.Next(b.model.now) {
		require.True(b.t, b.model.isGrantable(r), "%v is granted %v against the rule", r.Txn, r.Needs)
		b.granted(r)
	}
	if b.model.now >= b.table.NextTick() {
		b.table.Tick(b.model.now)
	}
	for _, m := range b.table.TakeWounds() {
		require.True(b.t, b.model.age(m.By).Older(b.model.age(m.Holder)), "%v is wounded by the younger %v", m.Holder, m.By)
		b.model.wounded[m.Holder] = true
	}
	require.NoError(b.t, b.table.Check())
	require.NoError(b.t, b.model.check())
	for _, h := range b.model.held {
		require.True(b.t, b.table.Holds(h.txn, Grant{h.span, h.mode, h.number}))
	}
	require.Equal(b.t, len(b.model.queue), b.table.WaiterCount())
	for _, key := range []string{"a", "b", "c", "d", "nowhere"} {
		n := 0
		for _, r := range b.model.queue {
			if slices.ContainsFunc(r.Needs, func(n Need) bool { return n.Span.IsPoint() && string(n.Span.Start) == key }) {
				n++
			}
		}
		require.Equal(b.t, n, b.table.KeyWaiterCount([]byte(key)), "requests that wait for %s", key)
	}
}

func TestNextTickIsInTheFuture(t *testing.T) {
	table := New(Options{WoundInterval: 50 * time.Millisecond, PushInterval: time.Second})
	a := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}
	b := kv.TxnRef{TxnID: kv.TxnID{Time: 2}, Attempt: 1}
	needs := []Need{{Span: kv.Point([]byte("k")), Mode: adt.ModeWrite}}
	require.Equal(t, Granted, table.Acquire(0, &Request{Txn: b, Needs: needs}))
	require.Equal(t, Waiting, table.Acquire(0, &Request{Txn: a, Needs: needs}))
	for now := table.NextTick(); now < int64(5*time.Second); now = table.NextTick() {
		table.Tick(now)
		require.Greater(t, table.NextTick(), now, "a tick leaves something due: the caller spins")
	}
}
