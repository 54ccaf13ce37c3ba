package shards

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// eight is a router of eight shards, all on one node.
type eight struct{ env.Router }

func (eight) Shards() int { return 8 }

const suspect = kv.ShardID(7)

// beside is a view of shards, one of which is suspected again and again.
type beside struct {
	*Shards
	env *env.Env
}

func newBeside() *beside {
	e := env.New(env.Config{Node: 1, Router: eight{}})
	e.At(int64(time.Second))
	return &beside{New(e), e}
}

func (b *beside) passes(d time.Duration) { b.env.At(b.env.Now + int64(d)) }

// probed has the shard probed: it answers after late, and its log is durable after log.
func (b *beside) probed(late, log time.Duration) {
	b.Suspect(suspect)
	r := &msg.ReadResponse{Reader: msg.As[msg.Read](b.out[suspect].probe).Reader, Number: msg.As[msg.Read](b.out[suspect].probe).Number}
	r.Reading.Shard = suspect
	once := *r
	once.AtOnce = true
	b.passes(late)
	b.Probed(&once)
	b.passes(log)
	b.Probed(r)
}

func TestALogIsSlowThatIsLateForLongOrAgainAndAgain(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name string
		// logs are how late the log is after each probe.
		logs []time.Duration
		may  bool
	}{
		{"fast", []time.Duration{ms, ms, ms, ms}, true},
		{"a pause", []time.Duration{ms, 300 * ms, ms, ms}, true},
		{"two pauses", []time.Duration{300 * ms, 300 * ms, ms}, true},
		{"pauses between", []time.Duration{300 * ms, 300 * ms, ms, 300 * ms, 300 * ms}, true},
		{"three times late", []time.Duration{200 * ms, 200 * ms, 200 * ms}, false},
		{"late for long", []time.Duration{600 * ms}, false},
	} {
		b := newBeside()
		for _, log := range tc.logs {
			b.probed(200*ms, log)
		}
		require.Equal(t, tc.may, b.MayDecide(suspect), tc.name)
	}
}

func TestASlowLogIsTriedAgainLaterAndLater(t *testing.T) {
	const slow = 600 * time.Millisecond
	b := newBeside()
	for _, penalty := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		b.probed(0, slow)
		b.passes(penalty*time.Second - 1)
		require.False(t, b.MayDecide(suspect), "after %d s", penalty)
		b.passes(1)
		require.True(t, b.MayDecide(suspect), "after %d s", penalty)
	}
	b.passes(relapse)
	b.passes(1)
	b.probed(0, slow)
	b.passes(leastPenalty)
	require.True(t, b.MayDecide(suspect), "what is long ago is forgotten")
}

func TestAShardWhoseAnswersAreLateDecides(t *testing.T) {
	b := newBeside()
	for range 20 {
		b.probed(900*time.Millisecond, time.Millisecond)
		require.True(t, b.MayDecide(suspect))
	}
	b.probed(1100*time.Millisecond, time.Millisecond)
	require.False(t, b.MayDecide(suspect), "it was silent for a second")
}
