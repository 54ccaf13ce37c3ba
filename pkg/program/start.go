package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// startOptions are the flags of "linchpin start".
type startOptions struct {
	opt                      embed.Options
	order, reads, plan, mode string
	memory                   string
	hot                      []string
	cacheMB, reserveMB       int64
	history, every           time.Duration
	certsDir                 string
	operation                operationFlags
	// settings are the flags' values and their sources.
	settings []config.Setting
}

func startCommand(s cli.Streams) *cobra.Command {
	var o startOptions
	c := &cobra.Command{
		Use:   "start",
		Short: "Start a node",
		Long: `Start a node. Without --join it is a cluster of its own. The nodes that --join lists form a cluster once:
each of them is started with the same list, itself included, and serves when all have met. Later the nodes find each
other in any order of starts.

Without TLS there is neither encryption nor authentication. ":PORT" is then the loopback address, and other addresses
are rejected unless --insecure is given. With TLS every caller authenticates with a certificate or a token.

A cluster of three or more nodes has three copies of the data: if one node is down, or its disk is lost, the others
serve all of it. With one copy (--replicas 1) the shards of a node that is down are unavailable.

An interrupt drains the node and stops it. A second one stops it at once, without losing an acknowledged commit.

A flag that is not given is read from the environment (LINCHPIN_CACHE_MB for --cache-mb), then from the file of
--config. "linchpin config show" shows every setting and its source.`,
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
	f.StringVar(&opt.Listen, "listen", ":7070", "`address` for clients and other nodes")
	f.StringVar(&opt.Advertise, "advertise", "", "`address` at which other nodes reach this one (default: --listen)")
	f.StringVar(&opt.Join, "join", "", "all first members, including this one: `address,address,...`")
	f.StringVar(&opt.HTTP, "http", "", "`address` for the console, /metrics, /healthz and /readyz; empty for none")
	f.IntVar(&opt.Shards, "shards", 8, "number of shards of a new cluster, without the hot shard; it never changes")
	f.IntVar(&opt.Replicas, "replicas", 0, "number of copies of each shard of a new cluster, on different nodes: 1, 3, 5 "+
		"or 7; it never changes; with more than 1, --shards is by default 4 for each node, 16 or more (default 3, or 1 "+
		"on fewer than three nodes)")
	f.StringVar(&opt.LeaderLeases, "leader-leases", "", "`on`, or off for a new cluster on machines whose clocks cannot "+
		"be trusted: reads wait for a majority, or lock; the same on all nodes; it never changes (default on)")
	f.StringArrayVar(&o.hot, "hot-key", nil, "a `key` that is always on the hot shard of a new cluster (repeatable)")
	f.StringVar(&o.mode, "hot", hotshard.ModeAuto.String(),
		"initial `mode` of the hot shard: off, pinned or auto; the same on all nodes; see \"linchpin hot mode\"")
	f.StringVar(&opt.Dir, "store", "", "storage `directory` of the node (required)")
	f.StringVar(&o.operation.file, config.FileFlag, "", "YAML `file` with values for flags")
	f.Int64Var(&o.reserveMB, "disk-reserve-mb", kv.DefaultDiskReserve>>20,
		"reject writes while the store's disk has less free space than this, in `MiB`; 0 for none")
	f.DurationVar(&o.history, "history", kv.DefaultHistory,
		"length of the history that --as-of reads; the same on all nodes; 0 for none")
	f.DurationVar(&o.every, "history-every", kv.DefaultSnapshotInterval,
		"time between two states of the history, while there are writes")
	f.BoolVar(&opt.TrustClock, "trust-clock", false,
		"trust the time of day at this start, even if the store or other nodes contradict it; for a store that was "+
			"off for days")
	f.StringVar(&o.memory, "memory-budget", "",
		"memory of the process, as in 2GiB or 50%; requests beyond it are rejected (default: 75% of the control "+
			"group's, or 50% of the machine's)")
	f.Int64Var(&o.cacheMB, "cache-mb", 256,
		"memory for blocks of the store, and again for keys, in `MiB`; by default less if --memory-budget is below 2 GiB")
	f.DurationVar(&opt.SlowReader, "slow-reader", kv.MaxTxnAge,
		"end a scan whose client has not read a page for this time")
	addSecurityFlags(f, &opt.Security, &o.certsDir)
	f.BoolVar(&opt.Insecure, "insecure", false,
		"allow addresses other than the loopback, without encryption or authentication")
	o.operation.addTo(f, opt)
	f.StringVar(&o.plan, "read-plan", txn.PlanAny.String(),
		"how one-shot transactions read on several shards: any (the node chooses), parallel, hot-last or snapshot")
	f.StringVar(&o.order, "commit-order", txn.HotLast.String(), "hot-last, or parallel: two-phase commit")
	sharingFlags(f, &opt.Sharing)
	f.StringVar(&o.reads, "reads", txn.SnapshotReads.String(),
		"how read-only transactions read: snapshot, or locking: as updates do")
	f.BoolVar(&opt.UnsafeNoSync, "unsafe-no-sync", false,
		"acknowledge commits before they are on disk: a crash LOSES them")
	f.DurationVar(&opt.SyncDelay, "delay-fsync", 0, "delay each fsync by this time")
	f.DurationVar(&opt.ReadDelay, "delay-read", 0, "delay each read of the store's tables by this time")
	f.DurationVar(&opt.NetDelay, "delay-net", 0, "delay each message to another node by this time")
	for _, g := range startGroups {
		cli.GroupFlags(f, g.title, strings.Fields(g.flags)...)
	}
	config.MarkPaths(f, "store", "certs-dir", "tls-cert", "tls-key", "tls-ca", "tls-client-ca")
	f.SortFlags = false
}

// startGroups are the groups of flags in the help.
var startGroups = []struct{ title, flags string }{
	{"Address and cluster", "listen advertise join http shards replicas leader-leases hot-key hot"},
	{"Storage and history", "store config disk-reserve-mb history history-every trust-clock"},
	{"Limits", "memory-budget cache-mb max-connections slow-reader"},
	{"TLS and users", "certs-dir tls-cert tls-key tls-ca tls-client-ca require-client-cert insecure"},
	{"Operation and observability", "drain-timeout drain-wait log-format log-level trace-endpoint trace-ratio pprof"},
	{"Tuning", "read-plan"},
	{"For tests and comparison only", "commit-order locks phasing combining reads unsafe-no-sync delay-fsync " +
		"delay-read delay-net"},
}

// resolve sets the flags that the command line has not set, and checks that required ones are set.
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
	err = o.formationOf(c, &opt)
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
	findCertificates(&opt.TLS, o.certsDir)
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

// sharingFlags switch off what makes use of operations that commute.
func sharingFlags(f *pflag.FlagSet, s *shard.Sharing) {
	f.Var(&s.Locks, "locks", "abstract: operations that commute share locks; or rw: read and write locks")
	f.Var(&s.Phasing, "phasing", "on: an operation that commutes with the holders of a lock is granted before "+
		"older waiters; or off")
	f.Var(&s.Combining, "combining", "on: changes of a key in one step are written as one; or off")
}

// formationOf reads --shards and --replicas. The default number of shards depends on that of replicas.
func (o *startOptions) formationOf(c *cobra.Command, opt *embed.Options) error {
	if err := shardsOf(c, opt.Shards); err != nil {
		return err
	}
	if !c.Flags().Changed("shards") {
		opt.Shards = 0
	}
	if c.Flags().Changed("replicas") && kv.CheckReplicas(opt.Replicas) != nil {
		return &cli.UsageError{Text: fmt.Sprintf("--replicas is %d, want 1, 3, 5 or 7", opt.Replicas),
			Command: c.CommandPath()}
	}
	return nil
}

// shardsOf checks --shards; 0 would be the default.
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

// reserveOf reads --disk-reserve-mb. No reserve is a negative one.
func reserveOf(c *cobra.Command, mb int64) (int64, error) {
	if mb < 0 || mb > 1<<30 {
		return 0, &cli.UsageError{Text: fmt.Sprintf("--disk-reserve-mb is %d, want 0 to %d", mb, 1<<30),
			Command: c.CommandPath()}
	}
	if mb == 0 {
		return -1, nil
	}
	return mb << 20, nil
}

// historyOf checks the flags of the history. No history is a negative one.
func historyOf(c *cobra.Command, history, every time.Duration) (time.Duration, time.Duration, error) {
	switch {
	case history < 0 || history > 24*time.Hour:
		return 0, 0, &cli.UsageError{Text: fmt.Sprintf("--history is %v, want 0 to 24h; a snapshot keeps a state for longer",
			history), Command: c.CommandPath()}
	case every < 10*time.Millisecond || every > time.Hour:
		return 0, 0, &cli.UsageError{Text: fmt.Sprintf("--history-every is %v, want 10ms to 1h", every),
			Command: c.CommandPath()}
	case history == 0:
		history = -1
	}
	return history, every, nil
}

// serve runs a node until ctx ends.
func serve(ctx context.Context, s cli.Streams, opt embed.Options) error {
	if opt.UnsafeNoSync {
		fmt.Fprintln(s.Err, "WARNING: --unsafe-no-sync: commits are acknowledged before they are on disk, and a crash "+
			"loses them. Use it for measuring only.")
	}
	if err := embed.TuneMemory(opt); err != nil {
		return err
	}
	i, err := embed.Start(ctx, opt)
	if err != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, embed.ErrDrained)) {
		fmt.Fprintln(s.Err, "linchpin: the node was stopped before it served")
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
