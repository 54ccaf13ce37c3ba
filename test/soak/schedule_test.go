package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestScheduleIsReproducible: the seed determines the schedule. Every fault ends in its round, two faults
// of one class do not overlap, the process of the protected node is not ended, and no kind is missing for
// long.
func TestScheduleIsReproducible(t *testing.T) {
	for seed := range uint64(50) {
		m := ScheduleOptions{Seed: seed, Nodes: 3, Phase: 36 * time.Second, ProtectedRounds: 20, Small: 2,
			Replicated: seed%2 == 0}
		a, b := NewSchedule(m), NewSchedule(m)
		last := map[Kind]int{}
		for n := 1; n <= 60; n++ {
			r := a.Next()
			require.Equal(t, r, b.Next())
			require.Equal(t, n, r.Number)
			require.Equal(t, (n-1)/20, r.Protected)
			var till [2]time.Duration
			emptied := 0
			for _, f := range r.Faults {
				lane := 0
				if f.Kind >= OneWay {
					lane = 1
				}
				require.Greater(t, f.From, till[lane], "%v", r)
				require.LessOrEqual(t, f.Till, m.Phase, "%v", r)
				require.GreaterOrEqual(t, f.Till-f.From, durations[f.Kind][0])
				require.NotEqual(t, f.Node, f.To)
				require.False(t, f.Kind.Restarts() && f.Node == r.Protected, "%v", r)
				require.False(t, f.Kind.onDisk() && f.Node != m.Small, "%v", r)
				if f.Kind == Empty {
					emptied++
					require.NotEqual(t, m.Small, f.Node, "%v", r)
				}
				till[lane] = f.Till
				last[f.Kind] = n
			}
			require.LessOrEqual(t, emptied, 1, "%v", r)
			require.NotZero(t, till[0])
			require.NotZero(t, till[1])
			for k := range kinds {
				if (k != Full || r.Protected != m.Small) && (k != Empty || m.Replicated) {
					require.Less(t, n-last[k], 25, "%v is missing", k)
				}
			}
		}
	}
}

// TestScheduleWithoutSmallDisk: without a small disk there are no disk faults, and short rounds have faults
// too.
func TestScheduleWithoutSmallDisk(t *testing.T) {
	s := NewSchedule(ScheduleOptions{Seed: 1, Nodes: 3, Phase: 7 * time.Second, ProtectedRounds: 10, Small: -1})
	for range 50 {
		r := s.Next()
		require.NotEmpty(t, r.Faults)
		for _, f := range r.Faults {
			require.False(t, f.Kind.onDisk(), "%v", r)
		}
	}
}
