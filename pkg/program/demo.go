package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/pkg/workload/clientstore"
)

// prefix begins the demo's keys.
const prefix = "zeta/"

// demo runs a whole cluster in this process and shows what it does.
type demo struct {
	cluster      embed.ClusterOptions
	order, reads string
	mode         string
	run          workload.Options
	// stay: the cluster goes on serving, at fixed ports that begin with port.
	stay bool
	port int
	// hotKeys is how many of the hottest registers, and as many counters, live on
	// the hot shard from the start.
	hotKeys  int
	out, err io.Writer
}

func demoCommand(s cli.Streams) *cobra.Command {
	d := &demo{out: s.Out, err: s.Err}
	d.run = workload.Options{Keys: 10_000, Skew: 1.2, Clients: 64, Duration: 5 * time.Second, Seed: 1,
		Prefix: prefix, Mix: workload.Mix{ReadOnly: 50, ReadModifyWrite: 30, Increment: 20}, Ops: 3}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a whole cluster in this process, with a skewed workload on it",
		Long: `Run a whole cluster in this process: real nodes with real storage in a temporary
directory, which is removed at the end. It loads keys, runs transactions whose
keys follow a zeta law, so that a few get most of the traffic, and prints what
came of it. With --hot auto the load runs twice, first with the hot shard off and
then with keys moved there, and the two are shown side by side at the end.

With --stay the cluster goes on serving: the first node at 127.0.0.1:7070, which is
where the other commands look for one, and the console at http://127.0.0.1:7071.
--port and --http are other places.`,
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
	f.IntVar(&d.cluster.Shards, "shards", 8, "number of shards, besides the hot one")
	f.StringVar(&d.order, "commit-order", txn.HotLast.String(), "hot-last, or parallel: ordinary two-phase commit, for comparison")
	sharingFlags(f, &d.cluster.Sharing)
	f.StringVar(&d.reads, "reads", txn.SnapshotReads.String(), "how read-only transactions read: snapshot, or locking like updates, for comparison")
	f.Uint64Var(&d.run.Keys, "keys", d.run.Keys, "number of keys")
	f.Float64Var(&d.run.Skew, "skew", d.run.Skew, "exponent of the zeta law, at least 0 (uniform)")
	f.IntVar(&d.run.Clients, "clients", d.run.Clients, "number of clients")
	f.DurationVar(&d.run.Duration, "duration", d.run.Duration, "length of a measured part")
	f.Uint64Var(&d.run.Seed, "seed", d.run.Seed, "seed of the workload")
	f.StringVar(&d.mode, "hot", hotshard.ModeAuto.String(), "which keys are moved to the hot shard: off, pinned, or auto, which is compared with off")
	f.IntVar(&d.hotKeys, "hot-keys", 0, "how many of the hottest registers and counters live on the hot shard from the start")
	f.StringVar(&d.cluster.HTTP, "http", ":0", "`address` for the console and the metrics of the first node; empty for none (with --stay default :7071)")
	f.IntVar(&d.port, "port", 0, "port of the first node, and 10 more for each that follows; 0 for free ones (with --stay default 7070)")
	f.BoolVar(&d.stay, "stay", false, "keep serving after the workload, until interrupted")
	return c
}

// The places of a cluster that stays.
const (
	stayPort = 7070
	stayHTTP = ":7071"
)

