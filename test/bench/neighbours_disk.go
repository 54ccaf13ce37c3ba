package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// slowNodes are clusters of three nodes, one of which is slow. Honest clients need none of its keys.
func slowNodes() []neighbour {
	var out []neighbour
	for _, by := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond} {
		out = append(out, neighbour{
			name: fmt.Sprintf("fsyncs of one node of three slower by %v", by),
			start: func(ctx context.Context, o *options, dir string) (*street, error) {
				return startSlow(ctx, o, dir, by, (*threeNodes).write)
			},
		})
	}
	return append(out, neighbour{
		name: "a process that stands still for 2.5 of 3 s",
		start: func(ctx context.Context, o *options, dir string) (*street, error) {
			return startSlow(ctx, o, dir, 0, (*threeNodes).stopAndGo)
		},
	})
}

// threeNodes is a cluster of three processes, one of which is slow.
type threeNodes struct {
	*trio
	// ill is the slow one.
	ill *child
	// well has clients of the other two, and slow is one of the slow one.
	well []*client.DB
	slow *client.DB
	// keys live on the other two, slowKeys on the slow one.
	keys, slowKeys []string
}

const slowShards = 8

// startSlow starts a cluster with what its slow node does, whose fsyncs take longer by some time.
func startSlow(ctx context.Context, o *options, dir string, by time.Duration,
	beside func(*threeNodes, context.Context) error) (*street, error) {
	c := &threeNodes{}
	err := c.start(ctx, o, dir, by)
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return &street{clients: 24, honest: c.honest, stop: c.stop,
		beside: func(ctx context.Context) error { return beside(c, ctx) }}, nil
}

func (c *threeNodes) start(ctx context.Context, o *options, dir string, by time.Duration) error {
	// The hot shard takes in keys that are hot, so that its node is not the one of which nothing is needed.
	r, err := hotshard.NewRouter(slowShards, 3, nil)
	if err != nil {
		return err
	}
	ill := int(r.Node(r.HotShard())) % 3
	c.trio, err = startTrio(ctx, o, dir, "node", "--shards", fmt.Sprint(slowShards))
	if err != nil {
		return err
	}
	c.ill = c.nodes[ill]
	if err := c.ill.send(by.String()); err != nil {
		return err
	}
	for i, addr := range c.addrs {
		db, err := client.Open(ctx, []string{addr})
		if err != nil {
			return err
		}
		if i == ill {
			c.slow = db
		} else {
			c.well = append(c.well, db)
		}
	}
	return c.place(ctx, r, kv.NodeID(ill+1))
}

// place sorts keys by the node on which they live, and writes each.
func (c *threeNodes) place(ctx context.Context, r *hotshard.Router, ill kv.NodeID) error {
	for _, k := range keys(300) {
		if r.Node(r.Shard([]byte(k))) == ill {
			c.slowKeys = append(c.slowKeys, k)
		} else {
			c.keys = append(c.keys, k)
		}
	}
	for _, of := range [][]string{c.keys, c.slowKeys} {
		var ops []client.Op
		for _, k := range of {
			ops = append(ops, client.PutOp(k, make([]byte, valueBytes)))
		}
		err := c.well[0].Execute(ctx, ops...)
		if err != nil {
			return fmt.Errorf("loading: %w", err)
		}
	}
	return nil
}

// viewedKeys is how many keys views read, which are written all the time.
const viewedKeys = 6

// honest writes, reads at once, or reads in a view of 10 ms: each client one of these.
func (c *threeNodes) honest(ctx context.Context, n int) error {
	db := c.well[n%2]
	viewed := func() string { return c.keys[rand.IntN(viewedKeys)] }
	switch n / 2 % 4 {
	case 0:
		any := c.keys[rand.IntN(len(c.keys))]
		return db.Execute(ctx, client.PutOp(viewed(), make([]byte, valueBytes)), client.PutOp(any, make([]byte, valueBytes)))
	case 1:
		return db.Execute(ctx, client.GetOp(viewed()), client.GetOp(viewed()), client.GetOp(viewed()))
	case 2:
		return db.Put(ctx, c.keys[rand.IntN(len(c.keys))], make([]byte, valueBytes))
	}
	return db.View(ctx, func(ctx context.Context, v *client.View) error {
		for range 2 {
			_, _, err := v.Get(ctx, viewed())
			if err != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond)
		}
		return nil
	})
}

// write has eight clients of the slow node write keys of several of its shards.
func (c *threeNodes) write(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for range 8 {
		g.Go(func() error {
			for ctx.Err() == nil {
				a, b := c.slowKeys[rand.IntN(len(c.slowKeys))], c.slowKeys[rand.IntN(len(c.slowKeys))]
				err := c.slow.Execute(ctx, client.PutOp(a, make([]byte, valueBytes)), client.PutOp(b, make([]byte, valueBytes)))
				if err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// stopAndGo has the process of the slow node stand still, again and again.
func (c *threeNodes) stopAndGo(ctx context.Context) (err error) {
	p := c.ill.cmd.Process
	defer func() { err = errors.Join(err, p.Signal(syscall.SIGCONT)) }()
	for {
		err = p.Signal(syscall.SIGSTOP)
		if err != nil || !workload.Sleep(ctx, 2500*time.Millisecond) {
			return err
		}
		err = p.Signal(syscall.SIGCONT)
		if err != nil || !workload.Sleep(ctx, 500*time.Millisecond) {
			return err
		}
	}
}

func (c *threeNodes) stop() (err error) {
	for _, db := range append(c.well, c.slow) {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if c.trio != nil {
		err = errors.Join(err, c.trio.stop())
	}
	return err
}
