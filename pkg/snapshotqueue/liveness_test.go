package snapshotqueue

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestUpdatesAreHeldForABoundedTime: whatever was done before, once the readers
// have left or are silent, ticks alone seal every update and free every piece.
func TestUpdatesAreHeldForABoundedTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBoth(t)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			b.advance(rapid.SampledFrom([]int64{0, 1, 2, 5}).Draw(t, "time"))
			b.step()
			b.tick()
			b.compare()
		}
		for _, id := range b.twin.readers() {
			if rapid.Bool().Draw(t, "leaves") {
				b.leave(id)
			}
		}
		b.sleep()
		for _, u := range b.q.sortedUpdates() {
			require.Equal(t, u.piece, u.state == Unheld, "%v", u.txn)
			require.NotEqual(t, Held, u.state, "%v", u.txn)
		}
		require.Zero(t, b.q.Readers()+len(b.q.reads), "readers, and reads under way")
	})
}

// sleep ticks whenever the queues ask for it, until they ask no more. There is
// an end to that: nobody comes, and who is here lapses.
func (b *both) sleep() {
	for rounds := 0; b.q.NextTick() != math.MaxInt64; rounds++ {
		require.Less(b.t, rounds, 200, "the queues tick for ever")
		b.twin.now = max(b.now(), b.q.NextTick())
		b.tick()
		b.compare()
	}
}

// TestReadsWaitForABoundedTime: the last agents answer, if only when they are
// asked to unseal, and no update decides anything. Then every read is ready
// when the time for the question has passed.
func TestReadsWaitForABoundedTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBoth(t)
		bound := int64(b.q.opt.UnsealAfter)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			b.step()
			b.answer()
			b.compare()
			until := b.now() + rapid.SampledFrom([]int64{0, 1, 2, 5}).Draw(t, "time")
			for next := b.q.NextTick(); next <= until; next = b.q.NextTick() {
				b.twin.now = max(b.now(), next)
				b.answer()
				b.compare()
			}
			b.twin.now = until
			for _, r := range b.q.reads {
				require.Less(t, until-r.since, bound, "%v reads %v", r.Reader, r.Needs)
			}
		}
	})
}

// answer is the last agents': they drop every epoch that they are asked to.
func (b *both) answer() {
	b.tick()
	for _, a := range slices.Clone(b.asks) {
		b.q.Unsealed(b.now(), a.Txn, a.Epoch, 0)
		b.twin.unsealed(a.Txn, a.Epoch, 0)
		b.twin.settle()
	}
}

// TestNextTickIsLeftBehind: a tick leaves nothing due, or its caller would spin.
func TestNextTickIsLeftBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBoth(t)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			b.advance(rapid.SampledFrom([]int64{0, 1, 2, 5}).Draw(t, "time"))
			b.step()
			b.tick()
			b.compare()
			require.Greater(t, b.q.NextTick(), b.now(), "a tick leaves something due")
		}
	})
}
