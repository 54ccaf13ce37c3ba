package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/cli/identity"
	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/load/clientstore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// application is an application of package app as a command.
type application struct {
	name, short, long string
	// flags adds its own flags, and returns a function that makes the application once the
	// flags are parsed.
	flags func(fs *pflag.FlagSet, mix *string) func(e app.Env) (app.App, error)
	// mixes are its mixes, the default first; none if it has no mixes.
	mixes []namedMix
}

type namedMix struct {
	name string
	mix  app.Mix
}

// appFlags are the flags that all applications have.
type appFlags struct {
	target
	own           ownCluster
	options       workload.Options
	transactional bool
	interactive   bool
	mix           string
	json          string
	progress      bool
	make          func(e app.Env) (app.App, error)
}

func newApp(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "app",
		Short: "Run an application and check its invariants",
		Long: `Run an application on data types whose operations commute, and check its
invariants during the run and at its end:

` + listOf(applications) + `
raw-mix, retwis and rubis are the applications of Claret (Holt 2016, chapter 4).

The application loads its data before the measurement, under keys that are new
in each run, and leaves it there. "zetaload run --workload NAME" is the same as
"zetaload app NAME".`,
		Example: `  zetaload app tickets --own-cluster
  zetaload app retwis --scale 12 --mix post-heavy --clients 64 --duration 30s
  zetaload app raw-mix --skew 1 --adds 50 --own-cluster --locks rw
  zetaload app bank --transactional=false`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, a := range applications {
		c.AddCommand(newApplication(env, a))
	}
	return c
}

func listOf(all []application) string {
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "  %-8s  %s\n", a.name, a.short)
	}
	return b.String()
}

// asApplication turns "run --workload NAME", of an application, into "app NAME".
func asApplication(args []string) []string {
	if len(args) == 0 || args[0] != "run" {
		return args
	}
	for i, arg := range args {
		name, joined := strings.CutPrefix(arg, "--workload=")
		rest := i + 1
		if arg == "--workload" && i+1 < len(args) {
			name, joined, rest = args[i+1], true, i+2
		}
		if joined && slices.ContainsFunc(applications, func(a application) bool { return a.name == name }) {
			return append(append([]string{"app", name}, args[1:i]...), args[rest:]...)
		}
	}
	return args
}

func newApplication(env environment, a application) *cobra.Command {
	var f appFlags
	c := &cobra.Command{
		Use: a.name, Short: "Run " + a.short, Long: a.long, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.complete(c); err != nil {
				return err
			}
			return f.run(c, env)
		},
	}
	o, d, fs := &f.options, workload.Options{}.WithDefaults(), c.Flags()
	if a.mixes != nil {
		fs.StringVar(&f.mix, "mix", a.mixes[0].name,
			"`mix` of transactions: "+mixNames(a.mixes)+", or KIND=WEIGHT,... with the kinds "+kindNames(a.mixes[0].mix))
	}
	f.make = a.flags(fs, &f.mix)
	addTarget(c, &f.target)
	f.own.add(fs)
	fs.BoolVar(&f.transactional, "transactional", true,
		"false: send each operation as a transaction of its own; checks fewer invariants")
	fs.BoolVar(&f.interactive, "interactive", false, "send operations one by one instead of one-shot transactions")
	fs.IntVar(&o.Clients, "clients", d.Clients, "number of clients, each with one transaction in flight")
	fs.Float64Var(&o.Rate, "rate", 0, "transactions started per second (0: closed loop)")
	fs.DurationVar(&o.Warmup, "warmup", 0, "time before the measurement")
	fs.DurationVar(&o.Duration, "duration", 0, "time of the measurement (default 10s, or no limit with --count)")
	fs.Uint64Var(&o.Count, "count", 0, "number of transactions to measure (0: no limit)")
	fs.DurationVar(&o.Timeout, "timeout", d.Timeout, "deadline of a transaction with its retries")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed of the keys and transactions (default: random, reported)")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this `file` (-: JSON instead of text)")
	fs.BoolVar(&f.progress, "progress", false, "show progress every second even without a terminal")
	fs.SortFlags = false
	return c
}

