package txn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestFailureAfterConcurrentCommitIsUnknown: another commit of the same id was undecided, and this
// one was refused. Whatever fails afterwards, the other commit may still succeed, so the client
// receives "unknown".
func TestFailureAfterConcurrentCommitIsUnknown(t *testing.T) {
	concurrent := &msg.Failure{Reason: msg.ReasonConcurrentCommit, Kind: uint32(kv.KindAborted)}
	condition := &msg.Failure{Reason: msg.ReasonRequest, Kind: uint32(kv.KindConditionFailed)}
	committed := &msg.Failure{Reason: msg.ReasonCommitted, Kind: uint32(kv.KindOutcomeUnknown)}
	for name, tc := range map[string]struct {
		then      *msg.Failure
		committed bool
		kind      kv.Kind
	}{
		"another failure": {then: condition, kind: kv.KindOutcomeUnknown},
		"its deadline":    {then: concurrent, kind: kv.KindOutcomeUnknown},
		"its commit":      {then: committed, committed: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGateway(Config{Node: 1, Router: oneHome{}, MaxInFlight: 8,
				Repeat: time.Second, Liveness: time.Second, MaxAge: time.Minute})
			end := time.Second.Nanoseconds()
			g.Execute(0, 1, kv.TxnID{Time: 1}, []msg.Op{{Kind: msg.OpPut, Key: []byte("k")}}, end, TxnOptions{})
			failure, now := concurrent, int64(0)
			for attempts := 0; now <= 2*end; now += time.Millisecond.Nanoseconds() {
				out := g.Flush()
				for _, d := range out.Done {
					require.Equal(t, tc.committed, d.Committed)
					if !tc.committed {
						require.Equal(t, tc.kind, kv.Kind(d.Failure.Kind), d.Failure.Text)
					}
					require.Greater(t, attempts, 1)
					return
				}
				for _, env := range out.Send {
					r := &msg.CommitResponse{Shard: env.Shard, Incarnation: 1, Failure: failure}
					if q := msg.As[msg.CommitRequest](env); q != nil {
						r.Txn, r.CommitID, failure = q.Txn, q.CommitID, tc.then
						attempts++
					} else {
						q := msg.As[msg.CancelRequest](env)
						r.Txn, r.CommitID = q.Txn, q.CommitID
					}
					response := msg.ToGateway(1)
					response.Body = r
					g.Deliver(now, response)
				}
				g.Tick(now)
			}
			t.Fatal("the client has no response")
		})
	}
}

// TestRetryPausesDifferBetweenGateways: two gateways that were sent the same id would otherwise
// collide at every attempt.
func TestRetryPausesDifferBetweenGateways(t *testing.T) {
	alike := 0
	for i := range uint64(1000) {
		id := kv.TxnID{Time: 1, Rand: i}
		for n := uint32(5); n < 15; n++ {
			pa, pb := retryPause(n, id, 1), retryPause(n, id, 2)
			require.GreaterOrEqual(t, pa, int64(2*time.Millisecond))
			require.LessOrEqual(t, pa, int64(96*time.Millisecond))
			if max(pa-pb, pb-pa) < int64(20*time.Microsecond) {
				alike++
			}
		}
	}
	require.Less(t, alike, 500, "of 10,000")
}
