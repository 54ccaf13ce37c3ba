package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// largeValues are lists and sets on which many operations are executed: to execute one
// takes as long as the value is large.
func largeValues() []neighbour {
	const row, many = 100, 500
	line := make([]byte, row)
	list := func(rows int) (func(int) []client.Op, int) {
		return func(int) []client.Op {
			args := make([]any, many)
			for i := range args {
				args[i] = line
			}
			return []client.Op{client.Call(valueKey, "list", "append", args...)}
		}, rows / many
	}
	members := func(kind string, args func(i int) []any) (func(int) []client.Op, int) {
		const batch = 100
		return func(at int) (ops []client.Op) {
			for i := range batch {
				ops = append(ops, client.Call(valueKey, kind, "add", args(at*batch+i)...))
			}
			return ops
		}, 100_000 / batch
	}
	small, smalls := list(60_000)
	large, larges := list(7 << 20 / row)
	set, sets := members("set", func(i int) []any { return []any{member(i)} })
	scored, scores := members("sorted-set", func(i int) []any { return []any{float64(i), member(i)} })
	appended := func(_, n int) client.Op {
		if n%100 == 99 { // a list has at most 8 MiB
			return client.Call(valueKey, "list", "trim", -(7<<20)/row, -1)
		}
		return client.Call(valueKey, "list", "append", line)
	}
	return []neighbour{
		onValue("appends to a list of 60,000 x 100 bytes", small, smalls, appended),
		onValue("appends to a list of 7 MiB", large, larges, appended),
		onValue("reads of the end of a list of 7 MiB", large, larges, func(_, _ int) client.Op {
			return client.Call(valueKey, "list", "range", -10, -1)
		}),
		onValue("a set of 100,000", set, sets, func(c, n int) client.Op {
			return client.Call(valueKey, "set", "add", member(1_000_000+c*1_000_000+n))
		}),
		onValue("a sorted set of 100,000", scored, scores, func(c, n int) client.Op {
			return client.Call(valueKey, "sorted-set", "add", float64(n), member((c*7919+n*104_729)%100_000))
		}),
	}
}

var valueKey = []byte("the large value")

func member(i int) []byte { return fmt.Appendf(nil, "member-%09d", i) }

// onValue has clients execute operations on one large value.
func onValue(name string, load func(i int) []client.Op, loads int, op func(client, n int) client.Op) neighbour {
	const clients, hostile = 8, 8
	return neighbour{name: name, start: func(ctx context.Context, o *options, dir string) (*street, error) {
		n, err := startNode(ctx, o, dir, "node")
		if err != nil {
			return nil, err
		}
		for i := range loads {
			if _, err := n.db.Execute(ctx, load(i)...); err != nil {
				return nil, fmt.Errorf("loading the value: %w", err)
			}
		}
		return &street{clients: clients, honest: n.put, stop: n.close, beside: func(ctx context.Context) error {
			g, ctx := errgroup.WithContext(ctx)
			for c := range hostile {
				g.Go(func() error {
					for i := 0; ctx.Err() == nil; i++ {
						if _, err := n.db.Execute(ctx, op(c, i)); err != nil && ctx.Err() == nil {
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
