package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// runFlags are the flags of run.
type runFlags struct {
	target
	workload string
	options  workload.Options
	history  string
	json     string
	progress bool
}

func newRun(env environment) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a workload and report throughput and latency",
		Long: `Run a workload and report throughput and latency. Keys follow a Zipf
distribution: with --skew 0 all of a million keys are equally likely, with 1
the hottest key gets 7 % of the draws, with 2 it gets 61 %.

--workload chooses the defaults of the other flags:
  zeta        reads, writes, read-modify-writes and increments of 4 keys
  sss         the SSS paper: half updates of 2 keys, half read-only transactions
              of 2 keys (--read-keys), 5,000 keys, 10 clients an address
  hot-or-not  the paper Hot or Not: 10 keys, 90 % read-only, 10 % write-only,
              128 clients

--read-only, --write-only, --rmw and --incr are weights. If one is set, the
others are 0. With sss and hot-or-not, --read-only alone is a percentage of all
transactions, and the updates of the workload are the rest.

Without --rate each client starts a transaction when its last one ends (closed
loop). With --rate transactions start at fixed times (open loop), and latency
counts from then.

Each report ends with the command that repeats the run. A run writes new values,
so that it can be repeated on the same store.

Ctrl-C ends a run early with a report. A second Ctrl-C exits at once.`,
		Example: `  zetaload run --skew 1.2 --clients 64 --duration 30s
  zetaload run --rmw 1 --ops 2 --skew 2 --rate 5000 --clients 512 --duration 1m
  zetaload run --workload sss --read-only 80 --read-keys 16 --locality 50
  zetaload run --workload hot-or-not --skew 1.5
  zetaload run --interactive-reads 20 --think-time 10ms
  zetaload run --scanners 1 --scan-pace 500
  zetaload run --incr 1 --skew 3 --count 100000 --history h.bin --fresh-keys`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.complete(c); err != nil {
				return err
			}
			return f.run(c.Context(), env)
		},
	}
	addTarget(c, &f.target)
	f.addKeys(c)
	f.addLoad(c)
	c.Flags().StringVar(&f.history, "history", "", "record each operation in this `file`")
	c.Flags().StringVar(&f.json, "json", "", "write the report as JSON to this `file` (-: JSON instead of text)")
	c.Flags().BoolVar(&f.progress, "progress", false, "show progress every second even without a terminal")
	c.Flags().SortFlags = false
	return c
}

// addKeys adds the flags of keys and transactions.
func (f *runFlags) addKeys(c *cobra.Command) {
	o, d, fs := &f.options, workload.Options{}.WithDefaults(), c.Flags()
	fs.StringVar(&f.workload, "workload", workload.Zeta,
		"`name` of the workload: zeta, sss or hot-or-not, or an application")
	fs.Uint64Var(&o.Keys, "keys", d.Keys, "number of keys, 1 to 10^9")
	fs.Float64Var(&o.Skew, "skew", 0.99, "exponent of the Zipf distribution, 0 (uniform) or more")
	fs.BoolVar(&o.Shuffle, "shuffle", false, "scatter the hot keys over the keyspace; else the first keys are the hottest")
	fs.DurationVar(&o.MoveHotEvery, "move-hot-every", 0, "interval at which the hot spot moves to other keys (0: never)")
	fs.Float64Var(&o.Locality, "locality", 0, "percentage of keys drawn from those whose home is the client's node")
	fs.StringVar(&o.Prefix, "prefix", d.Prefix, "prefix of each key")
	fs.BoolVar(&o.FreshKeys, "fresh-keys", false,
		"use new keys, which are absent at the start; makes the checker stricter")
	fs.IntVar(&o.Ops, "ops", d.Ops, "keys of a transaction")
	fs.Var(keyCount{&o.ReadKeys}, "read-keys", "keys of a read-only transaction, 1 to 256 (default: --ops)")
	fs.BoolVar(&o.Distinct, "distinct", false, "draw the keys of a transaction without repetition")
	fs.Float64Var(&o.Mix.ReadOnly, "read-only", d.Mix.ReadOnly, "share of read-only transactions")
	fs.Float64Var(&o.Mix.WriteOnly, "write-only", d.Mix.WriteOnly, "share of transactions that only write")
	fs.Float64Var(&o.Mix.ReadModifyWrite, "rmw", d.Mix.ReadModifyWrite, "share of read-modify-write transactions")
	fs.Float64Var(&o.Mix.Increment, "incr", d.Mix.Increment, "share of transactions that increment counters")
	fs.IntVar(&o.ValueBytes, "value-size", d.ValueBytes, "size of a value in bytes")
	fs.BoolVar(&o.Interactive, "interactive", false, "send operations one by one instead of one-shot transactions")
	fs.Float64Var(&o.InteractiveReads, "interactive-reads", 0, "percentage of read-only transactions that are interactive")
	fs.DurationVar(&o.ThinkTime, "think-time", 0, "pause of an interactive read-only transaction between two reads")
}

