package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/client"
)

// deletedKeys is how many keys were deleted in front of what a range is read for.
const deletedKeys = 300_000

// ranges are reads of ranges: over keys that were deleted, and over everything, for calls that end
// before they are answered.
func ranges() []neighbour {
	return []neighbour{
		{name: "8 clients ask for the first key behind 300,000 deleted", start: firstBehindDeleted,
			bound: "the processors, which 16 clients in closed loops share"},
		{name: "jobs of a queue of keys, 300,000 of which were taken", start: agedQueue},
		{name: "reads of absent keys after scans that were abandoned", start: abandonedScans},
	}
}

func queueKey(queue string, i int) string { return fmt.Sprintf("%s/%010d", queue, i) }

// takenQueue puts keys into a queue, and deletes all but a few.
func (n *node) takenQueue(ctx context.Context, queue string, taken, left int) error {
	const batch = 1000
	execute := func(op func(key string) client.Op, from, to int) error {
		for i := from; i < to; i += batch {
			var ops []client.Op
			for j := i; j < min(i+batch, to); j++ {
				ops = append(ops, op(queueKey(queue, j)))
			}
			if err := n.db.Execute(ctx, ops...); err != nil {
				return err
			}
		}
		return nil
	}
	put := func(key string) client.Op { return client.PutOp(key, []byte("job")) }
	if err := execute(put, 0, taken+left); err != nil {
		return err
	}
	return execute(func(key string) client.Op { return client.DeleteOp(key) }, 0, taken)
}

// together runs clients in closed loops until ctx ends.
func together(ctx context.Context, clients int, do func(ctx context.Context, client int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for c := range clients {
		g.Go(func() error {
			for ctx.Err() == nil {
				if err := do(ctx, c); err != nil && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func firstBehindDeleted(ctx context.Context, o *options, dir string) (*street, error) {
	n, err := startNode(ctx, o, dir, "node")
	if err != nil {
		return nil, err
	}
	if err := n.takenQueue(ctx, "dead", deletedKeys, 1); err != nil {
		return nil, err
	}
	return &street{clients: 8, honest: n.put, stop: n.close, beside: func(ctx context.Context) error {
		return together(ctx, 8, func(ctx context.Context, _ int) error {
			return n.db.Execute(ctx, client.ScanOp(client.Prefix("dead/"), 1))
		})
	}}, nil
}

// agedQueue has one client put jobs into a queue and take them: beside is a queue from which many were
// taken before.
func agedQueue(ctx context.Context, o *options, dir string) (*street, error) {
	n, err := startNode(ctx, o, dir, "node")
	if err != nil {
		return nil, err
	}
	if err := n.takenQueue(ctx, "aged", deletedKeys, 0); err != nil {
		return nil, err
	}
	var aged atomic.Bool
	var last atomic.Int64
	last.Store(deletedKeys)
	work := func(ctx context.Context, _ int) error {
		queue := "fresh"
		if aged.Load() {
			queue = "aged"
		}
		if err := n.db.Put(ctx, queueKey(queue, int(last.Add(1))), []byte("job")); err != nil {
			return err
		}
		return n.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			first := client.ScanOp(client.Prefix(queue+"/"), 1)
			if err := tx.Execute(ctx, first); err != nil {
				return err
			}
			if !first.Found() {
				return fmt.Errorf("the queue %s is empty", queue)
			}
			return tx.Delete(ctx, first.Value().Entries[0].Key)
		})
	}
	return &street{clients: 1, honest: work, stop: n.close, beside: func(ctx context.Context) error {
		aged.Store(true)
		defer aged.Store(false)
		<-ctx.Done()
		return nil
	}}, nil
}

// abandonedScans has honest clients read keys that no memory has, after others have begun scans of
// everything, for as long as the honest ones warm up, and have not waited for the answers.
func abandonedScans(ctx context.Context, o *options, dir string) (*street, error) {
	n, err := startNode(ctx, o, dir, "node")
	if err != nil {
		return nil, err
	}
	absent := func(ctx context.Context, _ int) error {
		_, _, err := n.db.Get(ctx, fmt.Sprintf("absent/%016x", rand.Uint64()))
		return err
	}
	return &street{clients: 8, honest: absent, stop: n.close, beside: func(ctx context.Context) error {
		other, err := client.Open(ctx, []string{n.addr}) // a connection has an order
		if err != nil {
			return err
		}
		defer other.Close()
		ctx, stop := context.WithTimeout(ctx, o.warm)
		defer stop()
		return together(ctx, 64, func(ctx context.Context, _ int) error {
			ctx, leave := context.WithTimeout(ctx, 20*time.Millisecond)
			defer leave()
			_ = other.Execute(ctx, client.ScanOp(client.Range{}, 0))
			return nil
		})
	}}, nil
}
