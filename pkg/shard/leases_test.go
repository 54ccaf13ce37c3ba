package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestRestartedShardWaitsForTheRestOfLeases: until the last lease ends if that is known, else for a whole
// lease, and not at all if there are none. An incarnation that waits passes on its wait.
func TestRestartedShardWaitsForTheRestOfLeases(t *testing.T) {
	const lease = 2 * time.Second
	reader := kv.TxnRef{TxnID: kv.TxnID{Time: 12, Rand: 12}, Attempt: 1}
	f := newStepsWith(t, 1, func(c *shard.Config) { c.Lease, c.Gateway = lease, 7 })
	gateway := kv.NodeID(1)
	read := func() {
		e := msg.ToShard(0)
		e.Body = &msg.Read{Reader: reader, Gateway: gateway, Number: 1, Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}},
			LeaseNanos: int64(lease)}
		f.send(e)
	}
	leave := func() {
		e := msg.ToShard(0)
		e.Body = &msg.Deregister{Reader: reader}
		f.send(e)
	}
	until := func() time.Duration { return time.Duration(f.shards[0].M.LeaseHorizon()) }
	// crash ends the incarnation, and begins the next one a time later, which knows what
	// LeasesUntil was.
	crash := func(later time.Duration, known bool) {
		leases := shard.Leases{Known: known, Until: f.shards[0].M.LeaseHorizon()}
		f.now += int64(later)
		f.restartWith(0, func(rec *shard.Recovered) { rec.Leases = leases })
	}
	waits := func(left time.Duration) {
		t.Helper()
		require.Equal(t, left, max(until()-time.Duration(f.now), 0))
	}

	f.now = int64(time.Hour)
	waits(0)
	crash(time.Millisecond, true)
	waits(0)
	crash(time.Millisecond, false)
	waits(lease)
	crash(500*time.Millisecond, true)
	waits(1500 * time.Millisecond) // for the readers of two incarnations ago
	crash(500*time.Millisecond, true)
	waits(time.Second)
	f.tick(time.Duration(f.now) + time.Minute)
	read()
	waits(lease)
	f.tick(time.Duration(f.now) + 600*time.Millisecond)
	e := msg.ToShard(0)
	e.Body = &msg.RenewLease{Reader: reader, Gateway: 1, Number: 1, Incarnation: f.shards[0].M.Incarnation(),
		LeaseNanos: int64(lease)}
	f.send(e)
	waits(lease)
	crash(1200*time.Millisecond, true)
	waits(800 * time.Millisecond)
	read()
	waits(lease)
	leave()
	waits(800 * time.Millisecond)
	crash(time.Second, true)
	waits(0)
	read()
	waits(lease)
	leave()
	gateway = 7
	read()
	waits(0) // its reader ends with the shard's process
	crash(time.Minute, false)
	waits(lease)
	require.Empty(t, f.shards[0].M.Shutdown(), "the wait has not ended")
}
