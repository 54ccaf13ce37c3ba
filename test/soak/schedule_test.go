package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSchedule: a seed is enough to draw the same schedule again; every fault
// ends in its round; no two of a sort meet; the spared node's process lives; and
// no kind is left out for long.
func TestSchedule(t *testing.T) {
	for seed := range uint64(50) {
		m := Means{Seed: seed, Nodes: 3, Phase: 36 * time.Second, Turn: 20, Small: 2}
		a, b := NewSchedule(m), NewSchedule(m)
		last := map[Kind]int{}
		for n := 1; n <= 60; n++ {
			r := a.Next()
			require.Equal(t, r, b.Next())
			require.Equal(t, n, r.Number)
			require.Equal(t, (n-1)/20, r.Spared)
			var till [2]time.Duration
			for _, f := range r.Faults {
				lane := 0
				if f.Kind >= OneWay {
					lane = 1
				}
				require.Greater(t, f.From, till[lane], "%v", r)
				require.LessOrEqual(t, f.Till, m.Phase, "%v", r)
				require.GreaterOrEqual(t, f.Till-f.From, lasts[f.Kind][0])
				require.NotEqual(t, f.Node, f.To)
				require.False(t, f.Kind.Restarts() && f.Node == r.Spared, "%v", r)
				require.False(t, f.Kind.onDisk() && f.Node != m.Small, "%v", r)
				till[lane] = f.Till
				last[f.Kind] = n
			}
			require.NotZero(t, till[0])
			require.NotZero(t, till[1])
			for k := range kinds {
				if k != Full || r.Spared != m.Small {
					require.Less(t, n-last[k], 25, "%v does not come", k)
				}
			}
		}
	}
}

// TestScheduleWithoutSmallDisk: nothing is done to a disk that is not there,
// and short rounds have faults as well.
func TestScheduleWithoutSmallDisk(t *testing.T) {
	s := NewSchedule(Means{Seed: 1, Nodes: 3, Phase: 7 * time.Second, Turn: 10, Small: -1})
	for range 50 {
		r := s.Next()
		require.NotEmpty(t, r.Faults)
		for _, f := range r.Faults {
			require.False(t, f.Kind.onDisk(), "%v", r)
		}
	}
}
