package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

type loadFlags struct {
	target
	options  workload.LoadOptions
	progress bool
}

func newLoad(env environment) *cobra.Command {
	var f loadFlags
	d := workload.Options{}.WithDefaults()
	c := &cobra.Command{
		Use:   "load",
		Short: "Write the first value of each key",
		Long: `Write the first value of each key, in transactions of --batch keys. The value
depends only on the number of the key and on --value-size, so that a load can be
repeated. A load that fails reports the --from that continues it.

Without a load, a run finds most keys absent.`,
		Example: `  zetaload load --keys 1000000 --value-size 1024
  zetaload load --keys 1000000 --value-size 1024 --from 341200`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(f.check(), checkPrefix(f.options.Prefix), notZero(c, "keys", "value-size", "batch", "clients",
				"timeout")); err != nil {
				return err
			}
			return f.run(c.Context(), env)
		},
	}
	o, fs := &f.options, c.Flags()
	addTarget(c, &f.target)
	fs.Uint64Var(&o.Keys, "keys", d.Keys, "number of keys, 1 to 10^9")
	fs.IntVar(&o.ValueBytes, "value-size", d.ValueBytes, "size of a value in bytes")
	fs.StringVar(&o.Prefix, "prefix", d.Prefix, "prefix of each key")
	fs.BoolVar(&o.Counters, "counters", false, "create the counters as well")
	fs.Uint64Var(&o.From, "from", 0, "number of the first key to load")
	fs.IntVar(&o.Batch, "batch", 100, "keys of a transaction")
	fs.IntVar(&o.Clients, "clients", d.Clients, "number of clients, each with one transaction in flight")
	fs.DurationVar(&o.Timeout, "timeout", d.Timeout, "deadline of a transaction with its retries")
	fs.BoolVar(&f.progress, "progress", false, "show progress every second even without a terminal")
	fs.SortFlags = false
	return c
}

func (f *loadFlags) run(ctx context.Context, env environment) error {
	if err := f.options.Validate(); err != nil {
		return &exitError{code: exitUsage, err: err, usage: true}
	}
	s, err := env.open(ctx, f.target)
	if err != nil {
		return failed("%w", err)
	}
	defer s.Close()
	show := newProgress(env, f.progress)
	begun := time.Now()
	if show.on {
		f.options.Progress = f.shower(show, begun)
	}
	loaded, err := workload.Load(ctx, s, f.options)
	show.end()
	if err != nil {
		return failed("%w\n%d of %d keys are loaded; to continue: zetaload load --from %d, with the same other flags",
			err, loaded, f.options.Keys, loaded)
	}
	elapsed := time.Since(begun)
	n := loaded - f.options.From
	_, err = fmt.Fprintf(env.out, "loaded %d keys in %.1f s (%.0f keys/s)\n", n, elapsed.Seconds(),
		float64(n)/max(elapsed.Seconds(), 1e-3))
	return err
}

// shower shows the progress of a load at most every second, and at its end.
func (f *loadFlags) shower(show *progress, begun time.Time) func(uint64) {
	last := begun
	return func(loaded uint64) {
		now := time.Now()
		if now.Sub(last) < time.Second && loaded < f.options.Keys {
			return
		}
		last = now
		rate := float64(loaded-f.options.From) / max(now.Sub(begun).Seconds(), 1e-3)
		left := time.Duration(0)
		if rate > 0 {
			left = time.Duration(float64(f.options.Keys-loaded) / rate * float64(time.Second)).Round(time.Second)
		}
		show.line(fmt.Sprintf("%6.1fs %5.1f%%  %d of %d keys  %.0f keys/s  %v left", now.Sub(begun).Seconds(),
			100*float64(loaded)/float64(f.options.Keys), loaded, f.options.Keys, rate, left))
	}
}