// check refuses what cannot be meant, and fills in what depends on other flags.
func (d *demo) check(c *cobra.Command) error {
	err := shardsOf(c, d.cluster.Shards)
	switch last := d.port + embed.PortStep*(d.cluster.Nodes-1); {
	case err != nil:
		return err
	case d.cluster.Nodes < 1:
		return &cli.UsageError{Text: fmt.Sprintf("--nodes is %d, want 1 or more", d.cluster.Nodes), Command: c.CommandPath()}
	case d.port < 0 || last > 65535:
		return &cli.UsageError{Text: fmt.Sprintf("--port is %d, want 0 to %d, so that there is one for each node", d.port,
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
	fmt.Fprintf(d.out, "Starting %d nodes with %d shards and a hot shard with %d keys; storage in %s\n",
		d.cluster.Nodes, d.cluster.Shards, len(d.cluster.HotKeys), dir)
	start := d.cluster
	if d.compares() {
		start.Hot = hotshard.ModeOff
	}
	c, err := embed.StartCluster(start)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: err.Error(), Hint: "another process uses this port: set another one with --port, or --http for the console; --port 0 chooses free ports"}
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
		fmt.Fprintf(d.out, "  node n%d serves at %s\n", i+1, addr)
	}
	if a := c.HTTPAddr(); a != "" {
		fmt.Fprintf(d.out, "  console at http://%s/console/\n", a)
	}
	if err := d.work(ctx, c); err != nil {
		return err
	}
	if d.stay {
		fmt.Fprintf(d.out, "\nThe cluster goes on serving. Try:  linchpin get --addr %s %s\nInterrupt to end.\n", c.Addrs()[0], workload.CounterKey(prefix, 0))
		<-ctx.Done()
	}
	return nil
}

// work loads the keys, runs the workload, and reports.
func (d *demo) work(ctx context.Context, c *embed.Cluster) error {
	store, err := clientstore.Open(ctx, c.Addrs(), 0)
	if err != nil {
		return err
	}
	defer store.Close()
	fmt.Fprintf(d.out, "Loading %d keys\n", d.run.Keys)
	begin := time.Now()
	if _, err := workload.Load(ctx, store, workload.LoadOptions{Keys: d.run.Keys, Prefix: prefix}); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "  took %v\n", time.Since(begin).Round(time.Millisecond))
	d.run.Progress = func(s workload.Snapshot) { fmt.Fprintln(d.out, "  "+s.String()) }
	var off *workload.Result
	if d.compares() {
		off, err = d.load(ctx, store, "with the hot shard off")
		if err != nil {
			return err
		}
		if _, err := c.Node(1).Gateway().SetHot(ctx, nil, uint32(d.cluster.Hot)+1); err != nil {
			return err
		}
		d.run.Warmup = min(warming, 2*d.run.Duration)
	}
	before := d.seen(c)
	result, err := d.load(ctx, store, fmt.Sprintf("with the hot shard in mode %v", d.cluster.Hot))
	if result != nil {
		fmt.Fprintln(d.out)
		if werr := result.WriteText(d.out); werr != nil {
			return werr
		}
	}
	if err != nil {
		return err
	}
	// What has been moved goes home when the load ends.
	hot, err := c.Node(1).Gateway().Hot(ctx)
	if err != nil {
		return err
	}
	during := d.seen(c)
	during.less(before)
	if err := d.report(c, result, during); err != nil {
		return err
	}
	if err := d.readers(ctx, c, result, during); err != nil {
		return err
	}
	return d.compare(off, result, hot)
}

// load runs the workload.
func (d *demo) load(ctx context.Context, store workload.Store, how string) (*workload.Result, error) {
	fmt.Fprintf(d.out, "Running %d clients for %v %s: %d keys a transaction by a zeta law of skew %g\n", d.run.Clients, d.run.Duration, how, d.run.Ops, d.run.Skew)
	runner, err := workload.New(store, d.run)
	if err != nil {
		return nil, err
	}
	return runner.Run(ctx)
}

// report tells what the store itself saw.
func (d *demo) report(c *embed.Cluster, r *workload.Result, n *seen) error {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	fmt.Fprintf(d.out, "\nLocks: %d waits, %v in total, %d wounds. Disk: %d fsyncs, %.1f commits each. Memory: %d MiB\n",
		n.waits, n.waited.Round(time.Millisecond), n.marks, n.syncs, float64(r.All.Committed)/float64(max(n.syncs, 1)), mem.Sys>>20)
	keys := c.Backend(1).HotKeys(10)
	if len(keys) == 0 {
		fmt.Fprintln(d.out, "No transaction has waited for a key.")
		return nil
	}
	fmt.Fprintln(d.out, "\nThe keys with the longest waits since the start:")
	w := tabwriter.NewWriter(d.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "  KEY\tSHARD\tWAITS\tWAITED")
	for _, k := range keys {
		fmt.Fprintf(w, "  %q\t%v\t%d\t%v\n", k.Key, k.Shard, k.Waits, k.Waited.Round(time.Millisecond))
	}
	return w.Flush()
}
