package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestOutcomeHasTheResults: what an enquiry by id tells of a transaction are
// the results that its client got, those of ranges over several shards
// included.
func TestOutcomeHasTheResults(t *testing.T) {
	t.Parallel()
	for _, order := range []txn.Order{txn.HotLast, txn.Parallel} {
		t.Run(order.String(), func(t *testing.T) {
			c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Order: order, Listen: true, HotKeys: [][]byte{[]byte("k/3")}})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			t.Cleanup(func() {
				defer cancel()
				stop, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer done()
				require.NoError(t, c.Stop(stop))
			})
			db, other := proc.OpenOld(t, c.Addrs()[:1]), proc.OpenOld(t, c.Addrs()[1:])
			for i := range 10 {
				_, err := db.Execute(ctx, client.Put(fmt.Appendf(nil, "k/%d", i), fmt.Append(nil, i)))
				require.NoError(t, err)
			}
			out, err := db.Execute(ctx, client.Get([]byte("k/1")), client.ScanRange([]byte("k/"), []byte("k0"), 0),
				client.Get([]byte("k/8")), client.DeleteRange([]byte("k/2"), []byte("k/6")), client.AddGet([]byte("n"), 3))
			require.NoError(t, err)
			require.Len(t, out.Results[1].Pairs, 10)
			require.EqualValues(t, 4, out.Results[3].Count)

			committed, results, err := other.Outcome(ctx, out.ID)
			require.NoError(t, err)
			require.True(t, committed)
			for i, name := range []string{"get", "scan", "get", "delete-range", "add-get"} {
				require.Equal(t, name, results[i].Operation) // whose answer does not say so: who has sent it knows
				results[i].Operation = ""
			}
			require.Equal(t, out.Results, results)

			// What never ran is closed for good, by the question.
			id := kv.TxnID{Time: time.Now().UnixNano(), Rand: 7}
			committed, _, err = other.Outcome(ctx, id)
			require.NoError(t, err)
			require.False(t, committed)
		})
	}
}
