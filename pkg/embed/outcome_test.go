package embed_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestQueryOfIDOfTheFarFutureIsRejected: no transaction can have it, and every shard would
// have to remember that none ever will, until then. It is refused, as are transactions with
// such ids.
func TestQueryOfIDOfTheFarFutureIsRejected(t *testing.T) {
	c := start(t, embed.ClusterOptions{})
	gw := c.Node(1).Gateway()
	ask := func(ahead time.Duration) error {
		_, err := gw.Outcome(soon(t), kv.TxnID{Time: time.Now().Add(ahead).UnixNano(), Rand: 7}, 0)
		return err
	}
	require.NoError(t, ask(0))
	require.NoError(t, ask(9*time.Minute))
	err := ask(11 * time.Minute)
	require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "time in the transaction id")
}

// TestQueryWithDeadlineInCenturies: it is one without a deadline.
func TestQueryWithDeadlineInCenturies(t *testing.T) {
	c := start(t, embed.ClusterOptions{})
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(math.MaxInt64))
	defer cancel()
	_, err := c.Node(1).Gateway().Outcome(ctx, kv.TxnID{Time: time.Now().UnixNano(), Rand: 7}, 0)
	require.NoError(t, err)
}

// TestQueriesAreBoundedPerUser: a user that queries the outcomes of ids that were never sent
// is rejected at the bound, with the reason. Other users are not.
func TestQueriesAreBoundedPerUser(t *testing.T) {
	c := start(t, embed.ClusterOptions{Nodes: 1, Shards: 1, NoSync: true})
	g := c.Node(1).Gateway()
	now := time.Now().UnixNano()
	ask := func(user kv.Account, n int) (err error) {
		_, err = g.Outcome(soon(t), kv.TxnID{Time: now, Rand: uint64(n)}, user)
		return err
	}
	var all sync.WaitGroup
	const callers = 64
	for caller := range callers {
		all.Go(func() {
			for n := caller; n < kv.MaxFences; n += callers {
				if err := ask(1, n); err != nil {
					t.Errorf("enquiry %d: %v", n, err)
					return
				}
			}
		})
	}
	all.Wait()
	err := ask(1, kv.MaxFences)
	require.Equal(t, kv.KindResourceExhausted, kv.KindOf(err))
	require.ErrorContains(t, err, "the outcomes of 16384 other transactions that had not committed")
	require.NoError(t, ask(1, 5), "it is closed already")
	require.NoError(t, ask(2, kv.MaxFences))
}
