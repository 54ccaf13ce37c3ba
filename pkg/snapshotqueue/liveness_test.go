package snapshotqueue

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// In every state, once the readers have deregistered or are silent, ticks alone seal every update and free
// every piece.
func TestUpdatesAreHeldForABoundedTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBoth(t)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			b.advance(rapid.SampledFrom([]int64{0, 1, 2, 5}).Draw(t, "time"))
			b.step()
			b.tick()
			b.compare()
		}
		for _, id := range b.model.readers() {
			if rapid.Bool().Draw(t, "deregisters") {
				b.leave(id)
			}
		}
		b.tickUntilIdle()
		for _, u := range b.q.sortedUpdates() {
			require.Equal(t, u.piece, u.state == Unheld, "%v", u.txn)
			require.NotEqual(t, Held, u.state, "%v", u.txn)
		}
		require.Zero(t, b.q.ReaderCount()+len(b.q.waitingReads), "readers, and reads in flight")
	})
}

// tickUntilIdle calls Tick until none is scheduled. No reader arrives, and leases expire, so this ends.
func (b *comparison) tickUntilIdle() {
	for ticks := 0; b.q.NextTick() != math.MaxInt64; ticks++ {
		require.Less(b.t, ticks, 200, "the queues tick for ever")
		b.model.now = max(b.now(), b.q.NextTick())
		b.tick()
		b.compare()
	}
}

// The last agents only respond to unseal requests, and no update is decided. Then every read is ready within
// UnsealAfter.
func TestReadsWaitForABoundedTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBoth(t)
		bound := int64(b.q.opt.UnsealAfter)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			b.step()
			b.dropEpochs()
			b.compare()
			until := b.now() + rapid.SampledFrom([]int64{0, 1, 2, 5}).Draw(t, "time")
			for next := b.q.NextTick(); next <= until; next = b.q.NextTick() {
				b.model.now = max(b.now(), next)
				b.dropEpochs()
				b.compare()
			}
			b.model.now = until
			for _, r := range b.q.waitingReads {
				require.Less(t, until-r.since, bound, "%v reads %v", r.Reader, r.Needs)
			}
		}
	})
}

// dropEpochs responds to the unseal requests: the last agents drop all requested epochs.
func (b *comparison) dropEpochs() {
	b.tick()
	for _, a := range slices.Clone(b.requests) {
		b.q.Unsealed(b.now(), a.Txn, a.Epoch, 0)
		b.model.unsealed(a.Txn, a.Epoch, 0)
		b.model.settle()
	}
}

// If a tick left something due, its caller would spin.
func TestTickLeavesNothingDue(t *testing.T) {
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
