package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/shard"
)

// fullness is what was seen of disks without room.
type fullness struct {
	// full and low count periods: of disks that let nothing in, and of those that let
	// only deletions in. refused counts pieces.
	full, low int
	refused   uint64
}

// TestFullDisks has disks run low on room and out of it, again and again, under clients
// of all kinds, whose histories are judged as ever. What was prepared when the room went
// has been decided long before it comes back, with nothing new let in; nothing new is
// written on a full disk, and where it is low, only deletions are; readers are served; and
// afterwards everything goes on and nothing is left behind.
func TestFullDisks(t *testing.T) {
	var seen fullness
	var sum Summary
	for seed := range int64(24) {
		o := drawUpdates(seed)
		o.Shards, o.Nodes, o.Clients, o.Txns = 3, 3, 8, 120
		o.Straggle, o.Dup, o.Loss, o.ReadErrors, o.Crashes, o.Cuts, o.Mix.Vanish = 0, 0.05, 0.01, 0, 0, 0, 0
		o.Sync, o.ColdRead = min(o.Sync, time.Millisecond), min(o.ColdRead, 100*time.Microsecond)
		o.Mix.OneShotRead, o.Mix.Think = 6, 15*time.Millisecond
		// Longer than a lease and than views hold an update (50 ms and a round), and than it
		// takes to repeat what was lost, several times.
		o.Fills, o.FillFor, o.Lease = 20, 400*time.Millisecond, 30*time.Millisecond
		o.GraphOnly = seed%2 == 0
		s := seen.play(t, seed, o)
		sum.add(s)
	}
	t.Logf("%d commits, %d aborted, %d disks without room: %d full, %d low; %d pieces refused, %d deletions and %d readers served there meanwhile",
		sum.Committed, sum.Aborted, sum.Fills, seen.full, seen.low, seen.refused, sum.FullDeletes, sum.FullReads)
	require.Greater(t, seen.full, 50)
	require.Greater(t, seen.low, 50)
	require.Greater(t, seen.refused, uint64(500))
	require.Greater(t, sum.FullDeletes, 10)
	require.Greater(t, sum.FullReads, 100)
}

// play runs one history, and looks at what becomes visible when.
func (f *fullness) play(t *testing.T, seed int64, o Options) Summary {
	t.Helper()
	var w *world
	o.filled = func(d *disk) {
		if d.level == shard.DiskLow {
			f.low++
			return
		}
		f.full++
		for _, s := range d.shards {
			if n := s.m.Levels().Prepared; n > 0 {
				w.fail("%v: the disk was full for a while, and %d promises are still undecided", s.id, n)
			}
		}
	}
	w = newWorld(o)
	s, err := w.play()
	require.NoError(t, err, "seed %d", seed)
	f.refused += w.refusedForRoom()
	return s
}
