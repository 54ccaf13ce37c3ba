package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// TestListsFitIntoDefaultReceiveLimit: with the longest keys, lists about a node and the cluster are shorter.
func TestListsFitIntoDefaultReceiveLimit(t *testing.T) {
	key := make([]byte, kv.MaxKeyBytes)
	hot := &pb.HotKeysResponse{Rules: make([]pb.HotRule, 1000), Keys: make([]pb.HotKey, maxHotKeys),
		Moves: make([]pb.HotMove, 64)}
	for i := range hot.Rules {
		hot.Rules[i] = pb.HotRule{Key: key, Prefix: true, Policy: pb.HotPolicy_HOT_BAN}
	}
	for i := range hot.Keys {
		hot.Keys[i].Key = key
	}
	for i := range hot.Moves {
		hot.Moves[i].Key = key
	}
	fitHotKeys(hot)
	require.Len(t, hot.Rules, 1000)
	require.LessOrEqual(t, hot.Size(), kv.DefaultMaxResponseBytes)

	act := &pb.ActivityResponse{Waits: make([]pb.CurrentWait, maxWaits), Receipts: make([]pb.RecentReceipt, maxReceipts),
		Conflicts: make([]pb.KeyConflict, maxConflicts)}
	for i := range act.Waits {
		act.Waits[i].Wait = &pb.Conflict{Key: key}
	}
	for i := range act.Receipts {
		act.Receipts[i].Receipt = &pb.Receipt{Wait: &pb.Conflict{Key: key}, Abort: &pb.Conflict{Key: key}}
	}
	for i := range act.Conflicts {
		act.Conflicts[i].Key = key
	}
	whole := act.Size()
	fitActivity(act)
	require.Greater(t, whole, kv.DefaultMaxResponseBytes)
	require.LessOrEqual(t, act.Size(), kv.DefaultMaxResponseBytes)
	require.Len(t, act.Waits, maxWaits)
	require.NotEmpty(t, act.Receipts)

	snaps := &pb.ListSnapshotsResponse{Snapshots: make([]pb.Snapshot, 1000)}
	for i := range snaps.Snapshots {
		snaps.Snapshots[i] = pb.Snapshot{Name: "name", CausalityToken: make([]byte, 8<<10)}
	}
	fitSnapshots(snaps)
	require.Len(t, snaps.Snapshots, 1000)
	require.LessOrEqual(t, snaps.Size(), kv.DefaultMaxResponseBytes)
}
