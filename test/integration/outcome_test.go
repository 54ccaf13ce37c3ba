package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestOutcomeReturnsResults: an outcome query by id returns the results that the client received, including
// those of ranges over several shards.
func TestOutcomeReturnsResults(t *testing.T) {
	t.Parallel()
	for _, order := range []txn.Order{txn.HotLast, txn.Parallel} {
		t.Run(order.String(), func(t *testing.T) {
			c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Protocol: embed.Protocol{Order: order},
				Listen: true, HotKeys: [][]byte{[]byte("k/3")}})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			t.Cleanup(func() {
				defer cancel()
				stop, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer done()
				require.NoError(t, c.Stop(stop))
			})
			db, other := proc.Open(t, c.Addrs()[:1]), proc.Open(t, c.Addrs()[1:])
			for i := range 10 {
				require.NoError(t, db.Put(ctx, fmt.Sprintf("k/%d", i), fmt.Append(nil, i)))
			}
			one, all, eight := client.GetOp("k/1"), client.ScanOp(client.Prefix("k/"), 0), client.GetOp("k/8")
			deleted, sum := client.DeleteRangeOp(client.Range{Start: "k/2", End: "k/6"}), client.NewCounter("n").AddGetOp(3)
			results := func() []any {
				return []any{one.Value(), one.Found(), all.Value(), eight.Value(), eight.Found(), deleted.Value(), sum.Value()}
			}
			var report client.Report
			require.NoError(t, db.With(client.ReportTo(&report)).Execute(ctx, one, all, eight, deleted, sum))
			require.Len(t, all.Value().Entries, 10)
			require.Equal(t, 4, deleted.Value())
			require.EqualValues(t, 3, sum.Value())
			want := results()

			outcome, err := other.Outcome(ctx, report.TxID, one, all, eight, deleted, sum)
			require.NoError(t, err)
			require.Equal(t, client.Committed, outcome)
			require.Equal(t, want, results())
			named, err := admin.New(other).Outcome(ctx, report.TxID)
			require.NoError(t, err)
			for i, name := range []string{"get", "scan", "get", "delete-range", "add-get"} {
				require.Equal(t, name, named.Results[i].Operation)
			}

			// The query of an id that never ran aborts it: it cannot commit later.
			outcome, err = other.Outcome(ctx, txID(t, kv.TxnID{Time: time.Now().UnixNano(), Rand: 7}))
			require.NoError(t, err)
			require.Equal(t, client.NotApplied, outcome)
		})
	}
}