func mixNames(all []namedMix) string {
	var names []string
	for _, m := range all {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

func kindNames(m app.Mix) string {
	var names []string
	for _, s := range m {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// mixOf returns the mix with a name, or the one that the text describes.
func mixOf(all []namedMix, text string) (app.Mix, error) {
	for _, m := range all {
		if m.name == text {
			return m.mix, nil
		}
	}
	m, err := all[0].mix.With(text)
	if err != nil {
		return nil, usage("--mix: %w; or use one of %s", err, mixNames(all))
	}
	return m, nil
}

// noZeros are flags whose zero value means the default.
var noZeros = []string{"clients", "timeout", "keys", "ops", "members", "venues", "events", "tickets", "most",
	"accounts", "start", "posts", "users",
	"scale", "followers", "most-followers", "geometric", "items", "regions", "categories", "bids", "rush", "nodes",
	"shards"}

// complete validates the flags and sets the defaults that depend on other flags.
func (f *appFlags) complete(c *cobra.Command) error {
	changed := c.Flags().Changed
	if err := f.check(); err != nil {
		return err
	}
	for _, flag := range noZeros {
		if c.Flags().Lookup(flag) == nil {
			continue
		}
		if err := notZero(c, flag); err != nil {
			return err
		}
	}
	if changed("duration") && f.options.Duration == 0 && f.options.Count == 0 {
		return usage("--duration 0 needs --count, else the run never ends")
	}
	if err := f.own.complete(changed); err != nil {
		return err
	}
	if !f.transactional && f.interactive {
		return usage("--interactive and --transactional=false cannot be used together")
	}
	if !changed("seed") {
		f.options.Seed = rand.Uint64N(1e9)
	}
	f.options = f.options.WithDefaults()
	if err := f.options.Validate(); err != nil {
		return &exitError{code: exitUsage, err: err, usage: true}
	}
	return nil
}

// run runs the application.
func (f *appFlags) run(c *cobra.Command, env environment) (err error) {
	ctx := c.Context()
	json, err := f.jsonFile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, json.close()) }()
	to, stop, err := f.own.start(f.target)
	if err != nil {
		return failed("%w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	s, err := env.open(ctx, to)
	if err != nil {
		return failed("%w", err)
	}
	defer s.Close()
	calls, ok := s.(interface{ Calls() app.DB })
	if !ok {
		return failed("this store has no data types")
	}
	tag := c.Name() + "/" + workload.NewRunTag() + "/"
	a, err := f.make(app.Env{DB: calls.Calls(), Prefix: tag, Clients: f.options.Clients, Seed: f.options.Seed,
		OneByOne: !f.transactional, Interactive: f.interactive})
	if err != nil {
		return &exitError{code: exitUsage, err: err, usage: true}
	}
	show := newProgress(env, f.progress)
	f.options.Progress = show.snapshot()
	defer context.AfterFunc(ctx, func() { show.message("interrupted; waiting for transactions in flight") })()
	show.message("keys begin with " + tag)
	result, runErr := app.Run(ctx, a, f.options, show.message)
	show.end()
	if result == nil {
		return failed("%w", runErr)
	}
	result.Command = repeatFlags(c)
	if err := f.report(env, json, result); err != nil {
		return failed("%w", err)
	}
	switch {
	case errors.Is(runErr, app.ErrBroken):
		return failed("%w: %s", runErr, strings.Join(result.Broken(), "; "))
	case runErr != nil:
		return failed("%w%s", runErr, whyNone(runErr, result))
	}
	return faulty(result)
}

func (f *appFlags) jsonFile() (*wholeFile, error) {
	if f.json == "" || f.json == "-" {
		return nil, nil
	}
	w, err := newWholeFile(f.json)
	if err != nil {
		return nil, usage("--json: %w", err)
	}
	return w, nil
}

func (f *appFlags) report(env environment, json *wholeFile, r *workload.Result) error {
	if f.json == "-" {
		return r.WriteJSON(env.out)
	}
	return errors.Join(r.WriteText(env.out), json.write(r.WriteJSON))
}

// repeatFlags is the command line that repeats a run, with all flags that affect it.
func repeatFlags(c *cobra.Command) string {
	words := strings.Fields(c.CommandPath())
	own := c.Flag("own-cluster").Value.String() == "true"
	c.Flags().VisitAll(func(fl *pflag.Flag) {
		v := fl.Value.String()
		switch {
		case slices.Contains([]string{"json", "progress", "help"}, fl.Name), v == "" || v == "0s" || v == "0" && !fl.Changed:
			return // 0 that was not set means the default
		case slices.Contains(append([]string{"addr", "connections"}, identity.Names...), fl.Name) && own,
			slices.Contains(ownFlags, fl.Name) && !own:
			return
		}
		if s, ok := fl.Value.(pflag.SliceValue); ok {
			v = strings.Join(s.GetSlice(), ",")
		}
		words = append(words, "--"+fl.Name+"="+quote(v))
	})
	return strings.Join(words, " ")
}

var _ interface{ Calls() app.DB } = (*clientstore.Store)(nil)
