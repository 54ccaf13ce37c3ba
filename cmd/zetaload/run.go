package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/workload"
)

// runFlags are the flags of run.
type runFlags struct {
	target
	workload string
	options  workload.Options
	history  string
	json     string
	progress bool
	// bothReaders compares readers on clusters in this process, in so many
	// rounds.
	bothReaders bool
	rounds      int
	sharing     shard.Sharing
}

func newRun(env environment) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a workload and report on it",
		Long: `Run a workload and report on it. Keys follow a zeta law: at --skew 0 all are
alike, at 1 the hottest of a million gets 7 % of the draws, at 2 it gets 61 %.

The workload zeta is a mix of everything. sss is that of the SSS paper: updates
of two keys and read-only transactions of two or more (--read-keys), 5,000 keys,
half of the transactions read-only, 10 clients for each address. hot-or-not is
that of Hot or Not: 10 keys, 90 % read-only, 10 % write-only, 128 clients.

The four shares are weights. When any of them is given, those not given are 0.
With sss and hot-or-not, --read-only alone is a percentage of the transactions,
and the workload's own updates are the others.

Values are new in every run, so a run can be repeated on the same store, with
the command that its report ends with.

With --both-readers there need not be a cluster: two of three nodes each are
started in this process, without fsync, one with readers that take no locks and
one with locking ones. The workload runs on both in turn, for --rounds rounds,
and a table compares them. --workload sss alone then stands for all the mixes
of the paper's figures, and the same under a skew of 1.2.

With --rate the loop is open: transactions start when they are due, and their
latency counts from then. Without it each client starts one after the other.

Interrupt (Ctrl-C) to end a run early; it reports on what was done. Interrupt
again to quit at once.`,
		Example: `  zetaload run --skew 1.2 --clients 64 --duration 30s
  zetaload run --rmw 1 --ops 2 --skew 2 --rate 5000 --clients 512 --duration 1m
  zetaload run --workload sss --read-only 80 --read-keys 16 --locality 50
  zetaload run --workload hot-or-not --skew 1.5
  zetaload run --workload sss --both-readers
  zetaload run --interactive-reads 20 --think-time 10ms --scanners 1 --scan-pace 500
  zetaload run --incr 1 --skew 3 --count 100000 --history h.bin --fresh-keys`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.complete(c); err != nil {
				return err
			}
			if f.bothReaders {
				return f.compareReaders(c, env)
			}
			if err := f.notCompared(c); err != nil {
				return err
			}
			return f.run(c.Context(), env)
		},
	}
	addTarget(c, &f.target)
	f.addKeys(c)
	f.addLoad(c)
	c.Flags().StringVar(&f.history, "history", "", "record every operation in this `file`, for zetaload check")
	c.Flags().StringVar(&f.json, "json", "", "write the report as JSON to this `file`, too (-: to the output, instead)")
	c.Flags().BoolVar(&f.progress, "progress", false, "show progress once a second, also when the error output is no terminal")
	c.Flags().BoolVar(&f.bothReaders, "both-readers", false, "compare readers without locks with locking ones, on clusters in this process")
	c.Flags().IntVar(&f.rounds, "rounds", 3, "how often each runs with --both-readers")
	addSharing(c.Flags(), &f.sharing)
	c.Flags().SortFlags = false
	return c
}

// addKeys adds the flags about keys and transactions.
func (f *runFlags) addKeys(c *cobra.Command) {
	o, d, fs := &f.options, workload.Options{}.WithDefaults(), c.Flags()
	fs.StringVar(&f.workload, "workload", workload.Zeta, "what is run: zeta, sss or hot-or-not; other flags change its parts")
	fs.Uint64Var(&o.Keys, "keys", d.Keys, "number of keys, 1 to 10^9")
	fs.Float64Var(&o.Skew, "skew", 0.99, "exponent of the zeta law, 0 (uniform) or more")
	fs.BoolVar(&o.Shuffle, "shuffle", false, "scatter the hot keys instead of beginning with the hottest")
	fs.DurationVar(&o.MoveHotEvery, "move-hot-every", 0, "move the hot spot to other keys each time this has passed (0: never)")
	fs.Float64Var(&o.Locality, "locality", 0, "per cent of the keys that are drawn from those on the client's node")
	fs.StringVar(&o.Prefix, "prefix", d.Prefix, "what every key begins with")
	fs.BoolVar(&o.FreshKeys, "fresh-keys", false, "use keys of this run's own, which do not exist yet; makes the judge stricter")
	fs.IntVar(&o.Ops, "ops", d.Ops, "keys a transaction draws")
	fs.Var(keyCount{&o.ReadKeys}, "read-keys", "keys a read-only transaction draws, 1 to 256 (default: as --ops)")
	fs.BoolVar(&o.Distinct, "distinct", false, "draw the keys of a transaction without replacement")
	fs.Float64Var(&o.Mix.ReadOnly, "read-only", d.Mix.ReadOnly, "share of transactions that read")
	fs.Float64Var(&o.Mix.WriteOnly, "write-only", d.Mix.WriteOnly, "share of transactions that write")
	fs.Float64Var(&o.Mix.ReadModifyWrite, "rmw", d.Mix.ReadModifyWrite, "share of transactions that read and then write")
	fs.Float64Var(&o.Mix.Increment, "incr", d.Mix.Increment, "share of transactions that add to counters")
	fs.IntVar(&o.ValueBytes, "value-size", d.ValueBytes, "size of values in bytes")
	fs.BoolVar(&o.Interactive, "interactive", false, "send operations one by one instead of all at once")
	fs.Float64Var(&o.InteractiveReads, "interactive-reads", 0, "per cent of the read-only transactions that are interactive")
	fs.DurationVar(&o.ThinkTime, "think-time", 0, "how long an interactive reader thinks between two reads")
}

