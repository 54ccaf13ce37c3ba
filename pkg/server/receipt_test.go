package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestShortWaitsForSnapshotsAreNotReported: a wait for a lock is reported from 1 µs, one for a snapshot round
// from 1 ms, and without advice.
func TestShortWaitsForSnapshotsAreNotReported(t *testing.T) {
	for _, c := range []struct {
		cause  msg.Cause
		waited time.Duration
		want   bool
	}{
		{msg.CauseLock, 999 * time.Nanosecond, false},
		{msg.CauseLock, time.Microsecond, true},
		{msg.CauseSnapshot, 999 * time.Microsecond, false},
		{msg.CauseSnapshot, time.Millisecond, true},
	} {
		r := receipt(&txn.Contention{Receipt: msg.Receipt{WaitedNanos: int64(c.waited), Cause: c.cause, Key: []byte("k")}})
		require.Equal(t, c.want, r != nil, "%v of %v", c.waited, c.cause)
	}
	short := msg.Receipt{WaitedNanos: 1000, Cause: msg.CauseSnapshot}
	r := receipt(&txn.Contention{Receipt: short, Ended: txn.Ended{Count: 1}})
	require.Equal(t, &pb.Receipt{Aborted: 1, Reason: r.Reason}, r, "the aborted attempt alone")

	r = worded(receipt(&txn.Contention{Receipt: msg.Receipt{WaitedNanos: 2e6, Cause: msg.CauseSnapshot,
		Key: []byte("k")}}))
	require.Equal(t, `Waited 2 ms for key "k": the operation is blocked by a snapshot of all shards: `+
		`of the history (--history-every), for a scan or for a View.`, r.Sentence)
}
