package snapshotqueue

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/tries"
)

// TestMain has rapid try more inputs than it does by default: they are cheap.
func TestMain(m *testing.M) { tries.Main(m, "1000") }

// TestTwin does the same random things to the queues and to their dumb twin.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBoth(t)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			b.advance(rapid.SampledFrom([]int64{0, 1, 2, 3, 7}).Draw(t, "time"))
			if rapid.Bool().Draw(t, "tick first") {
				b.tick()
				b.compare()
			}
			b.step()
			b.tick()
			b.compare()
		}
		b.clear()
	})
}

// both is the queues with their twin.
type both struct {
	t    *rapid.T
	q    *Queue
	twin *twin
	// epochs are all that were given out.
	epochs map[kv.Epoch]bool
	asks   []Ask
}

func newBoth(t *rapid.T) *both {
	opt := Options{Incarnation: 2, UnsealAfter: 4, Repeat: 6, HoldBound: 9}
	opt.SealFrom = rapid.SampledFrom([]int64{0, 8, 20}).Draw(t, "seal from")
	b := &both{t: t, q: New(opt), twin: &twin{opt: opt}, epochs: map[kv.Epoch]bool{}}
	for range rapid.IntRange(0, 2).Draw(t, "recovered") {
		if txn := drawName(t, 'A'); b.twin.update(txn) == nil {
			needs := b.drawChanges()
			b.q.Recover(0, txn, needs)
			b.twin.prepare(txn, needs, Recovered)
		}
	}
	b.tick()
	b.compare()
	return b
}

func (b *both) now() int64 { return b.twin.now }

func (b *both) advance(by int64) { b.twin.now += by }

// tick does what is due, as the shard does at the end of each step. It must be
// in time for everything that the twin says is due.
func (b *both) tick() {
	require.LessOrEqual(b.t, b.q.NextTick(), b.twin.due(), "something is due, and no tick is")
	b.asks = nil
	if b.now() < b.q.NextTick() {
		require.Empty(b.t, b.q.Tick(b.now()))
		return
	}
	b.asks = b.q.Tick(b.now())
	require.Equal(b.t, b.twin.tick(), b.asks, "asks")
	require.LessOrEqual(b.t, b.q.NextTick(), b.twin.due(), "something is due, and no tick is")
}

var (
	addX, addY, removeX        = ofSet("add", "x"), ofSet("add", "y"), ofSet("remove", "x")
	containsX, containsY, size = ofSet("contains", "x"), ofSet("contains", "y"), ofSet("len")

	updateModes = []adt.Mode{adt.ModeWrite, adt.ModeAdd, addX, addY, removeX}
	readerModes = []adt.Mode{adt.ModeRead, adt.ModeRead, adt.ModeRead, adt.ModeAdd, adt.ModeWrite, containsX, containsY, size}
)

// ofSet is the mode of a call on a set.
func ofSet(method string, members ...string) adt.Mode {
	var args adt.Args
	for _, m := range members {
		args = append(args, adt.Bytes([]byte(m)))
	}
	op := adt.Lookup(adt.Set).MethodByName(method).Op([]byte("k"), args...)
	return adt.Modes(nil, &op)[0]
}

// drawNeeds draws a few needs, one in four a range.
func drawNeeds(t *rapid.T, modes []adt.Mode) (out []Need) {
	for range rapid.IntRange(1, 2).Draw(t, "needs") {
		from := rapid.IntRange(0, len(keys)-1).Draw(t, "key")
		span := kv.Point([]byte{keys[from]})
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 6:
			span = kv.Range(span.Start, []byte{keys[0] + byte(rapid.IntRange(from+1, len(keys)).Draw(t, "end"))})
		case 7:
			span = kv.Range(span.Start, nil)
		}
		out = append(out, Need{Span: span, Mode: rapid.SampledFrom(modes).Draw(t, "mode")})
	}
	return out
}

func drawName(t *rapid.T, first byte) kv.TxnRef {
	n := rapid.IntRange(1, 4).Draw(t, "name")
	return kv.TxnRef{TxnID: kv.TxnID{Time: int64(first-'A') + int64(n)}, Attempt: 1}
}

// drawChanges draws what a participant changes, which may be nothing.
func (b *both) drawChanges() []Need {
	if rapid.IntRange(0, 9).Draw(b.t, "only read") == 9 {
		return nil
	}
	return drawNeeds(b.t, updateModes)
}