// addLoad adds the flags about how much, how fast and how long.
func (f *runFlags) addLoad(c *cobra.Command) {
	o, d, fs := &f.options, workload.Options{}.WithDefaults(), c.Flags()
	fs.IntVar(&o.Clients, "clients", d.Clients, "transactions in flight at most")
	fs.IntVar(&o.Scanners, "scanners", 0, "scans of all keys that run beside the transactions, over and over")
	fs.Float64Var(&o.ScanPace, "scan-pace", 0, "pairs that each of them takes in a second (0: as they come)")
	fs.Float64Var(&o.Rate, "rate", 0, "transactions that are due in a second (0: closed loop)")
	fs.DurationVar(&o.Warmup, "warmup", 0, "how long to run before measuring")
	fs.DurationVar(&o.Duration, "duration", 0, "how long to measure (default 10s, or no bound with --count)")
	fs.Uint64Var(&o.Count, "count", 0, "transactions to measure (0: no bound)")
	fs.DurationVar(&o.Timeout, "timeout", d.Timeout, "deadline of a transaction, retries included")
	fs.Uint64Var(&o.Seed, "seed", 0, "determines what is drawn (default: chosen and printed)")
}

// complete checks the flags and fills in what follows from others.
func (f *runFlags) complete(c *cobra.Command) error {
	if err := errors.Join(f.check(), checkPrefix(f.options.Prefix)); err != nil {
		return err
	}
	if err := notZero(c, "keys", "ops", "value-size", "clients", "timeout"); err != nil {
		return err
	}
	changed := func(name string) bool { return c.Flags().Changed(name) }
	if changed("duration") && f.options.Duration == 0 && f.options.Count == 0 {
		return usage("--duration 0 needs a --count, or the run would never end")
	}
	if err := f.published(changed); err != nil {
		return err
	}
	o := &f.options
	if !changed("seed") {
		o.Seed = rand.Uint64N(1e9) // short enough to be told by phone
	}
	*o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return &exitError{exitUsage, err}
	}
	return nil
}

// run does what the flags say.
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
			return failed("--locality: asking the cluster where keys live: %w", err)
		}
	}
	if err := out.begin(f); err != nil {
		return err
	}
	show := newProgress(env, f.progress)
	f.options.Recorder, f.options.Progress = out.recorder(), show.snapshot()
	r, err := workload.New(s, f.options)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer context.AfterFunc(ctx, func() { show.message("interrupted: waiting for what is in flight") })()
	fmt.Fprintf(env.err, "zetaload: seed %d\n", f.options.Seed)
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

// whyNone adds to the error of a run in which nothing committed what kept
// transactions from it.
func whyNone(err error, r *workload.Result) string {
	switch {
	case !errors.Is(err, workload.ErrNothingCommitted):
		return ""
	case len(r.Errors) == 0:
		return "; the measured part was too short"
	}
	s := fmt.Sprintf("; errors by kind: %v", r.Errors)
	for i := range r.Down {
		s += "; " + r.Down[i].String()
	}
	return s
}

// report writes the result where it is wanted.
func (f *runFlags) report(w io.Writer, out *outputs, result *workload.Result) error {
	if f.json == "-" {
		return result.WriteJSON(w)
	}
	if err := result.WriteText(w); err != nil {
		return err
	}
	return out.writeJSON(result)
}
