package program

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/cli/config"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// startOptions are what "linchpin start" is told. Each group of flags has a file of its
// own, or a function here.
type startOptions struct {
	opt                      embed.Options
	order, reads, plan, mode string
	memory                   string
	hot                      []string
	cacheMB, reserveMB       int64
	history, every           time.Duration
	who                      security
	operation                operationFlags
	// settings are where the flags' values came from.
	settings []config.Setting
}

func startCommand(s cli.Streams) *cobra.Command {
	var o startOptions
	c := &cobra.Command{
		Use:   "start",
		Short: "Start a node",
		Long: `Start a node. A cluster is formed once, by the nodes that --join lists: each is
started with the same list, itself included, and none serves before all have
met. From then on every node finds the others again, in whatever order they are
started. Without --join the node is a cluster of its own.

Without TLS there is no encryption and no authentication. Then ":PORT" means the
loopback address, and others are refused unless --insecure is given. With TLS all
callers show who they are, by a certificate or a token ("linchpin user").

There is one copy of the data: while a node is down, its shards cannot be
reached, and the others serve the rest.

An interrupt ends the node cleanly: it admits nothing new and lets what is under
way end ("linchpin drain"). A second one ends it at once, which loses nothing either.

A flag that is not given is looked for in the environment (LINCHPIN_CACHE_MB for
--cache-mb), and then in the file that --config names; "linchpin config show" tells
what came from where.`,
		Example: `  linchpin start --store /var/lib/linchpin

  linchpin start --store d1 --listen :7001 --join :7001,:7002,:7003
  linchpin start --store d2 --listen :7002 --join :7001,:7002,:7003
  linchpin start --store d3 --listen :7003 --join :7001,:7002,:7003

  linchpin start --store /var/lib/linchpin --certs-dir certs --listen db1.example.org:7070

  linchpin start --config /etc/linchpin/linchpin.yaml`,
		Args:    cobra.NoArgs,
		PreRunE: o.resolve,
		RunE: func(c *cobra.Command, _ []string) error {
			opt, err := o.options(c)
			if err != nil {
				return err
			}
			opt.Logs, err = o.operation.logs(s.Err)
			if err != nil {
				return err
			}
			opt.Settings = func(key func([]byte) string) []byte { return settingsText(o.settings, key) }
			return serve(c.Context(), s, opt)
		},
	}
	o.addTo(c.Flags())
	_ = c.MarkFlagRequired("store")
	return c
}

// addTo declares the flags.
func (o *startOptions) addTo(f *pflag.FlagSet) {
	opt := &o.opt
	f.StringVar(&opt.Dir, "store", "", "the node's storage `directory` (required)")
	f.StringVar(&opt.Listen, "listen", ":7070", "`address` for clients and other nodes")
	f.StringVar(&opt.HTTP, "http", "", "`address` for the console, /metrics, /healthz and /readyz; empty for none")
	f.StringVar(&opt.Advertise, "advertise", "", "`address` under which other nodes call this one (default: --listen)")
	f.StringVar(&opt.Join, "join", "", "all first members, this one included: `address,address,...`")
	f.BoolVar(&opt.Insecure, "insecure", false, "allow addresses beyond the loopback, without encryption or authentication")
	o.who.addTo(f)
	f.IntVar(&opt.Shards, "shards", 8, "number of shards of a new cluster, besides the hot one; fixed from then on")
	f.StringArrayVar(&o.hot, "hot-key", nil, "a `key` that lives on the hot shard of a new cluster, for ever (repeatable)")
	f.StringVar(&o.mode, "hot", hotshard.ModeAuto.String(), "which other keys are moved to the hot shard: off, pinned, or auto; the same for all nodes; \"linchpin hot mode\" goes before it")
	f.StringVar(&o.order, "commit-order", txn.HotLast.String(), "hot-last, or parallel: ordinary two-phase commit, for comparison")
	sharingFlags(f, &opt.Sharing)
	f.StringVar(&o.reads, "reads", txn.SnapshotReads.String(), "how read-only transactions read: snapshot, or locking like updates, for comparison")
	f.StringVar(&o.plan, "read-plan", txn.PlanAny.String(), "how one-shots read on several shards: any, parallel, hot-last or snapshot; any picks")
	f.DurationVar(&o.history, "history", kv.DefaultHistory, "how far back --as-of can read; the same for all nodes; 0 keeps no history")
	f.DurationVar(&o.every, "history-every", kv.DefaultPinEvery, "how often a state of the history is fixed, while there are writes")
	f.Int64Var(&o.cacheMB, "cache-mb", 256, "memory for blocks of the store, and again for keys, in MiB; by default less where --memory-budget is below 2 GiB")
	f.StringVar(&o.memory, "memory-budget", "", "how much memory the process may have, as in 2GiB or 50%: clients are refused what would take more (default: three quarters of what the control group has, or half of the machine's)")
	f.Int64Var(&o.reserveMB, "disk-reserve-mb", kv.DefaultDiskReserve>>20, "with less free on the store's disk, in MiB, the node refuses new writes, and goes on when there is room; 0 for none")
	f.BoolVar(&opt.TrustClock, "trust-clock", false, "rely on the time of day at this start, though the store or other nodes contradict it: keys and snapshots expire by it; for a store that was off for days")
	f.DurationVar(&opt.SlowReader, "slow-reader", kv.MaxTxnAge, "how long a page of a scan waits for a client that does not read; then the scan ends")
	f.BoolVar(&opt.UnsafeNoSync, "unsafe-no-sync", false, "answer before anything is on disk: a crash LOSES acknowledged commits; for measuring only")
	f.DurationVar(&opt.SyncDelay, "delay-fsync", 0, "make every fsync slower by this much; for measuring only")
	f.DurationVar(&opt.ReadDelay, "delay-read", 0, "make every read of the store's tables slower by this much, once the node has started; for tests only")
	f.DurationVar(&opt.NetDelay, "delay-net", 0, "make every message to another node slower by this much, one way; for measuring only")
	o.operation.addTo(f, opt)
	config.MarkPaths(f, "store", "certs-dir", "tls-cert", "tls-key", "tls-ca", "tls-client-ca")
	f.SortFlags = false
}

