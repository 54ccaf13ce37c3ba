package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// prefix begins the demo's keys.
const prefix = "zeta/"

// demo is the command "linchpin demo".
type demo struct {
	cluster      embed.ClusterOptions
	order, reads string
	mode         string
	// run is the workload of a measured run; a warm-up has another seed and duration.
	run workload.Options
	// stay: the cluster keeps serving after the workload, at fixed ports from port on.
	stay bool
	port int
	// hotKeys is the number of the hottest registers, and of the hottest counters, that
	// are on the hot shard from the start.
	hotKeys int
	out     io.Writer
}

func demoCommand(s cli.Streams) *cobra.Command {
	d := &demo{out: s.Out}
	d.run = workload.Options{Keys: 10_000, Skew: 1.2, Clients: 64, Duration: 3 * time.Second, Seed: 1,
		Prefix: prefix, Mix: workload.Mix{ReadOnly: 50, ReadModifyWrite: 30, Increment: 20}, Ops: 3}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a cluster in this process and measure the hot shard",
		Long: `Run a cluster in this process and measure what the hot shard is worth.

The nodes store their data in a temporary directory, which is removed at the end.
The workload is one-shot transactions on keys that follow a Zipf distribution, so
that a few keys get most of the traffic. Each shard has one replica. With --hot auto the workload runs four
times, in turn with the hot shard off and with hot keys moved to it. Each run has
a warm-up, and a table shows the medians of both modes. At the end three nodes
have three replicas of each shard, and the one that leads the hot shard is
stopped under load. All of it takes about 40 seconds. With --hot off or pinned
the workload runs once, and no node is stopped.

With --stay the cluster keeps serving after the workload. The first node is then
at 127.0.0.1:7070, the default address of the other commands, and its console at
http://127.0.0.1:7071.`,
		Example: `  linchpin demo
  linchpin demo --nodes 5 --skew 2 --clients 256
  linchpin demo --stay`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			d.cluster.Hot, err = modeOf(c, d.mode)
			if err != nil {
				return err
			}
			err = d.check(c)
			if err != nil {
				return err
			}
			return d.do(c.Context())
		},
	}
	f := c.Flags()
	f.IntVar(&d.cluster.Nodes, "nodes", 3, "number of nodes")
	f.IntVar(&d.cluster.Shards, "shards", 8, "number of shards, without the hot shard")
	f.StringVar(&d.order, "commit-order", txn.HotLast.String(),
		"commit protocol: hot-last, or parallel (two-phase commit, for comparison)")
	sharingFlags(f, &d.cluster.Sharing)
	f.StringVar(&d.reads, "reads", txn.SnapshotReads.String(),
		"reads of read-only transactions: snapshot, or locking (for comparison)")
	f.Uint64Var(&d.run.Keys, "keys", d.run.Keys, "number of keys")
	f.Float64Var(&d.run.Skew, "skew", d.run.Skew, "exponent of the Zipf distribution, 0 (uniform) or more")
	f.IntVar(&d.run.Clients, "clients", d.run.Clients, "number of clients")
	f.DurationVar(&d.run.Duration, "duration", d.run.Duration, "length of each measured run")
	f.Uint64Var(&d.run.Seed, "seed", d.run.Seed, "seed of the workload")
	f.StringVar(&d.mode, "hot", hotshard.ModeAuto.String(),
		"keys that are moved to the hot shard: off (none), pinned, or auto (hot keys), which is compared with off")
	f.IntVar(&d.hotKeys, "hot-keys", 0,
		"number of the hottest registers, and of the hottest counters, on the hot shard from the start")
	f.StringVar(&d.cluster.HTTP, "http", ":0",
		"`address` of the first node's console and metrics; empty: none (default with --stay :7071)")
	f.IntVar(&d.port, "port", 0,
		"port of the first node; each further node adds 10; 0: free ports (default with --stay 7070)")
	f.BoolVar(&d.stay, "stay", false, "keep serving after the workload until interrupted")
	return c
}

// The default addresses with --stay.
const (
	stayPort = 7070
	stayHTTP = ":7071"
)

// check validates the flags and sets the defaults that depend on other flags.
func (d *demo) check(c *cobra.Command) error {
	err := shardsOf(c, d.cluster.Shards)
	switch last := d.port + embed.PortStep*(d.cluster.Nodes-1); {
	case err != nil:
		return err
	case d.cluster.Nodes < 1:
		return &cli.UsageError{Text: fmt.Sprintf("--nodes is %d, want 1 or more", d.cluster.Nodes), Command: c.CommandPath()}
	case d.port < 0 || last > 65535:
		return &cli.UsageError{Text: fmt.Sprintf("--port is %d, want 0 to %d, so that each node has a port", d.port,
			65535-embed.PortStep*(d.cluster.Nodes-1)), Command: c.CommandPath()}
	}
	if d.stay && !c.Flags().Changed("port") {
		d.port = stayPort
	}
	if d.stay && !c.Flags().Changed("http") {
		d.cluster.HTTP = stayHTTP
	}
	d.cluster.Port = d.port
	return nil
}

func (d *demo) do(ctx context.Context) (err error) {
	d.cluster.Order, err = txn.ParseOrder(d.order)
	if err != nil {
		return err
	}
	d.cluster.Reads, err = txn.ParseReads(d.reads)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "linchpin-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d.cluster.Dir, d.cluster.Listen, d.cluster.Version = dir, true, "demo"
	d.cluster.CacheBytes = 8 << 20
	for i := range uint64(min(max(d.hotKeys, 0), int(min(d.run.Keys, 1000)))) {
		d.cluster.HotKeys = append(d.cluster.HotKeys, workload.RegisterKey(prefix, i), workload.CounterKey(prefix, i))
	}
	fmt.Fprintf(d.out, "Starting %d nodes, %d shards and a hot shard, one replica each\n  storage in %s\n",
		d.cluster.Nodes, d.cluster.Shards, dir)
	start := d.cluster
	start.Hot = d.modes()[0]
	c, err := embed.StartCluster(start)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: err.Error(),
			Hint: "another process uses the port; choose one with --port, or --http for the console; --port 0 uses free ports"}
	}
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, c.Stop(stop))
	}()
	for i, addr := range c.Addrs() {
		fmt.Fprintf(d.out, "  node n%d at %s\n", i+1, addr)
	}
	if a := c.HTTPAddr(); a != "" {
		fmt.Fprintf(d.out, "  console at http://%s/console/\n", a)
	}
	if err := d.work(ctx, c); err != nil {
		return err
	}
	if len(d.modes()) > 1 {
		if err := d.failover(ctx); err != nil {
			return err
		}
	}
	if d.stay {
		fmt.Fprintf(d.out, "\nThe cluster keeps serving until interrupted. Try:  linchpin get --addr %s %s\n",
			c.Addrs()[0], workload.CounterKey(prefix, 0))
		<-ctx.Done()
	}
	return nil
}
