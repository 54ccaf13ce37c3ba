package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// incarnations runs a shard, with crashes, on one log.
type incarnations struct {
	t   *testing.T
	log *memstore.Store
	m   *Machine
}

// begin starts an incarnation at a time, with a lease, and returns for how long it waits for readers.
func (l *incarnations) begin(at, lease time.Duration) time.Duration {
	var rec Recovered
	require.NoError(l.t, l.log.Recover(0, rec.Add))
	var out Output
	l.m, out = New(Config{Lease: lease}, rec, int64(at), 0)
	l.write(out.Entries)
	return max(0, time.Duration(l.m.queue.SealFrom())-at)
}

func (l *incarnations) step(at time.Duration) { l.write(l.m.Step(Input{Now: int64(at)}).Entries) }

func (l *incarnations) write(entries []entry.Entry) {
	if len(entries) == 0 {
		return
	}
	var at engine.Position
	at, err := l.log.Append([]entry.Group{{Entries: entries}})
	require.NoError(l.t, err)
	l.log.SyncTo(at)
}

// TestNewIncarnationWaitsForLongestEarlierLease: a server that is restarted with a shorter lease waits for
// readers with the longer one, also at its second start, and no longer than that.
func TestNewIncarnationWaitsForLongestEarlierLease(t *testing.T) {
	l := &incarnations{t: t, log: memstore.New()}
	require.Zero(t, l.begin(0, 10*time.Second), "the first incarnation")
	require.Equal(t, 10*time.Second, l.begin(time.Second, 2*time.Second))
	l.step(2 * time.Second)
	require.Equal(t, 10*time.Second, l.begin(3*time.Second, 2*time.Second),
		"readers of the first incarnation may be registered")
	l.step(14 * time.Second)
	require.Equal(t, 2*time.Second, l.begin(15*time.Second, 20*time.Second), "their leases have ended")
	require.Equal(t, 20*time.Second, l.begin(16*time.Second, -1), "this incarnation registers no reader, the last one did")
	l.step(40 * time.Second)
	require.Zero(t, l.begin(41*time.Second, 2*time.Second))
}

// TestCleanShutdownWithinALeaseKeepsIt: while leases of the previous incarnation have not expired, a clean
// shutdown does not record that there are no readers. Once they have, it does.
func TestCleanShutdownWithinALeaseKeepsIt(t *testing.T) {
	const lease = 2 * time.Second
	l := &incarnations{t: t, log: memstore.New()}
	l.begin(0, lease)
	require.Equal(t, lease, l.begin(time.Second, lease), "a crash leaves the leases of its readers")
	l.step(3*time.Second - 1)
	require.Empty(t, l.m.Shutdown())
	require.Equal(t, lease, l.begin(3*time.Second-1, lease),
		"the readers of the first incarnation may still be registered")
	l.step(5*time.Second - 1)
	rest := l.m.Shutdown()
	require.NotEmpty(t, rest)
	l.write(rest)
	require.Zero(t, l.begin(5*time.Second, lease))
}

// TestOlderRowHasDefaultOrConfiguredLease, whichever is longer, since it does not contain the lease.
func TestOlderRowHasDefaultOrConfiguredLease(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{time.Second: 2 * time.Second,
		5 * time.Second: 5 * time.Second, -1: 2 * time.Second} {
		rec := Recovered{State: entry.State{Incarnation: 1}}
		m, _ := New(Config{Lease: lease}, rec, 0, 0)
		require.EqualValues(t, want, m.queue.SealFrom())
	}
}