// addLoad adds the flags of clients, rates and times.
func (f *runFlags) addLoad(c *cobra.Command) {
	o, d, fs := &f.options, workload.Options{}.WithDefaults(), c.Flags()
	fs.IntVar(&o.Clients, "clients", d.Clients, "number of clients, each with one transaction in flight")
	fs.IntVar(&o.Scanners, "scanners", 0, "number of scanners, which scan all keys repeatedly during the run")
	fs.Float64Var(&o.ScanPace, "scan-pace", 0, "pairs per second of each scanner (0: no limit)")
	fs.Float64Var(&o.Rate, "rate", 0, "transactions started per second (0: closed loop)")
	fs.DurationVar(&o.Warmup, "warmup", 0, "time before the measurement")
	fs.DurationVar(&o.Duration, "duration", 0, "time of the measurement (default 10s, or no limit with --count)")
	fs.Uint64Var(&o.Count, "count", 0, "number of transactions to measure (0: no limit)")
	fs.DurationVar(&o.Timeout, "timeout", d.Timeout, "deadline of a transaction with its retries")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed of the keys and transactions (default: random, reported)")
}

// complete validates the flags and sets the defaults that depend on other flags.
func (f *runFlags) complete(c *cobra.Command) error {
	if err := errors.Join(f.check(), checkPrefix(f.options.Prefix)); err != nil {
		return err
	}
	if err := notZero(c, "keys", "ops", "value-size", "clients", "timeout"); err != nil {
		return err
	}
	changed := func(name string) bool { return c.Flags().Changed(name) }
	if changed("duration") && f.options.Duration == 0 && f.options.Count == 0 {
		return usage("--duration 0 needs --count, else the run never ends")
	}
	if err := f.published(changed); err != nil {
		return err
	}
	o := &f.options
	if !changed("seed") {
		o.Seed = rand.Uint64N(1e9) // short enough to type
	}
	*o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return &exitError{code: exitUsage, err: err, usage: true}
	}
	return nil
}

// run runs the workload.
func (f *runFlags) run(ctx context.Context, env environment) (err error) {
	out, err := f.outputs()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	s, err := env.open(ctx, f.target)
	if err != nil {
		return failed("%w", err)
	}
	defer s.Close()
	if f.options.Locality > 0 {
		f.options.Homes, err = s.Homes(ctx)
		if err != nil {
			return failed("--locality: the homes of the keys are not known: %w", err)
		}
	}
	if err := out.begin(f); err != nil {
		return err
	}
	show := newProgress(env, f.progress)
	f.options.Recorder, f.options.Progress = out.recorder(), show.snapshot()
	r, err := workload.New(s, f.options)
	if err != nil {
		return &exitError{code: exitUsage, err: err, usage: true}
	}
	defer context.AfterFunc(ctx, func() { show.message("interrupted; waiting for transactions in flight") })()
	result, runErr := r.Run(ctx)
	show.end()
	result.Command = f.repeat()
	if err := f.report(env.out, out, result); err != nil {
		return failed("%w", err)
	}
	if runErr != nil {
		return failed("%w%s", runErr, whyNone(runErr, result))
	}
	return faulty(result)
}

// faulty is the error of a run in which transactions or scans failed for other reasons than
// contention, nil if none did.
func faulty(r *workload.Result) error {
	why := r.Fault()
	if why == "" {
		return nil
	}
	return failed("%s", why)
}

// whyNone says why no transaction of a run committed; "" for other errors.
func whyNone(err error, r *workload.Result) string {
	switch {
	case !errors.Is(err, workload.ErrNothingCommitted):
		return ""
	case len(r.Errors) == 0:
		return "; the measured time was too short"
	}
	s := fmt.Sprintf("; errors by kind: %v", r.Errors)
	for i := range r.Down {
		s += "; " + r.Down[i].String()
	}
	return s
}

// report writes the result.
func (f *runFlags) report(w io.Writer, out *outputs, result *workload.Result) error {
	if f.json == "-" {
		return result.WriteJSON(w)
	}
	if err := result.WriteText(w); err != nil {
		return err
	}
	return out.writeJSON(result)
}
