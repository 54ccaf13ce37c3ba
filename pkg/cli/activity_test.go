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
	"github.com/linchpindb/linchpin/pkg/txn"
)

// contended is what a node knows of a wait of an add for a put.
func contended() server.Activity {
	wait := msg.Receipt{WaitedNanos: 12e6, Key: []byte("visits"), Cause: msg.CauseLock, Mode: uint64(adt.ModeWrite),
		Methods: uint64(adt.MethodAddGet.Set()),
		Holder:  kv.TxnRef{TxnID: kv.TxnID{Time: 5, Rand: 6}, Attempt: 1}, HolderMode: uint64(adt.ModeWrite),
		HolderMethods: uint64(adt.MethodPut.Set()), Others: 2}
	id := kv.TxnID{Time: 7, Rand: 8}
	return server.Activity{
		Receipts: []activity.Ended{{At: 2e9, ID: id, Kind: metrics.OneShot,
			Took: 13 * time.Millisecond, Contention: &txn.Contention{Receipt: wait}},
			{At: 1e9, ID: id, Kind: metrics.Interactive, Outcome: kv.KindAborted, Contention: &txn.Contention{
				Ended: txn.Ended{Count: 3, Reason: msg.ReasonWounded,
					By: &msg.Receipt{Cause: msg.CauseWound, Key: []byte("other\n")}}}}},
		Waits: []server.Wait{{Shard: 4, Txn: id, Receipt: wait, User: "alice", HolderUser: "bob"}},
	}
}

func TestReceipts(t *testing.T) {
	n := start(t)
	require.Equal(t, ran{0, "", "no transaction has waited\n"}, n.run(t, "receipts"))
	require.Empty(t, n.run(t, "receipts", "-o", "json").ok(t))
	n.SetActivity(contended())
	out := n.run(t, "receipts").ok(t)
	require.Equal(t, "TIME                      NODE  WAITED  KEY        CAUSE  OUTCOME\n"+
		"1970-01-01T00:00:02.000Z  n1    12 ms   visits     lock   committed\n"+
		"1970-01-01T00:00:01.000Z  n1    0 µs    \"other\\n\"  wound  aborted\n", out)
	out = n.run(t, "receipts", "--wide").ok(t)
	require.Contains(t, out, "lock   committed  00000000000000070000000000000008  Waited 12 ms for key")
	require.Contains(t, out, "wound  aborted    00000000000000070000000000000008  ")
	o := objects(t, n.run(t, "receipts", "-o", "json", "--limit", "1").ok(t))
	require.Len(t, o, 1)
	require.Equal(t, "one_shot", o[0]["kind"])
	require.Equal(t, "visits", o[0]["waited"].(map[string]any)["key"])
	n.run(t, "receipts", "--limit", "0").fails(t, cli.ExitUsage, "want 1 to 256")
}

// TestAnOwnRollbackIsNotAnError of the transaction.
func TestAnOwnRollbackIsNotAnError(t *testing.T) {
	n := start(t)
	a := contended()
	a.Receipts[0].Outcome = kv.KindCancelled
	n.SetActivity(a)
	require.Contains(t, n.run(t, "receipts").ok(t), "  lock   rolled back\n")
}

func TestWaits(t *testing.T) {
	n := start(t)
	require.Equal(t, ran{0, "", "no transaction waits\n"}, n.run(t, "waits"))
	n.SetActivity(contended())
	ids := kv.TxnID{Time: 7, Rand: 8}.String() + "  " + kv.TxnID{Time: 5, Rand: 6}.String() + " and 2 more"
	require.Contains(t, n.run(t, "waits").ok(t), "12 ms   s4     visits  "+ids+"\n")
	require.Contains(t, n.run(t, "waits", "--wide").ok(t),
		"12 ms   s4     visits  "+ids+"  alice  counter.add-get  bob          value.put\n")
	o := objects(t, n.run(t, "waits", "-o", "json").ok(t))
	require.Equal(t, "lock", o[0]["cause"])
	require.EqualValues(t, 12000, o[0]["waited_us"])
	require.Equal(t, "value.put", o[0]["holder_operations"])
	require.Equal(t, []any{"alice", "bob"}, []any{o[0]["user"], o[0]["holder_user"]})
	n.run(t, "waits", "end", "x").fails(t, cli.ExitUsage, "is not the id of a transaction")
}
