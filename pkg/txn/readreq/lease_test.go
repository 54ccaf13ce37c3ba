package readreq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

const ms = int64(time.Millisecond)

// granted is a reading whose shard has responded, after 10 ms, with a registration for 600 ms.
func granted(t *testing.T, mutants mutant.Set) (*env.Env, *Reading) {
	e := env.New(env.Config{Node: 1, Lease: 2 * time.Second, Mutants: mutants})
	r := New(e, env.PlanInteractive, 0)
	r.Send(e, 3, &msg.Read{LeaseNanos: int64(e.Lease)}, 0)
	e.AdvanceTo(10 * ms)
	respond(t, e, r, 600*ms)
	return e, r
}

// respond delivers the response to the last request.
func respond(t *testing.T, e *env.Env, r *Reading, lease int64) {
	p := &msg.ReadResponse{Number: r.number, Reading: msg.Reading{Shard: 3, Incarnation: 7}, LeaseNanos: lease}
	_, sent, ok := r.EndRequest(p)
	require.True(t, ok)
	require.True(t, r.CheckIncarnation(e, p, sent))
	e.Out = nil
}

// holdsAt reports whether all leases hold at a time.
func holdsAt(e *env.Env, r *Reading, at int64) bool {
	e.AdvanceTo(at)
	_, expired := r.ExpiredLease(e)
	return !expired
}

func TestLeaseIsAsLongAsGranted(t *testing.T) {
	e, r := granted(t, mutant.Set{})
	require.True(t, holdsAt(e, r, 540*ms-1))
	require.False(t, holdsAt(e, r, 540*ms), "600 ms from the sending of the request, less the margin")
}

// TestGrantedLeaseIsRenewedAfter200ms: a third, and again after half of that if the response is lost.
func TestGrantedLeaseIsRenewedAfter200ms(t *testing.T) {
	e, r := granted(t, mutant.Set{})
	require.LessOrEqual(t, e.Next, 200*ms)
	var at []int64
	for now := 10 * ms; now < 500*ms; now += 10 * ms {
		e.AdvanceTo(now)
		r.TickLeases(e)
		if len(e.Out) > 0 {
			at, e.Out = append(at, now/ms), nil
		}
	}
	require.Equal(t, []int64{200, 300, 400}, at)
	require.True(t, r.OnRenewLeaseResponse(e, &msg.RenewLeaseResponse{Shard: 3, Number: r.number, Ok: true,
		LeaseNanos: 300 * ms}))
	require.Equal(t, 500*ms, r.leases[0].renewAt, "a third of 300 ms")
	require.True(t, holdsAt(e, r, 670*ms-1))
	require.False(t, holdsAt(e, r, 670*ms))
}

// TestLaterReadLeavesTheLease: it may have waited for longer than a lease that was renewed meanwhile.
func TestLaterReadLeavesTheLease(t *testing.T) {
	e, r := granted(t, mutant.Set{})
	r.Send(e, 3, &msg.Read{LeaseNanos: int64(e.Lease)}, 0)
	number := r.number
	e.AdvanceTo(500 * ms)
	r.TickLeases(e)
	require.True(t, r.OnRenewLeaseResponse(e, &msg.RenewLeaseResponse{Shard: 3, Number: r.number, Ok: true,
		LeaseNanos: 600 * ms}))
	e.AdvanceTo(900 * ms)
	r.number = number
	respond(t, e, r, 600*ms)
	require.True(t, holdsAt(e, r, 1040*ms-1))
	require.False(t, holdsAt(e, r, 1040*ms))
}