// resolve sets what the command line has not set, and makes sure that what has to be
// set is.
func (o *startOptions) resolve(c *cobra.Command, _ []string) (err error) {
	o.settings, err = config.Resolve(c.Flags(), config.Options{})
	if err == nil {
		err = c.ValidateRequiredFlags()
	}
	if err != nil {
		return &cli.UsageError{Text: err.Error(), Command: c.CommandPath()}
	}
	return nil
}

// options checks the flags.
func (o *startOptions) options(c *cobra.Command) (opt embed.Options, err error) {
	opt = o.opt
	err = shardsOf(c, opt.Shards)
	if err != nil {
		return opt, err
	}
	opt.Order, err = txn.ParseOrder(o.order)
	if err != nil {
		return opt, err
	}
	opt.Reads, err = txn.ParseReads(o.reads)
	if err != nil {
		return opt, err
	}
	opt.Plan, err = txn.ParsePlan(o.plan)
	if err != nil {
		return opt, err
	}
	opt.Hot, err = modeOf(c, o.mode)
	if err != nil {
		return opt, err
	}
	for _, k := range o.hot {
		opt.HotKeys = append(opt.HotKeys, []byte(k))
	}
	opt.History, opt.HistoryEvery, err = historyOf(c, o.history, o.every)
	if err != nil {
		return opt, err
	}
	if c.Flags().Changed("cache-mb") {
		opt.CacheBytes = o.cacheMB << 20
	}
	opt.MemoryBudget, err = budgetOf(c, o.memory)
	if err != nil {
		return opt, err
	}
	opt.DiskReserve, err = reserveOf(c, o.reserveMB)
	if err != nil {
		return opt, err
	}
	o.who.apply(&opt)
	opt.Version = cli.ReadBuild().Version
	return opt, nil
}

// scheme is that of the HTTP server's addresses.
func scheme(opt embed.Options) string {
	if opt.TLS.Given() {
		return "https"
	}
	return "http"
}

// sharingFlags are those that switch off what is made of it that operations
// commute.
func sharingFlags(f *pflag.FlagSet, s *shard.Sharing) {
	f.Var(&s.Locks, "locks", "what locks go by: abstract, which operations commute, or rw, which of them write, for comparison")
	f.Var(&s.Phasing, "phasing", "whether operations join those that hold a lock now, past older ones that wait; off for comparison")
	f.Var(&s.Combining, "combining", "whether changes of a key in one step are written as one; off for comparison")
}

// shardsOf checks --shards, of which 0 would stand for the default.
func shardsOf(c *cobra.Command, n int) error {
	if n < 1 || n >= kv.MaxShards {
		return &cli.UsageError{Text: fmt.Sprintf("--shards is %d, want 1 to %d", n, kv.MaxShards-1), Command: c.CommandPath()}
	}
	return nil
}

// modeOf reads --hot.
func modeOf(c *cobra.Command, text string) (hotshard.Mode, error) {
	m, err := hotshard.ParseMode(text)
	if err != nil {
		return 0, &cli.UsageError{Text: fmt.Sprintf("--hot is %q, want off, pinned or auto", text), Command: c.CommandPath()}
	}
	return m, nil
}

// reserveOf reads --disk-reserve-mb. None is negative.
func reserveOf(c *cobra.Command, mb int64) (int64, error) {
	if mb < 0 || mb > 1<<30 {
		return 0, &cli.UsageError{Text: fmt.Sprintf("--disk-reserve-mb is %d, want 0 to %d", mb, 1<<30), Command: c.CommandPath()}
	}
	if mb == 0 {
		return -1, nil
	}
	return mb << 20, nil
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
	if err := embed.TuneMemory(opt); err != nil {
		return err
	}
	i, err := embed.Start(ctx, opt)
	if err != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, embed.ErrDrained)) {
		fmt.Fprintln(s.Err, "linchpin: the node was stopped before it started serving")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "linchpin node n%d serves at %s", i.NodeID(), i.Addr())
	if a := i.HTTPAddr(); a != "" {
		fmt.Fprintf(s.Out, ", console at %s://%s/console/, metrics at %s://%s/metrics", scheme(opt), a, scheme(opt), a)
	}
	fmt.Fprintln(s.Out)
	notify(s.Err, "READY=1\nSTATUS=serving at "+i.Addr())
	waitErr := i.Wait(ctx)
	notify(s.Err, "STOPPING=1\nSTATUS=draining")
	if err := i.Stop(); err != nil && waitErr == nil {
		return err
	}
	return waitErr
}
