package shards

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// eight is a router of eight shards on one node.
type eight struct{ env.Router }

func (eight) Shards() int               { return 8 }
func (eight) Node(kv.ShardID) kv.NodeID { return 1 }

const suspect = kv.ShardID(7)

// fixture is a view of shards, one of which is suspected.
type fixture struct {
	*Shards
	env *env.Env
}

func newFixture() *fixture {
	e := env.New(env.Config{Node: 1, Router: eight{}})
	e.AdvanceTo(int64(time.Second))
	return &fixture{New(e), e}
}

func (b *fixture) advance(d time.Duration) { b.env.AdvanceTo(b.env.Now + int64(d)) }

// respond answers a probe of the shard: first after late, and when its log is durable after log.
func (b *fixture) respond(late, log time.Duration) {
	b.Suspect(suspect)
	probe := msg.As[msg.Read](b.probing[suspect].probe)
	r := &msg.ReadResponse{Reader: probe.Reader, Number: probe.Number}
	r.Reading.Shard = suspect
	once := *r
	once.Immediate = true
	b.advance(late)
	b.OnProbeResponse(&once)
	b.advance(log)
	b.OnProbeResponse(r)
}

func TestSlowLogIsLateOnceLongOrRepeatedly(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name string
		// logs are the times between the two responses of each probe.
		logs []time.Duration
		may  bool
	}{
		{"fast", []time.Duration{ms, ms, ms, ms}, true},
		{"a pause", []time.Duration{ms, 300 * ms, ms, ms}, true},
		{"two pauses", []time.Duration{300 * ms, 300 * ms, ms}, true},
		{"pauses between", []time.Duration{300 * ms, 300 * ms, ms, 300 * ms, 300 * ms}, true},
		{"three times late", []time.Duration{200 * ms, 200 * ms, 200 * ms}, false},
		{"late once, long", []time.Duration{600 * ms}, false},
	} {
		b := newFixture()
		for _, log := range tc.logs {
			b.respond(200*ms, log)
		}
		require.Equal(t, tc.may, b.CanDecide(suspect), tc.name)
	}
}

func TestPenaltyOfSlowLogDoubles(t *testing.T) {
	const slow = 600 * time.Millisecond
	b := newFixture()
	for _, penalty := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		b.respond(0, slow)
		b.advance(penalty*time.Second - 1)
		require.False(t, b.CanDecide(suspect), "after %d s", penalty)
		b.advance(1)
		require.True(t, b.CanDecide(suspect), "after %d s", penalty)
	}
	b.advance(relapseWithin)
	b.advance(1)
	b.respond(0, slow)
	b.advance(minPenalty)
	require.True(t, b.CanDecide(suspect), "old penalties do not count")
}

func TestShardWithLateResponsesMayDecide(t *testing.T) {
	b := newFixture()
	for range 20 {
		b.respond(900*time.Millisecond, time.Millisecond)
		require.True(t, b.CanDecide(suspect))
	}
	b.respond(1100*time.Millisecond, time.Millisecond)
	require.False(t, b.CanDecide(suspect), "no response for a second")
}

// TestReachableNodeIsNoLeader: nodes with empty disks are reachable again, and lead nothing.
func TestReachableNodeIsNoLeader(t *testing.T) {
	b := newFixture()
	b.env.Replicated = true
	require.True(t, b.SetDown(kv.NoLeader, true, suspect))
	for _, down := range []bool{true, false} {
		require.False(t, b.SetDown(1, down))
		require.True(t, b.IsDown(suspect))
	}
	b.SetDown(kv.NoLeader, false, suspect)
	require.False(t, b.IsDown(suspect))
}
