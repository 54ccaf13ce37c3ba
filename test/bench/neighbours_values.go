package main

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/client"
)

// largeValues are lists and sets on which many operations are executed: to execute one
// takes as long as the value is large.
func largeValues() []neighbour {
	const row, many, batch, members = 100, 500, 100, 100_000
	line := make([]byte, row)
	list, set := client.NewList(valueKey, client.Bytes), client.NewSet(valueKey, client.String)
	sorted := client.NewSortedSet(valueKey, client.String)
	lines := slices.Repeat([][]byte{line}, many)
	rows := func(int) []client.Op { return []client.Op{list.AppendOp(lines...)} }
	batches := func(add func(i int) client.Op) func(at int) []client.Op {
		return func(at int) (ops []client.Op) {
			for i := range batch {
				ops = append(ops, add(at*batch+i))
			}
			return ops
		}
	}
	added := batches(func(i int) client.Op { return set.AddOp(member(i)) })
	scored := batches(func(i int) client.Op { return sorted.AddOp(member(i), float64(i)) })
	appended := func(_, n int) client.Op {
		if n%100 == 99 { // a list has at most 8 MiB
			return list.TrimOp(-(7<<20)/row, -1)
		}
		return list.AppendOp(line)
	}
	const small, large = 60_000 / many, 7 << 20 / row / many
	return []neighbour{
		onValue("appends to a list of 60,000 x 100 bytes", rows, small, appended),
		onValue("appends to a list of 7 MiB", rows, large, appended),
		onValue("reads of the end of a list of 7 MiB", rows, large, func(_, _ int) client.Op {
			return list.RangeOp(-10, -1)
		}),
		onValue("a set of 100,000", added, members/batch, func(c, n int) client.Op {
			return set.AddOp(member(1_000_000 + c*1_000_000 + n))
		}),
		onValue("a sorted set of 100,000", scored, members/batch, func(c, n int) client.Op {
			return sorted.AddOp(member((c*7919+n*104_729)%100_000), float64(n))
		}),
	}
}

const valueKey = "the large value"

func member(i int) string { return fmt.Sprintf("member-%09d", i) }

// onValue has clients execute operations on one large value.
func onValue(name string, load func(i int) []client.Op, loads int, op func(client, n int) client.Op) neighbour {
	const clients, hostile = 8, 8
	return neighbour{name: name, start: func(ctx context.Context, o *options, dir string) (*street, error) {
		n, err := startNode(ctx, o, dir, "node")
		if err != nil {
			return nil, err
		}
		for i := range loads {
			if err := n.db.Execute(ctx, load(i)...); err != nil {
				return nil, fmt.Errorf("loading the value: %w", err)
			}
		}
		return &street{clients: clients, honest: n.put, stop: n.close, beside: func(ctx context.Context) error {
			g, ctx := errgroup.WithContext(ctx)
			for c := range hostile {
				g.Go(func() error {
					for i := 0; ctx.Err() == nil; i++ {
						if err := n.db.Execute(ctx, op(c, i)); err != nil && ctx.Err() == nil {
							return err
						}
					}
					return nil
				})
			}
			return g.Wait()
		}}, nil
	}}
}
