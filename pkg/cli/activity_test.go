package cli_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
)

// contended is what a node knows of a wait of an add for a put.
func contended() server.Activity {
	wait := msg.Receipt{WaitedNanos: 12e6, Key: []byte("visits"), Cause: msg.CauseLock, Mode: uint64(adt.ModeWrite), Methods: uint64(adt.MethodAddGet.Set()),
		Holder: kv.TxnRef{TxnID: kv.TxnID{Time: 5, Rand: 6}, Attempt: 1}, HolderMode: uint64(adt.ModeWrite), HolderMethods: uint64(adt.MethodPut.Set()), Others: 2}
	id := kv.TxnID{Time: 7, Rand: 8}
	return server.Activity{
		Receipts: []activity.Receipt{{At: 2e9, Ended: activity.Ended{ID: id, Kind: metrics.OneShot, Took: 13 * time.Millisecond, Wait: &wait}},
			{At: 1e9, Ended: activity.Ended{ID: id, Kind: metrics.Interactive, Outcome: kv.KindAborted, Wait: &msg.Receipt{}, Lost: 3, Reason: msg.ReasonWounded,
				By: &msg.Receipt{Cause: msg.CauseWound, Key: []byte("other\n")}}}},
		Waits: []server.Wait{{Shard: 4, Txn: id, Receipt: wait, User: "alice", HolderUser: "bob"}},
	}
}

func TestReceipts(t *testing.T) {
	n := start(t)
	require.Equal(t, "TIME  NODE  WAITED  KEY  OUTCOME  WHY\n", n.run(t, "receipts").ok(t))
	n.SetActivity(contended())
	out := n.run(t, "receipts").ok(t)
	require.Contains(t, out, "1970-01-01T00:00:02.000Z  n1    12ms    visits     OK       Waited 12 ms for key \"visits\": the add that returns the sum conflicts with")
	require.Contains(t, out, `"other\n"  Aborted  3 attempts were aborted`)
	o := objects(t, n.run(t, "receipts", "-o", "json", "--limit", "1").ok(t))
	require.Len(t, o, 1)
	require.Equal(t, "one_shot", o[0]["kind"])
	require.Equal(t, "visits", o[0]["waited"].(map[string]any)["key"])
	n.run(t, "receipts", "--limit", "0").fails(t, cli.ExitUsage, "want 1 to 256")
}

func TestWaits(t *testing.T) {
	n := start(t)
	n.SetActivity(contended())
	out := n.run(t, "waits").ok(t)
	require.Contains(t, out, "alice  12ms   s4     visits  counter.add-get  "+kv.TxnID{Time: 5, Rand: 6}.String()+" and 2 more  bob      value.put")
	o := objects(t, n.run(t, "waits", "-o", "json").ok(t))
	require.Equal(t, "lock", o[0]["cause"])
	require.EqualValues(t, 12000, o[0]["waited_us"])
	require.Equal(t, "value.put", o[0]["holder_operations"])
	require.Equal(t, []any{"alice", "bob"}, []any{o[0]["user"], o[0]["holder_user"]})
	n.run(t, "waits", "end", "x").fails(t, cli.ExitUsage, "is not a transaction's id")
}
