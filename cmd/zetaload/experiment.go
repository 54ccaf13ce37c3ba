package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/embed/hotornot"
)

func newExperiment(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "experiment",
		Short: "Repeat an experiment of a paper, on clusters of its own",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newHotOrNot(env))
	return c
}

// experimentFlags are the flags of an experiment.
type experimentFlags struct {
	options hotornot.Options
	modes   []string
	// files are what is written beside the table.
	csv, json, svg, html string
}

func newHotOrNot(env environment) *cobra.Command {
	f := experimentFlags{options: hotornot.Defaults()}
	c := &cobra.Command{
		Use:   "hot-or-not",
		Short: "Latency against skew, with and without a hot shard (Lam and Helt 2019)",
		Long: `Latency against skew, with and without a hot shard: the experiment of Lam and
Helt, Hot or Not. There need not be a cluster: three nodes that serve gRPC are
started in this process for each measurement, with a delay between any two of
them, and what they store is removed.

Each transaction has 10 keys, possibly repeated; 90 % are read-only and 10 %
write-only, all one-shot. The modes:

  reference  readers lock, all shards are decided at once, nothing is moved
  0, 1, 10   so many of the hottest keys on the hot shard from the beginning,
             nothing moved; readers without locks
  auto       keys are moved to the hot shard as they get hot

Every mode at every skew is measured once a round, in turn, and the table has
medians over the rounds. Only the hottest keys (--load) exist at the beginning.

Interrupt (Ctrl-C) to end it early; it reports on what was done. Interrupt again
to quit at once.`,
		Example: `  zetaload experiment hot-or-not --html hot-or-not.html --csv hot-or-not.csv
  zetaload experiment hot-or-not --skews 1,1.4 --modes reference,auto --rounds 1 --duration 2s`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.complete(c); err != nil {
				return err
			}
			return f.run(c.Context(), env)
		},
	}
	o, fs := &f.options, c.Flags()
	for _, m := range o.Modes {
		f.modes = append(f.modes, m.String())
	}
	fs.Float64SliceVar(&o.Skews, "skews", o.Skews, "exponents of the zeta law, 0 (uniform) or more")
	fs.StringSliceVar(&f.modes, "modes", f.modes, "what is compared: reference, auto, and numbers of hot keys")
	fs.Uint64Var(&o.Keys, "keys", o.Keys, "number of keys, 1 to 10^9")
	fs.Uint64Var(&o.Load, "load", o.Load, "keys that exist at the beginning, hottest first (default 10000, or all if there are fewer)")
	fs.IntVar(&o.Clients, "clients", o.Clients, "transactions in flight")
	fs.DurationVar(&o.Delay, "delay-net", o.Delay, "what a message between two nodes takes, one way")
	fs.BoolVar(&o.Fsync, "fsync", false, "with fsync; the default leaves the disk out of it")
	fs.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes of each cluster")
	fs.IntVar(&o.Shards, "shards", o.Shards, "shards of each cluster, besides the hot one")
	fs.DurationVar(&o.Duration, "duration", o.Duration, "how long each measurement is")
	fs.DurationVar(&o.Warm, "warm", o.Warm, "how long to run before each")
	fs.DurationVar(&o.Settle, "settle", o.Settle, "how long mode auto runs before that, to move keys")
	fs.IntVar(&o.Rounds, "rounds", o.Rounds, "how often each mode is measured at each skew")
	fs.Uint64Var(&o.Seed, "seed", 0, "determines what is drawn (default: chosen and told)")
	fs.StringVar(&f.csv, "csv", "", "write the medians as CSV to this `file`")
	fs.StringVar(&f.json, "json", "", "write medians and all rounds as JSON to this `file`")
	fs.StringVar(&f.svg, "svg", "", "draw median latency against skew in this `file`")
	fs.StringVar(&f.html, "html", "", "write a page with pictures and the table to this `file`")
	fs.SortFlags = false
	fs.Lookup("load").DefValue = "0" // what the default is, the usage tells
	return c
}

// complete checks the flags and fills in what follows from others.
func (f *experimentFlags) complete(c *cobra.Command) error {
	o := &f.options
	o.Modes = nil
	for _, text := range f.modes {
		m, err := hotornot.ParseMode(strings.TrimSpace(text))
		if err != nil {
			return usage("--modes: %w", err)
		}
		o.Modes = append(o.Modes, m)
	}
	if !c.Flags().Changed("load") {
		o.Load = min(o.Load, o.Keys)
	}
	if !c.Flags().Changed("seed") {
		o.Seed = rand.Uint64N(1e9)
	}
	if err := o.Validate(); err != nil {
		return &exitError{exitUsage, err}
	}
	return nil
}

func (f *experimentFlags) run(ctx context.Context, env environment) (err error) {
	o := &f.options
	wanted := []struct {
		flag, path string
		write      func(*hotornot.Result, io.Writer) error
	}{
		{"--csv", f.csv, (*hotornot.Result).WriteCSV}, {"--json", f.json, (*hotornot.Result).WriteJSON},
		{"--svg", f.svg, (*hotornot.Result).WriteSVG}, {"--html", f.html, (*hotornot.Result).WriteHTML},
	}
	// A path that cannot be written is found out before hours have passed.
	files := make([]*wholeFile, len(wanted))
	for i, w := range wanted {
		files[i], err = newWholeFile(w.path)
		if err != nil {
			return usage("%s: %w", w.flag, err)
		}
		defer func() { err = errors.Join(err, files[i].close()) }()
	}
	o.Dir, err = os.MkdirTemp("", "zetaload-")
	if err != nil {
		return failed("%w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	o.Progress = env.err
	defer context.AfterFunc(ctx, func() { fmt.Fprintln(env.err, "zetaload: interrupted: waiting for what is in flight") })()
	r, err := hotornot.Run(ctx, *o)
	if err != nil {
		return failed("%w", err)
	}
	if len(r.Measured()) == 0 {
		return failed("interrupted before anything was measured")
	}
	r.Command = f.repeat()
	for i, w := range wanted {
		if err := files[i].write(func(out io.Writer) error { return w.write(r, out) }); err != nil {
			return failed("%s: %w", w.flag, err)
		}
	}
	if err := r.WriteText(env.out); err != nil {
		return failed("%w", err)
	}
	_, err = fmt.Fprintf(env.out, "repeat: %s\n", r.Command)
	return err
}

// repeat is the command line that repeats the experiment, without its files.
func (f *experimentFlags) repeat() string {
	o := &f.options
	var skews, modes []string
	for _, s := range o.Skews {
		skews = append(skews, strconv.FormatFloat(s, 'g', -1, 64))
	}
	for _, m := range o.Modes {
		modes = append(modes, m.String())
	}
	text := fmt.Sprintf("zetaload experiment hot-or-not --skews %s --modes %s --keys %d --load %d --clients %d --delay-net %v --nodes %d --shards %d --duration %v --warm %v --settle %v --rounds %d --seed %d",
		strings.Join(skews, ","), strings.Join(modes, ","), o.Keys, o.Load, o.Clients, o.Delay, o.Nodes, o.Shards, o.Duration, o.Warm, o.Settle, o.Rounds, o.Seed)
	if o.Fsync {
		text += " --fsync"
	}
	return text
}
