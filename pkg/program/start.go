package program

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

func startCommand(s cli.Streams) *cobra.Command {
	var opt embed.Options
	var order, reads, plan string
	var mode string
	var hot []string
	var cacheMB int64
	var history, every time.Duration
	c := &cobra.Command{
		Use:   "start",
		Short: "Start a node",
		Long: `Start a node. A cluster is formed once, by the nodes that --join lists: each is
started with the same list, itself included, and none serves before all have
met. From then on every node finds the others again, in whatever order they are
started. Without --join the node is a cluster of its own.

":PORT" means the loopback address, since there is no encryption and no
authentication; --insecure allows others.

There is one copy of the data: while a node is down, its shards cannot be
reached, and the others serve the rest.

An interrupt ends the node cleanly: it admits nothing new and lets what is under
way end. A second one ends it at once, which loses nothing either.`,
		Example: `  linchpin start --store /var/lib/linchpin

  linchpin start --store d1 --listen :7001 --join :7001,:7002,:7003
  linchpin start --store d2 --listen :7002 --join :7001,:7002,:7003
  linchpin start --store d3 --listen :7003 --join :7001,:7002,:7003`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if opt.Order, err = txn.ParseOrder(order); err != nil {
				return err
			}
			if opt.Reads, err = txn.ParseReads(reads); err != nil {
				return err
			}
			if opt.Plan, err = txn.ParsePlan(plan); err != nil {
				return err
			}
			if opt.Hot, err = modeOf(c, mode); err != nil {
				return err
			}
			for _, k := range hot {
				opt.HotKeys = append(opt.HotKeys, []byte(k))
			}
			if opt.History, opt.HistoryEvery, err = historyOf(c, history, every); err != nil {
				return err
			}
			opt.CacheBytes = cacheMB << 20
			opt.Version = cli.ReadBuild().Version
			opt.Log = slog.New(slog.NewTextHandler(s.Err, nil))
			return serve(c.Context(), s, opt)
		},
	}
	f := c.Flags()
	f.StringVar(&opt.Dir, "store", "", "the node's storage `directory` (required)")
	f.StringVar(&opt.Listen, "listen", ":7070", "`address` for clients and other nodes")
	f.StringVar(&opt.HTTP, "http", "", "`address` for /metrics, /healthz and /readyz; empty for none")
	f.StringVar(&opt.Advertise, "advertise", "", "`address` under which other nodes call this one (default: --listen)")
	f.StringVar(&opt.Join, "join", "", "all first members, this one included: `address,address,...`")
	f.BoolVar(&opt.Insecure, "insecure", false, "allow addresses beyond the loopback, without encryption or authentication")
	f.IntVar(&opt.Shards, "shards", 8, "number of shards of a new cluster, besides the hot one; fixed from then on")
	f.StringArrayVar(&hot, "hot-key", nil, "a `key` that lives on the hot shard of a new cluster, for ever (repeatable)")
	f.StringVar(&mode, "hot", hotshard.ModeAuto.String(), "which other keys are moved to the hot shard: off, pinned, or auto; the same for all nodes; \"linchpin hot mode\" goes before it")
	f.StringVar(&order, "commit-order", txn.HotLast.String(), "hot-last, or parallel: ordinary two-phase commit, for comparison")
	sharingFlags(f, &opt.Sharing)
	f.StringVar(&reads, "reads", txn.SnapshotReads.String(), "how read-only transactions read: snapshot, or locking like updates, for comparison")
	f.StringVar(&plan, "read-plan", txn.PlanAny.String(), "how one-shots read on several shards: any, at-once, hot-last or pin; any picks")
	f.DurationVar(&history, "history", kv.DefaultHistory, "how far back --as-of can read; the same for all nodes; 0 keeps no history")
	f.DurationVar(&every, "history-every", kv.DefaultPinEvery, "how often a state of the history is fixed, while there are writes")
	f.Int64Var(&cacheMB, "cache-mb", 256, "memory for blocks of the store, and again for keys, in MiB; the process stays below twice that and 1 GiB where it can")
	f.BoolVar(&opt.UnsafeNoSync, "unsafe-no-sync", false, "answer before anything is on disk: a crash LOSES acknowledged commits; for measuring only")
	f.DurationVar(&opt.SyncDelay, "delay-fsync", 0, "make every fsync slower by this much; for measuring only")
	f.DurationVar(&opt.NetDelay, "delay-net", 0, "make every message to another node slower by this much, one way; for measuring only")
	f.DurationVar(&opt.DrainTimeout, "drain-timeout", 0, "how long a clean stop waits for what is under way (default 10s)")
	f.SortFlags = false
	_ = c.MarkFlagRequired("store")
	return c
}

// sharingFlags are those that switch off what is made of it that operations
// commute.
func sharingFlags(f *pflag.FlagSet, s *shard.Sharing) {
	f.Var(&s.Locks, "locks", "what locks go by: abstract, which operations commute, or rw, which of them write, for comparison")
	f.Var(&s.Phasing, "phasing", "whether operations join those that hold a lock now, past older ones that wait; off for comparison")
	f.Var(&s.Combining, "combining", "whether changes of a key in one step are written as one; off for comparison")
}

// modeOf reads --hot.
func modeOf(c *cobra.Command, text string) (hotshard.Mode, error) {
	m, err := hotshard.ParseMode(text)
	if err != nil {
		return 0, &cli.UsageError{Text: fmt.Sprintf("--hot is %q, want off, pinned or auto", text), Command: c.CommandPath()}
	}
	return m, nil
}

// historyOf checks the flags of the history. None is a negative one.
func historyOf(c *cobra.Command, history, every time.Duration) (time.Duration, time.Duration, error) {
	switch {
	case history < 0 || history > 24*time.Hour:
		return 0, 0, &cli.UsageError{Text: fmt.Sprintf("--history is %v, want 0 to 24h; longer is what snapshots are for", history), Command: c.CommandPath()}
	case every < 10*time.Millisecond || every > time.Hour:
		return 0, 0, &cli.UsageError{Text: fmt.Sprintf("--history-every is %v, want 10ms to 1h", every), Command: c.CommandPath()}
	case history == 0:
		history = -1
	}
	return history, every, nil
}

// serve runs a node until ctx ends.
func serve(ctx context.Context, s cli.Streams, opt embed.Options) error {
	if opt.UnsafeNoSync {
		fmt.Fprintln(s.Err, "WARNING: --unsafe-no-sync: commits are acknowledged before they are on disk, and a crash loses them. Use it for measuring only.")
	}
	embed.TuneMemory(opt.CacheBytes)
	i, err := embed.Start(ctx, opt)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "linchpin node n%d serves at %s", i.NodeID(), i.Addr())
	if a := i.HTTPAddr(); a != "" {
		fmt.Fprintf(s.Out, ", metrics at http://%s/metrics", a)
	}
	fmt.Fprintln(s.Out)
	waitErr := i.Wait(ctx)
	if err := i.Stop(); err != nil && waitErr == nil {
		return err
	}
	return waitErr
}
