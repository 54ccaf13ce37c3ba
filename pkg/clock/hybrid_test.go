package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestHybridFollowsTimeOfDayUnlessFarBehind(t *testing.T) {
	m := NewManual(100, int64(time.Hour))
	h := NewHybrid(m, time.Minute)
	_, known := h.MinIDTime(m.Now())
	require.False(t, known)
	push := func(wall time.Duration) { h.RaiseMinIDTime(int64(wall) - m.Now()) }
	push(time.Hour + 59*time.Second)
	require.Equal(t, int64(time.Hour), h.Wall(), "within the slack")
	push(2 * time.Hour)
	require.Equal(t, int64(2*time.Hour), h.Wall())
	push(time.Hour + 30*time.Minute)
	m.Advance(time.Minute)
	require.Equal(t, int64(2*time.Hour+time.Minute), h.Wall(), "it advances with Now")
	m.SetWall(int64(2*time.Hour + time.Second))
	require.Equal(t, int64(2*time.Hour+time.Second), h.Wall(), "the time of day is within the slack again")
	m.SetWall(0)
	require.Equal(t, int64(2*time.Hour+time.Minute), h.Wall(), "it was set back")
	require.Zero(t, h.TimeOfDay())
}

func TestHybridAgreesWithMajority(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		own           time.Duration
		peers         []time.Duration
		agreed, apart time.Duration
	}{
		{5 * hour, nil, 5 * hour, 0},
		{5 * hour, []time.Duration{5 * hour}, 5 * hour, 0},
		{9 * hour, []time.Duration{5 * hour}, 5 * hour, 4 * hour},
		{1 * hour, []time.Duration{5 * hour}, 1 * hour, -4 * hour},
		{5 * hour, []time.Duration{5 * hour, 9 * hour}, 5 * hour, 0},
		{5 * hour, []time.Duration{5 * hour, 1 * hour}, 5 * hour, 0},
		{9 * hour, []time.Duration{5 * hour, 5 * hour}, 5 * hour, 4 * hour},
		{9 * hour, []time.Duration{9 * hour, 5 * hour}, 9 * hour, 0},
		{1 * hour, []time.Duration{5 * hour, 5 * hour}, 1 * hour, -4 * hour},
		{9 * hour, []time.Duration{5 * hour, 6 * hour, 7 * hour}, 6 * hour, 3 * hour},
		{9 * hour, []time.Duration{5 * hour, 5 * hour, 9 * hour, 9 * hour}, 9 * hour, 0},
	} {
		m := NewManual(100, int64(c.own))
		h := NewHybrid(m, time.Minute)
		for i, p := range c.peers {
			h.ObservePeer(kv.NodeID(i+2), m.Now(), int64(p))
		}
		require.Equal(t, c.agreed, time.Duration(h.GCTime(m.Now())), "%+v", c)
		behind := max(-c.apart, 0)
		require.Equal(t, c.own+behind, time.Duration(h.OrderAt(m.Now())), "%+v", c)
		apart, known := h.Difference(m.Now())
		require.Equal(t, c.apart, apart, "%+v", c)
		require.Equal(t, len(c.peers) > 0, known)
		h.RaiseMinIDTime(int64(20*hour) - m.Now())
		require.Equal(t, 20*hour, time.Duration(h.GCTime(m.Now())), "not below the time of earlier collection")
		m.Advance(peerFresh + 1)
		_, known = h.Difference(m.Now())
		require.False(t, known, "no clock is known")
	}
}

func TestAgreementCountsNodesWithSameTime(t *testing.T) {
	m := NewManual(100, int64(5*time.Hour))
	h := NewHybrid(m, time.Minute)
	require.Equal(t, [2]int{}, agreement(h))
	for i, p := range []time.Duration{5 * time.Hour, 5*time.Hour + time.Minute, 5*time.Hour - time.Minute - 1,
		7 * time.Hour} {
		h.ObservePeer(kv.NodeID(i+2), m.Now(), int64(p))
	}
	require.Equal(t, [2]int{2, 4}, agreement(h))
	m.SetWall(int64(7 * time.Hour))
	require.Equal(t, [2]int{1, 4}, agreement(h))
	m.Advance(peerFresh + 1)
	require.Equal(t, [2]int{}, agreement(h), "no clock is known")
}

func agreement(h *Hybrid) [2]int {
	agree, known := h.Agreement(h.Now(), time.Minute)
	return [2]int{agree, known}
}
