package timeofday

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

const (
	settle = 10 * time.Minute
	noon   = int64(1_000_000 * time.Hour)
)

// testClock is a clock whose time of day is wrong by a duration.
type testClock struct {
	*Clock
	env   *step.Env
	row   entry.State
	wrong time.Duration
	peers Peers
	cfg   Config
}

// start begins an incarnation after a pause, with a wrong time of day.
func (w *testClock) start(after, wrong time.Duration) *testClock {
	now := int64(after)
	if w.env != nil {
		w.FillState(&w.row)
		now += w.env.Now
		w.row.Incarnation++
	}
	w.wrong = wrong
	w.env = &step.Env{Inc: w.row.Incarnation + 1, Now: now, Wall: noon + now + int64(wrong)}
	w.cfg.Settle = settle
	w.Clock = New(w.env, w.cfg, &w.row)
	return w
}

// pass advances the time, and reports whether the clock has changed.
func (w *testClock) pass(d time.Duration) (changed bool) {
	for ; d > 0; d -= 10 * time.Second {
		w.env.Now += int64(min(d, 10*time.Second))
		w.env.Wall = noon + w.env.Now + int64(w.wrong)
		changed = w.Observe(w.peers) || changed
	}
	return changed
}

func (w *testClock) deviation() time.Duration {
	return time.Duration(w.At(w.env.Now) - noon - w.env.Now)
}

func TestSteadyClockIsProven(t *testing.T) {
	w := (&testClock{}).start(0, 0)
	require.False(t, w.pass(settle-10*time.Second))
	require.Equal(t, Unsteady, w.Doubt())
	require.False(t, w.Proven())
	require.True(t, w.pass(10*time.Second))
	require.True(t, w.Proven())
	require.Equal(t, None, w.Doubt())
	id := w.ID()
	w.start(time.Minute, 0)
	require.True(t, w.Reliable(id))
	require.NotEqual(t, id, w.ID())
}

func TestClockSetSoonAfterStartIsReplaced(t *testing.T) {
	for _, wrong := range []time.Duration{-40 * 365 * 24 * time.Hour, -time.Hour, time.Hour, 40 * 365 * 24 * time.Hour} {
		w := (&testClock{}).start(0, wrong)
		w.pass(settle - time.Minute)
		w.wrong = 0
		require.False(t, w.pass(settle-time.Minute), "the settle time begins anew")
		first := w.ID()
		require.True(t, w.pass(2*time.Minute))
		require.Zero(t, w.deviation())
		require.NotEqual(t, first, w.ID())
		offset, own := w.Own(first)
		require.True(t, own)
		require.Equal(t, noon+int64(wrong), offset)
		w.start(0, 0)
		require.False(t, w.Reliable(first), "the wrong clock stays unreliable")
	}
}

func TestClockNeverProvenStaysUnreliable(t *testing.T) {
	w := (&testClock{}).start(0, 0)
	id := w.ID()
	w.pass(time.Minute)
	w.start(0, 0).start(0, 0)
	require.False(t, w.Reliable(id))
	w.pass(settle)
	require.True(t, w.Proven())
	w.start(0, 0)
	require.False(t, w.Reliable(id))
}

func TestTimeOfDayIsComparedWithTheStore(t *testing.T) {
	for _, c := range []struct {
		down, wrong time.Duration
		doubt       Doubt
	}{
		{time.Hour, 0, None},
		{71 * time.Hour, 0, None},
		{time.Hour, 60 * time.Hour, None},
		{time.Hour, 80 * time.Hour, Ahead},
		{100 * 24 * time.Hour, 0, Ahead},
		{time.Hour, -2 * time.Hour, Behind},
		{time.Hour, -40 * 365 * 24 * time.Hour, Behind},
	} {
		w := (&testClock{}).start(0, 0)
		w.pass(settle)
		w.start(c.down, c.wrong)
		w.pass(3 * settle)
		require.Equal(t, c.doubt, w.Doubt(), "%+v", c)
		require.Equal(t, c.doubt == None, w.Proven(), "%+v", c)
		w.peers = PeersAgree
		w.pass(2 * settle)
		require.Equal(t, None, w.Doubt(), "%+v: the other nodes agree", c)
		require.True(t, w.Proven())
		w.peers = PeersUnknown

		w.cfg.Trusted = true
		w.start(0, c.wrong)
		require.Equal(t, None, w.Doubt(), "%+v: an operator has confirmed it", c)
		require.True(t, w.Proven())
	}
}

