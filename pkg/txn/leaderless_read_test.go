package txn

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestSnapshotsAreReadWithoutLeader: by one-shots, views and scans, which look the snapshot up and read it at replicas.
// If none answers for 10 s, they fail as reads of the present do at once.
func TestSnapshotsAreReadWithoutLeader(t *testing.T) {
	ops := []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}
	for name, start := range map[string]func(g *Gateway, now int64, how TxnOptions){
		"one-shot": func(g *Gateway, now int64, how TxnOptions) {
			g.Execute(now, 1, kv.TxnID{Time: 1, Rand: 1}, ops, math.MaxInt64/2, how)
		},
		"view": func(g *Gateway, now int64, how TxnOptions) {
			ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 1}, Attempt: 1}
			require.Nil(t, g.Begin(now, ref, true, how))
			g.Do(now, 1, ref, ops, math.MaxInt64/2)
		},
		"scan": func(g *Gateway, now int64, how TxnOptions) {
			g.Scan(now, 1, kv.TxnID{Time: 1, Rand: 1}, kv.Range(nil, nil), false, math.MaxInt64/2, how)
		},
	} {
		t.Run(name, func(t *testing.T) {
			router, err := hotshard.NewRouter(2, 1, nil)
			require.NoError(t, err)
			now := int64(1)
			for _, at := range []SnapshotRef{{}, {Number: 7}} {
				g := NewGateway(Config{Node: 1, Router: router, Reads: SnapshotReads, Replicated: true})
				g.SetDown(now, kv.NoLeader, true, 0, 1, 2)
				start(g, now, TxnOptions{At: at})
				out := g.Flush()
				if at.IsZero() {
					require.Len(t, out.Done, 1)
					require.Equal(t, kv.NoLeader, out.Done[0].Failure.Down)
					continue
				}
				require.Empty(t, out.Done)
				require.Len(t, out.Send, 1)
				found := msg.ToGateway(1)
				found.Body = &msg.SnapshotResponse{Request: msg.As[msg.FindSnapshot](out.Send[0]).Request,
					Snapshots: []msg.Snapshot{{Number: 7}}}
				g.Deliver(now, found)
				done := g.Flush().Done
				for until := now + int64(9*time.Second); now < until; now += int64(50 * time.Millisecond) {
					g.Tick(now)
				}
				out = g.Flush()
				if len(done) > 0 { // the scan is open, and its pages are requested
					require.Nil(t, done[0].Failure)
					return
				}
				require.Empty(t, out.Done)
				require.NotEmpty(t, out.Send, "it is read")
				now += int64(2 * time.Second)
				g.Tick(now)
				out = g.Flush()
				require.Len(t, out.Done, 1)
				require.Equal(t, kv.NoLeader, out.Done[0].Failure.Down)
			}
		})
	}
}
