package embed

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// alone starts a node, and opens a client of it that does not retry.
func alone(t *testing.T, opt Options) (*Instance, *client.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	opt.Dir, opt.Listen, opt.Shards = t.TempDir(), "127.0.0.1:0", 1
	i, err := Start(ctx, opt)
	require.NoError(t, err)
	db, err := client.Open(ctx, []string{i.Addr()})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.NoError(t, i.Stop())
	})
	return i, db.With(client.NoRetry())
}

// TestReceiptsAreCollected, with their keys unless those are secret.
func TestReceiptsAreCollected(t *testing.T) {
	i, _ := alone(t, Options{})
	i.Node().Journal().Ended(&activity.Ended{ID: kv.TxnID{Time: 1, Rand: 2}, Took: time.Second, Attempts: 2,
		Contention: &txn.Contention{Receipt: msg.Receipt{WaitedNanos: 5e6, Key: []byte("private"), Cause: msg.CauseLock},
			Ended: txn.Ended{Count: 1, Reason: msg.ReasonWounded,
				By: &msg.Receipt{Key: []byte("privatetoo"), Cause: msg.CauseWound}}}})
	collect := func(o server.DebugOptions) (text string) {
		require.NoError(t, i.Debug(t.Context(), o, func(name string, data []byte, err error) error {
			if name == "receipts.json" {
				require.NoError(t, err)
				text = string(data)
			}
			return nil
		}))
		return text
	}
	plain := collect(server.DebugOptions{})
	for _, want := range []string{`"\"private\""`, `"\"privatetoo\""`, `"waited": "5ms"`, `"reason": "wounded"`,
		`"attempts": 2`,
		kv.TxnID{Time: 1, Rand: 2}.String()} {
		require.Contains(t, strings.ReplaceAll(plain, `\"`, `"`), strings.ReplaceAll(want, `\"`, `"`))
	}
	redacted := collect(server.DebugOptions{RedactKeys: true, Salt: []byte("salt")})
	require.NotContains(t, redacted, "private")
	require.Equal(t, 2, strings.Count(redacted, `"key": "key:`))
}

// TestHealthFailsBeforeAnythingIsRefused: for DrainWait the node is not ready, and does
// what it is asked.
func TestHealthFailsBeforeAnythingIsRefused(t *testing.T) {
	const wait = 500 * time.Millisecond
	i, db := alone(t, Options{DrainWait: wait})
	require.NoError(t, i.ready())
	var served, refused int
	require.NoError(t, i.Drain(t.Context(), 0, func(p *pb.DrainProgress) error {
		require.Error(t, i.ready())
		err := db.Put(t.Context(), "k", nil)
		now := i.drain.progress()
		switch {
		case now.Phase == server.DrainRefusing:
			require.NoError(t, err)
			served++
		case p.Phase != server.DrainRefusing:
			require.GreaterOrEqual(t, now.ElapsedMs, uint64(wait.Milliseconds()))
			require.Equal(t, kv.KindUnavailable, kv.KindOf(err), "%v", err)
			refused++
		}
		return nil
	}))
	require.Positive(t, served)
	require.Positive(t, refused)
}
