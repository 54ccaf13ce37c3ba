package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

func replicasCommand(o *options) *cobra.Command {
	h := hotOptions{options: o, replicas: 3, fsync: true}
	c := &cobra.Command{
		Use:   "replicas",
		Short: "Three replicas of each shard against one, and against etcd's three members",
		Long: `Servers are processes of their own, with fsync, which all run while each is measured in turn:
one node, three nodes with three replicas of each shard, and three members of etcd, which are
left out where there is no program etcd (Debian's package etcd-server).

Then it compares the latency of a lone client with one replica and with three, beside one round
trip between processes and one fsync; and finds the saturated throughput of one hot key at several
delays between replicas, with clients scaled, on three nodes in this process.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return withReplicas(c.Context(), c.OutOrStdout(), &h) },
	}
	f := c.Flags()
	f.IntVar(&h.clients, "clients", 64, "clients of the comparison of throughput")
	h.delayFlags(f)
	f.StringVar(&h.json, "json", "", "a file for the figures of throughput")
	return c
}

// The names of the variants of throughput.
const (
	countOne, countThree, countEtcd = "counter, one node", "counter, three replicas", "counter, etcd's three members"
	putOne, putThree, putEtcd       = "puts, one node", "puts, three replicas", "puts, etcd's three members"
)

// counterKey is what all clients increment.
const counterKey = "counter"

// compared are the servers of the comparison, with their clients.
type compared struct {
	h   *hotOptions
	dir string
	one *node
	// three has a client of each node; db is that of a program, which knows all addresses.
	three replicas
	db    *client.DB
	// etcd is nil without the program.
	etcd *members
	echo *echoServer
	// counted are the increments that were acknowledged, by variant.
	counted map[string]*atomic.Int64
	costs   costs
}

func withReplicas(ctx context.Context, w io.Writer, h *hotOptions) (err error) {
	dir, remove, err := h.workDir()
	if err != nil {
		return err
	}
	defer remove()
	c := &compared{h: h, dir: dir, counted: map[string]*atomic.Int64{}, costs: costs{}}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := c.start(ctx, w); err != nil {
		return err
	}
	if err := c.throughput(ctx, w); err != nil {
		return err
	}
	if err := c.latency(ctx, w); err != nil {
		return err
	}
	err = c.stop()
	if err != nil {
		return err
	}
	cs := &clusters{ctx: ctx, h: h, dir: dir}
	defer func() { err = errors.Join(err, cs.stop()) }()
	return cs.saturated(w, "one hot key, three replicas, fsync", false, returningOne)
}

func (c *compared) start(ctx context.Context, w io.Writer) (err error) {
	c.one, err = startNode(ctx, c.h.options, c.dir, "one")
	if err != nil {
		return err
	}
	if err := c.three.start(ctx, c.h.options, c.dir); err != nil {
		return err
	}
	if _, err := c.three.leaders(ctx); err != nil {
		return err
	}
	c.db, err = client.Open(ctx, c.three.addrs)
	if err != nil {
		return err
	}
	if err := load(ctx, c.db, c.one.keys); err != nil {
		return err
	}
	c.echo, err = startEcho(ctx)
	if err != nil {
		return err
	}
	c.etcd, err = startMembers(ctx, filepath.Join(c.dir, "etcd"))
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Fprintf(w, "etcd is left out: there is no program %q; install Debian's package etcd-server\n", etcdProgram)
		err = nil
	}
	return err
}

// stop ends the servers. It may be called again.
func (c *compared) stop() (err error) {
	if c.etcd != nil {
		err = c.etcd.stop()
	}
	if c.echo != nil {
		err = errors.Join(err, c.echo.close())
	}
	if c.db != nil {
		err = errors.Join(err, c.db.Close())
	}
	err = errors.Join(err, c.three.stop())
	if c.one != nil {
		err = errors.Join(err, c.one.close())
	}
	*c = compared{h: c.h, dir: c.dir}
	return err
}

// throughput compares increments of one counter, and puts.
func (c *compared) throughput(ctx context.Context, w io.Writer) error {
	h := c.h
	fmt.Fprintf(w, "%d clients, fsync: increments of one counter, and puts of %d bytes to %d keys\n", h.clients,
		valueBytes,
		h.keys)
	counter := client.NewCounter(counterKey)
	key := func() string { return c.one.keys[rand.IntN(len(c.one.keys))] }
	vs := []rounds.Variant{
		c.variant(ctx, countOne, func(ctx context.Context, _ int) error { return counter.Add(ctx, c.one.db, 1) },
			c.one.child),
		c.variant(ctx, countThree, func(ctx context.Context, _ int) error { return counter.Add(ctx, c.db, 1) },
			c.three.nodes[:]...),
		c.variant(ctx, putOne, c.one.put, c.one.child),
		c.variant(ctx, putThree, func(ctx context.Context, _ int) error {
			return c.db.Put(ctx, key(), make([]byte, valueBytes))
		}, c.three.nodes[:]...)}
	if c.etcd != nil {
		vs = append(vs,
			c.variant(ctx, countEtcd, func(ctx context.Context, caller int) error {
				return c.etcd.client(caller).Increment(ctx, counterKey)
			}, c.etcd.processes...),
			c.variant(ctx, putEtcd, func(ctx context.Context, caller int) error {
				return c.etcd.client(caller).Put(ctx, key(), make([]byte, valueBytes))
			}, c.etcd.processes...))
	}
	s, err := rounds.Run(h.rounds, w, h.selected(vs...)...)
	if err != nil {
		return err
	}
	if err := c.checkCounters(ctx, counter); err != nil {
		return err
	}
	names := []string{countOne, countThree, countEtcd, putOne, putThree, putEtcd}
	figures := rounds.NewFigures("go run ./test/bench replicas", h.rounds, s, comparedTo, names...)
	if err := figures.Write(h.json); err != nil {
		return err
	}
	defer c.costs.print(w, names...)
	return rounds.Print(w, "per second", s, []rounds.Target{
		target(s, "counter, three replicas / one node", countThree, countOne, 0.35),
		target(s, "counter, three replicas / etcd", countThree, countEtcd, 100),
		target(s, "puts, three replicas / one node", putThree, putOne, 0),
		target(s, "puts, three replicas / etcd", putThree, putEtcd, 2)}, names...)
}

// comparedTo is the variant that has its rate compared with that of another.
func comparedTo(name string) string {
	switch name {
	case countOne, countEtcd:
		return countThree
	case putOne, putEtcd:
		return putThree
	}
	return ""
}

func target(s rounds.Series, what, over, under string, atLeast float64) rounds.Target {
	r, lo, hi := s.Ratio(over, under)
	return rounds.Target{What: what, Got: r, Low: lo, High: hi, AtLeast: atLeast}
}

// variant is a Loop whose number is its rate, and whose cost is noted. What was done is counted.
func (c *compared) variant(ctx context.Context, name string, do func(context.Context, int) error,
	servers ...*child) rounds.Variant {
	done := &atomic.Int64{}
	c.counted[name] = done
	o := *c.h.options
	o.callers = c.h.clients
	return c.costs.variant(ctx, &o, name, func(ctx context.Context, i int) error {
		err := do(ctx, i)
		if err == nil {
			done.Add(1)
		}
		return err
	}, servers...)
}

// checkCounters checks that each counter holds what was acknowledged.
func (c *compared) checkCounters(ctx context.Context, counter client.Counter) error {
	check := func(name string, got int64, err error) error {
		if want := c.counted[name].Load(); err == nil && got != want {
			return fmt.Errorf("%s: it is %d, and %d increments were acknowledged: report this as a bug", name, got, want)
		}
		return err
	}
	one, failed := counter.Get(ctx, c.one.db)
	if err := check(countOne, one, failed); err != nil {
		return err
	}
	three, failed := counter.Get(ctx, c.db)
	if err := check(countThree, three, failed); err != nil {
		return err
	}
	if c.etcd == nil {
		return nil
	}
	n, _, failed := c.etcd.clients[0].Number(ctx, counterKey)
	return check(countEtcd, n, failed)
}
