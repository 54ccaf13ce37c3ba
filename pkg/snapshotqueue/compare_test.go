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

// TestMain raises the number of inputs that rapid tries: they are cheap.
func TestMain(m *testing.M) { tries.Main(m, "1000") }

// TestQueueEqualsModel applies the same random operations to the queues and to the reference model.
func TestQueueEqualsModel(t *testing.T) {
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
		b.removeAll()
	})
}

// comparison is the queues under test with their reference model.
type comparison struct {
	t     *rapid.T
	q     *Queue
	model *model
	// epochs are all epochs that the queues have assigned.
	epochs   map[kv.Epoch]bool
	requests []UnsealRequest
}

func newBoth(t *rapid.T) *comparison {
	opt := Options{Incarnation: 2, UnsealAfter: 4, Repeat: 6, CloseAfter: 9}
	opt.SealFrom = rapid.SampledFrom([]int64{0, 8, 20}).Draw(t, "seal from")
	b := &comparison{t: t, q: New(opt), model: &model{opt: opt}, epochs: map[kv.Epoch]bool{}}
	for range rapid.IntRange(0, 2).Draw(t, "recovered") {
		if txn := drawName(t, 'A'); b.model.update(txn) == nil {
			needs := b.drawChanges()
			b.q.Recover(0, txn, needs)
			b.model.prepare(txn, needs, Recovered)
		}
	}
	b.tick()
	b.compare()
	return b
}

func (b *comparison) now() int64 { return b.model.now }

func (b *comparison) advance(by int64) { b.model.now += by }

// tick calls Tick if it is due, as the shard does at the end of each step. The queues must not schedule it later than
// the model does.
func (b *comparison) tick() {
	require.LessOrEqual(b.t, b.q.NextTick(), b.model.due(), "Tick is scheduled too late")
	b.requests = nil
	if b.now() < b.q.NextTick() {
		require.Empty(b.t, b.q.Tick(b.now()))
		return
	}
	b.requests = b.q.Tick(b.now())
	require.Equal(b.t, b.model.tick(), b.requests, "unseal requests")
	require.LessOrEqual(b.t, b.q.NextTick(), b.model.due(), "Tick is scheduled too late")
}

var (
	addX, addY, removeX        = ofSet("add", "x"), ofSet("add", "y"), ofSet("remove", "x")
	containsX, containsY, size = ofSet("contains", "x"), ofSet("contains", "y"), ofSet("len")

	updateModes = []adt.Mode{adt.ModeWrite, adt.ModeAdd, addX, addY, removeX}
	readerModes = []adt.Mode{adt.ModeRead, adt.ModeRead, adt.ModeRead, adt.ModeAdd, adt.ModeWrite,
		containsX, containsY, size}
)

// ofSet returns the mode of a method of the set type.
func ofSet(method string, members ...string) adt.Mode {
	var args adt.Args
	for _, m := range members {
		args = append(args, adt.Bytes([]byte(m)))
	}
	op := adt.Lookup(adt.Set).MethodByName(method).Op([]byte("k"), args...)
	return adt.Modes(nil, &op)[0]
}

// drawNeeds draws one or two needs; one in four is a range.
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

// drawChanges draws the changes of a participant, which may be none.
func (b *comparison) drawChanges() []Need {
	if rapid.IntRange(0, 9).Draw(b.t, "only read") == 9 {
		return nil
	}
	return drawNeeds(b.t, updateModes)
}

// compare compares the queues with the model.
func (b *comparison) compare() {
	require.NoError(b.t, b.q.Check())
	b.model.settle()
	b.compareChanges()
	b.compareUpdates()
	b.compareReaders()
	b.compareWaiting()
	needs := drawNeeds(b.t, readerModes)
	conflicts := func(u *modelUpdate) bool { return conflict(u.needs, needs) }
	undecided, age := b.q.CheckUndecided(b.now(), needs)
	require.Equal(b.t, slices.ContainsFunc(b.model.updates, conflicts), undecided, "%v: undecided", needs)
	want := int64(0)
	for _, u := range b.model.updates {
		if conflicts(u) && u.isHeld() {
			want = max(want, b.model.timeBlocked(u))
		}
	}
	require.Equal(b.t, want, age, "%v: time blocked", needs)
}

