package consensus_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// rates sends a message of node 2 to node 1 every 100 ms, whose clock is right, and returns what node 1 measures. there
// and back are the delays of messages to node 2 and of its own, clock is node 2's clock; time is in nanoseconds.
func rates(length time.Duration, clock func(now int64) int64, there, back func(now int64) int64) (c consensus.Clocks,
	everOff bool) {
	for now := int64(1000 * ms); now < int64(length); now += 100 * ms {
		at := now + there(now)
		arrives := at + back(at)
		c.Observe(2, now, clock(at), arrives)
		_, isOff := c.Rate(2)
		everOff = everOff || isOff
	}
	return c, everOff
}

func at(rate float64) func(int64) int64 {
	return func(now int64) int64 { return 1e15 + int64(rate*float64(now)) }
}

func delay(d int64) func(int64) int64 { return func(int64) int64 { return d } }

func TestClockRatesAreMeasured(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	jitter := func(int64) int64 { return ms + rnd.Int64N(100*ms) }
	for rate, want := range map[float64]bool{0.5: true, 0.95: true, 0.975: true, 0.985: false, 1: false, 1.015: false,
		1.025: true, 1.05: true, 2: true} {
		for i, d := range []func(int64) int64{delay(ms / 10), delay(20 * ms), jitter} {
			if i == 2 && (rate == 0.975 || rate == 1.025) {
				continue // not sure within 10 s
			}
			c, ever := rates(30*time.Second, at(rate), d, d)
			faster, isOff := c.Rate(2)
			require.InDelta(t, rate, faster+1, 0.012*rate, "rate %v", rate)
			require.Equal(t, want, isOff, "rate %v", rate)
			require.Equal(t, want, ever, "rate %v", rate)
		}
	}
}

// TestClockRateIsKnownAfterTenSeconds and not before.
func TestClockRateIsKnownAfterTenSeconds(t *testing.T) {
	c, ever := rates(9*time.Second, at(1.05), delay(ms), delay(ms))
	require.False(t, ever)
	_, isOff := c.Rate(2)
	require.False(t, isOff)
	c, _ = rates(12*time.Second, at(1.05), delay(ms), delay(ms))
	_, isOff = c.Rate(2)
	require.True(t, isOff)
	_, isOff = c.Rate(3)
	require.False(t, isOff, "of a node that has sent nothing")
}

// TestDelaysAreNoRates: queues that grow, in either direction, suspended processes, and a machine that starts again.
func TestDelaysAreNoRates(t *testing.T) {
	growing := func(now int64) int64 { return ms + now/4 } // by 2.5 s in 10 s
	shrinking := func(now int64) int64 { return max(ms, 4000*ms-now/4) }
	stopped := func(now int64) int64 { // of each 8 s the last 3, in which messages wait
		if phase := now % (8000 * ms); phase > 5000*ms {
			return 8000*ms - phase + ms
		}
		return ms
	}
	for name, d := range map[string][2]func(int64) int64{
		"there": {growing, delay(ms)}, "back": {delay(ms), growing}, "both": {growing, growing},
		"shrinking": {shrinking, shrinking}, "one shrinks": {growing, shrinking},
		"the other node stops": {stopped, delay(ms)}, "this node stops": {delay(ms), stopped},
	} {
		_, ever := rates(60*time.Second, at(1), d[0], d[1])
		require.False(t, ever, name)
	}
	starts := func(now int64) int64 { return now % (15_000 * ms) }
	_, ever := rates(60*time.Second, starts, delay(ms), delay(ms))
	require.False(t, ever, "the other machine starts again")
	later := func(now int64) int64 { // its clock was at 5 s, and is at 7 s when its messages arrive again, 4 s later
		if now > 10_000*ms {
			return now - 2000*ms
		}
		return now
	}
	gap := consensus.Clocks{}
	for now := int64(5000 * ms); now < 40_000*ms; now += 100 * ms {
		if now < 8000*ms || now > 12_000*ms {
			gap.Observe(2, now, later(now+ms), now+2*ms)
		}
		_, isOff := gap.Rate(2)
		require.False(t, isOff, "a gap, at %v", time.Duration(now))
	}
}

// TestClockThatWasRepairedIsOffNoMore.
func TestClockThatWasRepairedIsOffNoMore(t *testing.T) {
	repaired := func(now int64) int64 { return now + min(now, 20_000*ms)/20 }
	c, ever := rates(40*time.Second, repaired, delay(ms), delay(ms))
	_, isOff := c.Rate(2)
	require.True(t, ever)
	require.False(t, isOff)
}

// TestMessagesThatShowNoRoundTripAreIgnored: of another start of this machine, or without a time.
func TestMessagesThatShowNoRoundTripAreIgnored(t *testing.T) {
	var c consensus.Clocks
	for now := int64(1000 * ms); now < 60_000*ms; now += 100 * ms {
		require.False(t, c.Observe(2, now+ms, now, now))
		require.False(t, c.Observe(2, 0, now, now))
		require.False(t, c.Observe(2, now, 0, now))
	}
}

func TestOwnClockIsOffIfThoseOfMostPeersDiffer(t *testing.T) {
	var c consensus.Clocks
	for now := int64(1000 * ms); now < 20_000*ms; now += 100 * ms {
		for node, rate := range map[kv.NodeID]float64{2: 1.03, 3: 1, 4: 1.03, 5: 0.9} {
			c.Observe(node, now, at(rate)(now+ms), now+2*ms)
		}
	}
	require.False(t, c.IsOwnOff(nil))
	require.False(t, c.IsOwnOff([]kv.NodeID{2, 3}), "one of two")
	require.True(t, c.IsOwnOff([]kv.NodeID{2, 4}))
	require.True(t, c.IsOwnOff([]kv.NodeID{2, 3, 4, 5}))
	require.False(t, c.IsOwnOff([]kv.NodeID{2, 3, 4, 6}), "two of four")
}

// clockOffDoesNotLead: the leader's clock is found off. Another replica leads, and when that is cut off, the third.
func clockOffDoesNotLead(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	off := n.lead()
	n.run(500 * ms)
	off.replica.Leadership().SetClockOff(true)
	n.run(100 * ms)
	if off.replica.Leads() != 0 {
		return "a replica whose clock is off leads"
	}
	require.Equal(t, consensus.ClockOff, off.replica.Causes.Lost)
	next := n.lead()
	require.NotEqual(t, off.id, next.id, "leadership was transferred")
	for range 3 {
		n.isolate(next.id)
		n.run(3 * hold)
		require.Zero(t, off.replica.Leads())
		n.heal()
		next = n.lead()
		require.NotEqual(t, off.id, next.id)
	}
	off.replica.Leadership().SetClockOff(false)
	n.isolate(next.id)
	n.run(3 * hold)
	return ""
}