// compare holds the queues against the twin.
func (b *both) compare() {
	require.NoError(b.t, b.q.Check())
	b.twin.settle()
	b.compareChanges()
	b.compareUpdates()
	b.compareReaders()
	b.compareWaiting()
	needs := drawNeeds(b.t, readerModes)
	clashes := func(u *twinUpdate) bool { return clash(u.needs, needs) }
	parked, age := b.q.Passes(b.now(), needs)
	require.Equal(b.t, slices.ContainsFunc(b.twin.updates, clashes), parked, "%v is parked", needs)
	want := int64(0)
	for _, u := range b.twin.updates {
		if clashes(u) && u.held() {
			want = max(want, b.twin.age(u))
		}
	}
	require.Equal(b.t, want, age, "%v passes an age", needs)
}

func (b *both) compareUpdates() {
	held, pieces := 0, 0
	for _, u := range b.twin.updates {
		if u.held() {
			held++
		}
		require.Equal(b.t, b.twin.age(u), b.q.HeldAge(b.now(), u.txn), "%v is held for", u.txn)
		if u.piece {
			pieces++
		}
		require.Equal(b.t, u.piece, b.q.updates[u.txn].piece)
		b.compareState(u)
		for _, r := range b.q.updates[u.txn].waiting {
			require.Contains(b.t, r.waits, b.q.updates[u.txn], "%v knows of a read that does not wait for it", u.txn)
		}
	}
	want := []int{len(b.twin.updates), held, pieces}
	require.Equal(b.t, want, []int{b.q.Len(), b.q.Held(), b.q.Pieces()}, "updates, held, pieces")
}

func (b *both) compareReaders() {
	w := b.twin
	require.Equal(b.t, len(w.readers()), b.q.Readers(), "readers")
	require.Equal(b.t, len(w.readers()) == 0 && w.now >= w.opt.SealFrom, b.q.Open(w.now), "open")
	for _, id := range w.readers() {
		require.Equal(b.t, w.lasting(id), b.q.Registered(id), "%v is registered", id)
		require.Equal(b.t, w.until(id), b.q.readers[id].until, "%v is registered until", id)
	}
	for _, r := range w.open {
		require.Equal(b.t, r.state, r.Read.state, "a read of %v", r.Reader)
		require.Equal(b.t, r.since, r.Since())
	}
}

// compareWaiting counts who waits for each key.
func (b *both) compareWaiting() {
	for _, key := range []string{"a", "b", "c", "d", "nowhere"} {
		is := func(n Need) bool { return n.Span.IsPoint() && string(n.Span.Start) == key }
		want := 0
		for _, u := range b.twin.updates {
			if u.held() && slices.ContainsFunc(u.needs, is) {
				want++
			}
		}
		for _, r := range b.twin.open {
			if r.state == readWaiting && slices.ContainsFunc(r.Needs, is) {
				want++
			}
		}
		require.Equal(b.t, want, b.q.WaitingFor([]byte(key)), "those who wait for %s", key)
	}
}

// compareState looks at what an update's vote says, and that every sealing has
// an epoch of this life that no other has had.
func (b *both) compareState(u *twinUpdate) {
	state, epoch := b.q.State(u.txn)
	require.Equal(b.t, u.state, state, "%v", u.txn)
	if state != Sealed {
		require.Zero(b.t, epoch)
		return
	}
	if u.epoch.IsZero() {
		require.NotContains(b.t, b.epochs, epoch, "%v seals with an epoch that was used before", u.txn)
		u.epoch, b.epochs[epoch] = epoch, true
	}
	require.Equal(b.t, u.epoch, epoch, "%v", u.txn)
	require.Equal(b.t, b.twin.opt.Incarnation, epoch.Incarnation)
}

func (b *both) compareChanges() {
	got, want := b.q.Changes(), b.twin.changes
	b.twin.changes = Changes{}
	require.ElementsMatch(b.t, want.Ready, got.Ready, "ready")
	require.ElementsMatch(b.t, want.Lapsed, got.Lapsed, "lapsed")
	require.ElementsMatch(b.t, want.Sealed, got.Sealed, "sealed")
	for i := range got.Free {
		got.Free[i] = Freed{Txn: got.Free[i].Txn}
	}
	require.ElementsMatch(b.t, want.Free, got.Free, "free")
}

// clear decides all updates and has all readers leave: nothing stays behind.
func (b *both) clear() {
	for _, r := range slices.Clone(b.twin.open) {
		b.leave(r.Reader)
	}
	for _, id := range b.twin.readers() {
		b.leave(id)
	}
	for _, u := range slices.Clone(b.twin.updates) {
		b.q.Decided(b.now(), u.txn)
		b.q.Withdraw(b.now(), u.txn)
	}
	q := b.q
	require.Zero(b.t, len(q.updates)+len(q.readers)+len(q.points)+len(q.rangedUpdates)+len(q.rangedReaders)+len(q.reads))
	q.Tick(max(b.now(), q.NextTick()))
	require.EqualValues(b.t, math.MaxInt64, q.NextTick(), "there is nothing left to do")
}
