package embed_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// TestStockIsSoldOnce: buyers all over a cluster take from stock that is scarce, and
// put some of it back, in transactions on several shards, one-shot and interactive.
// What they were told adds up to what is left, and nobody ever sees less than nothing
// or more than there is room for.
func TestStockIsSoldOnce(t *testing.T) {
	const items, ceiling, buyers, rounds = 3, 20, 12, 40
	c := start(t, embed.ClusterOptions{Nodes: 3, Listen: true})
	db, err := client.Open(t.Context(), c.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	key := func(i int) []byte { return fmt.Appendf(nil, "stock %d", i) }
	call := func(i int, method string, args ...any) client.Op {
		return client.Call(key(i), "bounded-counter", method, args...)
	}
	var taken [items]atomic.Int64
	for i := range items {
		_, err := db.Execute(soon(t), call(i, "create", 0, ceiling, ceiling/2))
		require.NoError(t, err)
	}
	var granted, refused, failed atomic.Int64
	b := &buyer{db: db, call: call, taken: taken[:], granted: &granted, refused: &refused, failed: &failed}
	var all sync.WaitGroup
	for n := range buyers {
		all.Go(func() {
			draw := rand.New(rand.NewPCG(uint64(n), 1))
			for range rounds {
				if err := b.buy(t, draw, items); err != nil {
					t.Errorf("buyer %d: %v", n, err)
					return
				}
			}
		})
	}
	all.Wait()
	for i := range items {
		out, err := db.Execute(soon(t), call(i, "get"))
		require.NoError(t, err)
		left := out.Results[0].Answer[0].Int()
		require.Equal(t, ceiling/2-taken[i].Load(), left, "item %d", i)
		require.True(t, left >= 0 && left <= ceiling)
	}
	require.Greater(t, granted.Load(), int64(buyers*rounds/8))
	require.NotZero(t, refused.Load())
	require.NotZero(t, failed.Load())
	t.Logf("%d moves were granted and %d refused; %d transactions failed for want of stock", granted.Load(), refused.Load(), failed.Load())
}

// buyer moves stock, and keeps the books.
type buyer struct {
	db                       *client.DB
	call                     func(i int, method string, args ...any) client.Op
	taken                    []atomic.Int64
	granted, refused, failed *atomic.Int64
}

// buy is one transaction of a random kind.
func (b *buyer) buy(t *testing.T, draw *rand.Rand, items int) error {
	i, j := draw.IntN(items), draw.IntN(items)
	n, m := int64(1+draw.IntN(4)), int64(1+draw.IntN(4))
	took := func(i int, n int64, yes bool) {
		if yes {
			b.taken[i].Add(n)
			b.granted.Add(1)
		} else {
			b.refused.Add(1)
		}
	}
	switch draw.IntN(4) {
	case 0: // two items, each if there is any
		out, err := b.db.Execute(soon(t), b.call(i, "try-subtract", n), b.call(j, "try-add", m))
		if err != nil {
			return err
		}
		took(i, n, out.Results[0].Answer[0].Bool())
		took(j, -m, out.Results[1].Answer[0].Bool())
	case 1: // all or nothing, without an answer
		_, err := b.db.Execute(soon(t), b.call(i, "subtract", n), b.call((i+1)%items, "add", m), client.Add([]byte("sales"), 1))
		if errors.Is(err, &kv.Error{Kind: kv.KindOutOfRange}) {
			b.failed.Add(1)
			return nil
		}
		if err != nil {
			return err
		}
		took(i, n, true)
		took((i+1)%items, -m, true)
	case 2: // answered before it commits
		var first, second bool
		err := b.db.Update(soon(t), func(tx *client.Tx) error {
			r, err := tx.Do(b.call(i, "try-subtract", n))
			if err != nil {
				return err
			}
			first = r[0].Answer[0].Bool()
			r, err = tx.Do(b.call(i, "try-add", m))
			if err != nil {
				return err
			}
			second = r[0].Answer[0].Bool()
			return nil
		})
		if err != nil {
			return err
		}
		took(i, n, first)
		took(i, -m, second)
	default:
		var at int64
		err := b.db.View(soon(t), func(tx *client.ReadTx) error {
			r, err := tx.Do(b.call(i, "get"))
			if err == nil {
				at = r[0].Answer[0].Int()
			}
			return err
		})
		if err != nil {
			return err
		}
		if at < 0 || at > 20 {
			return fmt.Errorf("there are %d", at)
		}
	}
	return nil
}
