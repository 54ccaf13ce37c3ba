package embed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// TestStockIsSoldOnce: buyers all over a cluster take from stock that is scarce, and
// put some of it back, in transactions on several shards, one-shot and interactive.
// Their results add up to what is left, and no read ever returns less than nothing
// or more than there is room for.
func TestStockIsSoldOnce(t *testing.T) {
	const items, ceiling, buyers, rounds = 3, 20, 12, 40
	c := start(t, embed.ClusterOptions{Nodes: 3, Listen: true})
	db := connect(t, c.Addrs()...)
	var taken [items]atomic.Int64
	for i := range items {
		require.NoError(t, stock(i).Create(soon(t), db, 0, ceiling, ceiling/2))
	}
	var granted, refused, failed atomic.Int64
	b := &buyer{db: db, taken: taken[:], granted: &granted, refused: &refused, failed: &failed}
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
		left, _, err := stock(i).Get(soon(t), db)
		require.NoError(t, err)
		require.Equal(t, ceiling/2-taken[i].Load(), left, "item %d", i)
		require.True(t, left >= 0 && left <= ceiling)
	}
	require.Greater(t, granted.Load(), int64(buyers*rounds/8))
	require.NotZero(t, refused.Load())
	require.NotZero(t, failed.Load())
	t.Logf("%d moves were granted and %d refused; %d transactions failed for want of stock",
		granted.Load(), refused.Load(), failed.Load())
}

func stock(i int) client.BoundedCounter { return client.NewBoundedCounter(fmt.Sprintf("stock %d", i)) }

// buyer moves stock, and keeps the books.
type buyer struct {
	db                       *client.DB
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
		first, second := stock(i).TrySubtractOp(n), stock(j).TryAddOp(m)
		if err := b.db.Execute(soon(t), first, second); err != nil {
			return err
		}
		took(i, n, first.Value())
		took(j, -m, second.Value())
	case 1: // all or nothing, without an answer
		next := (i + 1) % items
		err := b.db.Execute(soon(t), stock(i).SubtractOp(n), stock(next).AddOp(m), client.NewCounter("sales").AddOp(1))
		if errors.Is(err, client.ErrOutOfRange) {
			b.failed.Add(1)
			return nil
		}
		if err != nil {
			return err
		}
		took(i, n, true)
		took(next, -m, true)
	case 2: // answered before it commits
		var first, second bool
		err := b.db.Update(soon(t), func(ctx context.Context, tx *client.Tx) (err error) {
			first, err = stock(i).TrySubtract(ctx, tx, n)
			if err != nil {
				return err
			}
			second, err = stock(i).TryAdd(ctx, tx, m)
			return err
		})
		if err != nil {
			return err
		}
		took(i, n, first)
		took(i, -m, second)
	default:
		var at int64
		err := b.db.View(soon(t), func(ctx context.Context, v *client.View) (err error) {
			at, _, err = stock(i).Get(ctx, v)
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
