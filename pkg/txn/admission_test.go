package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestUnknownAttemptIsAdmittedAsNew: an attempt number above 1 alone proves nothing. An id whose
// last attempt was aborted here may use slots that are reserved for retries; these are bounded,
// too.
func TestUnknownAttemptIsAdmittedAsNew(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}, MaxInFlight: 8})
	ref := func(n int, attempt uint32) kv.TxnRef {
		return kv.TxnRef{TxnID: kv.TxnID{Time: int64(n), Rand: 1}, Attempt: attempt}
	}
	begun := func(from, to int, attempt uint32) (n int) {
		for i := from; i < to; i++ {
			if g.Begin(1, ref(i, attempt), false, TxnOptions{}) == nil {
				n++
			}
		}
		return n
	}
	abort := func(n int, attempt uint32) {
		f := g.flows.find(ref(n, attempt))
		require.NotNil(t, f)
		g.flows.Abort(f, &msg.Failure{Reason: msg.ReasonWounded, Kind: uint32(kv.KindAborted)})
	}
	require.Equal(t, 4, begun(0, 100, 1), "half of the places are for interactive ones")
	require.Zero(t, begun(100, 200, 2))

	abort(0, 1)
	abort(1, 1)
	abort(2, 1)
	require.Equal(t, 3, begun(200, 300, 1), "new ones take the places")
	require.Zero(t, begun(0, 1, 1), "not a further attempt")
	require.Equal(t, 2, begun(0, 3, 2), "half as many again for those that were admitted before")
	require.Zero(t, begun(2, 3, 2))
	abort(200, 1)
	require.Equal(t, 1, begun(2, 3, 2), "it was refused, and is still known")
	for i := range 2 * 2048 {
		abort(i%3, uint32(2+i/3))
		require.Equal(t, 1, begun(i%3, i%3+1, uint32(3+i/3)))
	}
}
