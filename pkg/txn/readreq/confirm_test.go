package readreq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// fixed is a round of a cluster without leases on shards 3 and 5, of which all have fixed their CSNs, the latter last:
// the first one in 5 ms, and the other 5 ms later.
func fixed(t *testing.T, c env.Config) (*env.Env, *Reading) { return fixedIn(t, c, 5*ms) }

// fixedIn is fixed with another time for each of the shards.
func fixedIn(t *testing.T, c env.Config, each int64) (*env.Env, *Reading) {
	c.Node, c.Lease, c.Repeat = 1, 2*time.Second, 10*time.Millisecond
	e := env.New(c)
	r := New(e, env.PlanSnapshot, 0)
	r.Fix(e, Fix{Rest: []kv.ShardID{3}, Last: 5}, 0)
	for _, s := range []kv.ShardID{3, 5} {
		e.AdvanceTo(e.Now + each)
		i := uint64(s)
		p := &msg.ReadResponse{Number: r.pending[0].env.Body.(*msg.Read).Number,
			Reading: msg.Reading{Shard: s, Incarnation: 7, Number: 10 * i}}
		_, sent, ok := r.EndRequest(p)
		require.True(t, ok)
		require.True(t, r.CheckIncarnation(e, p, sent))
		r.StoreResponse(p)
		r.OnFixResponse(e)
	}
	require.False(t, r.HasPending())
	e.Out = nil
	return e, r
}

// renewal returns the only message that was sent, to the shard that is registered.
func renewal(t *testing.T, e *env.Env) *msg.RenewLease {
	require.Len(t, e.Out, 1)
	require.Equal(t, kv.ShardID(3), e.Out[0].Shard)
	q := msg.As[msg.RenewLease](e.Out[0])
	require.NotNil(t, q)
	require.EqualValues(t, 7, q.Incarnation)
	require.EqualValues(t, 30, q.Reading, "the reading on which the round relies, and no later one")
	require.Equal(t, int64(e.Round.Lease), q.LeaseNanos)
	e.Out = nil
	return q
}

// roundIsConfirmed returns what is wrong with the confirmation of a round, "" for nothing.
func roundIsConfirmed(t *testing.T, mutants mutant.Set) string {
	e, r := fixed(t, env.Config{NoLeases: true, Mutants: mutants})
	if r.IsConfirmed(e) {
		return "the round relies on a registration that may be lost"
	}
	q := renewal(t, e)
	require.LessOrEqual(t, e.Next, 20*ms)
	e.AdvanceTo(20 * ms)
	r.TickLeases(e)
	again := renewal(t, e)
	require.True(t, r.OnRenewLeaseResponse(e, &msg.RenewLeaseResponse{Shard: 3, Number: q.Number - 1, Ok: false}))
	require.True(t, r.AwaitsConfirmation())
	require.True(t, r.OnRenewLeaseResponse(e, &msg.RenewLeaseResponse{Shard: 3, Number: again.Number, Ok: true}))
	require.False(t, r.AwaitsConfirmation())
	require.True(t, r.IsConfirmed(e))
	require.Empty(t, e.Out)
	return ""
}

func TestRoundIsConfirmedByItsShards(t *testing.T) {
	require.Empty(t, roundIsConfirmed(t, mutant.Set{}))

	e, r := fixed(t, env.Config{NoLeases: true})
	require.False(t, r.IsConfirmed(e))
	q := renewal(t, e)
	require.False(t, r.OnRenewLeaseResponse(e, &msg.RenewLeaseResponse{Shard: 3, Number: q.Number, Ok: false}),
		"the shard has another leader, or has forgotten the reader")

	e, r = fixed(t, env.Config{})
	require.True(t, r.IsConfirmed(e), "with leases the gateway's clock proves it")
	require.Empty(t, e.Out)
}

// TestLeasesBoundEachWaitOfConfirmedRound: a clock that is too fast does not end a round that the shards confirm. It
// ends a wait in which nothing has arrived for a lease.
func TestLeasesBoundEachWaitOfConfirmedRound(t *testing.T) {
	e, r := fixedIn(t, env.Config{NoLeases: true}, 80*ms)
	require.True(t, holdsAt(e, r, 160*ms))
	require.False(t, r.IsConfirmed(e))
	q := renewal(t, e)
	require.True(t, holdsAt(e, r, 245*ms-1))
	require.True(t, r.OnRenewLeaseResponse(e, &msg.RenewLeaseResponse{Shard: 3, Number: q.Number, Ok: true}))
	require.True(t, r.IsConfirmed(e))

	e, r = fixedIn(t, env.Config{NoLeases: true}, 80*ms)
	require.False(t, r.IsConfirmed(e))
	require.False(t, holdsAt(e, r, 245*ms))

	e, r = fixedIn(t, env.Config{}, 80*ms)
	require.False(t, holdsAt(e, r, 160*ms), "with leases the clock counts from the first request")
}

// TestStateEndsWithItsLeader: without leases no time bounds for how long an earlier leader has kept a state.
func TestStateEndsWithItsLeader(t *testing.T) {
	for noLeases, want := range map[bool]bool{false: true, true: false} {
		e := env.New(env.Config{Node: 1, NoLeases: noLeases})
		k := env.RetainedState{Incarnation: 7, Until: 100 * ms}
		require.True(t, k.Confirm(e, 7, 0))
		require.Equal(t, want, k.Confirm(e, 8, 0))
	}
}