func TestDifferingNodesPreventProof(t *testing.T) {
	w := (&testClock{peers: PeersDiffer}).start(0, time.Hour)
	w.pass(3 * settle)
	require.Equal(t, Differs, w.Doubt())
	w.peers = PeersAgree
	require.False(t, w.pass(settle-10*time.Second), "the settle time begins when they agree")
	require.True(t, w.pass(20*time.Second))
}

func TestProvenClockFollowsALaterCorrectionOnly(t *testing.T) {
	w := (&testClock{}).start(0, time.Hour)
	w.pass(settle)
	require.True(t, w.Proven())
	require.Equal(t, time.Hour, w.deviation(), "it was wrong for the settle time, so it is proven")
	w.wrong = 30 * 24 * time.Hour
	w.pass(3 * settle)
	require.Equal(t, time.Hour, w.deviation(), "days ahead of the store")
	w.wrong = 2 * time.Hour
	w.pass(settle + time.Minute)
	require.Equal(t, 2*time.Hour, w.deviation())
	w.wrong = 2*time.Hour + settle/10
	require.False(t, w.pass(3*settle), "a correction is not a step")
}

func TestNewestTimeIsRecordedOnceAnHour(t *testing.T) {
	w := (&testClock{}).start(0, 0)
	require.Equal(t, w.env.Now+int64(settle), w.Next())
	w.pass(settle)
	require.True(t, w.Flush())
	require.False(t, w.Flush())
	require.Equal(t, w.env.Now+int64(time.Hour), w.Next())
	w.pass(time.Hour)
	require.True(t, w.Flush())
	w.FillState(&w.row)
	require.Equal(t, noon+w.env.Now, w.row.Wall)
	require.Empty(t, w.row.UnprovenClocks)
	w.wrong = 365 * 24 * time.Hour
	w.pass(2 * time.Hour)
	require.False(t, w.Flush(), "an unproven time is not recorded")
	require.Greater(t, w.Next(), w.env.Now)
}

func TestUnprovenClocksAreBounded(t *testing.T) {
	w := (&testClock{}).start(0, 0)
	for range 2 * maxUnproven {
		w.start(0, 0)
	}
	require.LessOrEqual(t, len(w.row.UnprovenClocks), maxUnproven)
}

// TestNewLeaderHasTheClockOfItsNode: what the node has measured counts; a contradiction or a step still does.
func TestNewLeaderHasTheClockOfItsNode(t *testing.T) {
	env := func(steady time.Duration) *step.Env {
		return &step.Env{Inc: 2, Now: int64(time.Hour), Wall: noon, SteadyNanos: int64(steady)}
	}
	cfg := Config{Settle: settle}
	require.True(t, New(env(settle), cfg, &entry.State{}).Proven())
	require.False(t, New(env(settle-1), cfg, &entry.State{}).Proven())
	require.Equal(t, Behind, New(env(settle), cfg, &entry.State{Wall: noon + int64(time.Hour)}).Doubt())
	cfg.Trusted = true
	require.True(t, New(env(1), cfg, &entry.State{}).Proven())
	e := env(settle)
	c := New(e, Config{Settle: settle}, &entry.State{})
	e.Wall += int64(time.Hour)
	c.Observe(PeersUnknown)
	require.Equal(t, Unsteady, c.Doubt())
}