func (b *comparison) compareUpdates() {
	held, pieces := 0, 0
	for _, u := range b.model.updates {
		if u.isHeld() {
			held++
		}
		require.Equal(b.t, b.model.timeBlocked(u), b.q.TimeBlocked(b.now(), u.txn), "%v: time blocked", u.txn)
		if u.piece {
			pieces++
		}
		require.Equal(b.t, u.piece, b.q.updates[u.txn].piece)
		b.compareState(u)
		for _, r := range b.q.updates[u.txn].waiting {
			require.Contains(b.t, r.waits, b.q.updates[u.txn], "a read does not wait for %v", u.txn)
		}
	}
	want := []int{len(b.model.updates), held, pieces}
	require.Equal(b.t, want, []int{b.q.Len(), b.q.HeldCount(), b.q.PieceCount()}, "updates, held, pieces")
}

func (b *comparison) compareReaders() {
	w := b.model
	require.Equal(b.t, len(w.readers()), b.q.ReaderCount(), "readers")
	require.Equal(b.t, len(w.readers()) == 0 && w.now >= w.opt.SealFrom, b.q.HasNoReaders(w.now), "open")
	for _, id := range w.readers() {
		require.Equal(b.t, w.isLasting(id), b.q.IsRegistered(id), "%v is registered", id)
		require.Equal(b.t, w.until(id), b.q.readers[id].until, "%v is registered until", id)
	}
	for _, r := range w.open {
		require.Equal(b.t, r.state, r.Read.state, "a read of %v", r.Reader)
		require.Equal(b.t, r.since, r.Since())
	}
}

// compareWaiting compares the number of waiters of each key.
func (b *comparison) compareWaiting() {
	for _, key := range []string{"a", "b", "c", "d", "unused"} {
		is := func(n Need) bool { return n.Span.IsPoint() && string(n.Span.Start) == key }
		want := 0
		for _, u := range b.model.updates {
			if u.isHeld() && slices.ContainsFunc(u.needs, is) {
				want++
			}
		}
		for _, r := range b.model.open {
			if r.state == readWaiting && slices.ContainsFunc(r.Needs, is) {
				want++
			}
		}
		require.Equal(b.t, want, b.q.WaiterCount([]byte(key)), "waiters of %s", key)
	}
}

// compareState compares the state of an update. Each sealing must have a new epoch of this incarnation.
func (b *comparison) compareState(u *modelUpdate) {
	state, epoch := b.q.State(u.txn)
	require.Equal(b.t, u.state, state, "%v", u.txn)
	if state != Sealed {
		require.Zero(b.t, epoch)
		return
	}
	if u.epoch.IsZero() {
		require.NotContains(b.t, b.epochs, epoch, "%v reuses an epoch", u.txn)
		u.epoch, b.epochs[epoch] = epoch, true
	}
	require.Equal(b.t, u.epoch, epoch, "%v", u.txn)
	require.Equal(b.t, b.model.opt.Incarnation, epoch.Incarnation)
}

func (b *comparison) compareChanges() {
	got, want := b.q.Changes(), b.model.changes
	b.model.changes = Changes{}
	require.ElementsMatch(b.t, want.Ready, got.Ready, "ready")
	require.ElementsMatch(b.t, want.Expired, got.Expired, "lapsed")
	require.ElementsMatch(b.t, want.Sealed, got.Sealed, "sealed")
	for i := range got.Free {
		got.Free[i] = FreedPiece{Txn: got.Free[i].Txn}
	}
	require.ElementsMatch(b.t, want.Free, got.Free, "free")
}

// removeAll decides all updates and deregisters all readers. Nothing may be left.
func (b *comparison) removeAll() {
	for _, r := range slices.Clone(b.model.open) {
		b.leave(r.Reader)
	}
	for _, id := range b.model.readers() {
		b.leave(id)
	}
	for _, u := range slices.Clone(b.model.updates) {
		b.q.Decided(b.now(), u.txn)
		b.q.Withdraw(b.now(), u.txn)
	}
	q := b.q
	require.Zero(b.t, len(q.updates)+len(q.readers)+len(q.points))
	require.Zero(b.t, len(q.rangedUpdates)+len(q.rangedReaders)+len(q.waitingReads))
	q.Tick(max(b.now(), q.NextTick()))
	require.EqualValues(b.t, math.MaxInt64, q.NextTick(), "no tick is due")
}
