package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// options are those of every comparison.
type options struct {
	rounds        int
	warm, measure time.Duration
	// dir is where stores live; empty for a temporary directory.
	dir string
	// profile is where nodes leave profiles; empty for none.
	profile string
	callers int
	keys    int
	// only selects variants by a part of their names; selects: it has selected one.
	only    string
	selects bool
}

// selected are the variants that --only lets pass.
func (o *options) selected(vs ...rounds.Variant) []rounds.Variant {
	return slices.DeleteFunc(vs, func(v rounds.Variant) bool { return !o.selectsName(v.Name) })
}

// selectsName reports whether --only lets a name pass.
func (o *options) selectsName(name string) bool {
	if !strings.Contains(name, o.only) {
		return false
	}
	o.selects = true
	return true
}

// checkOnly refuses an --only that has selected nothing.
func (o *options) checkOnly() error {
	if o.only == "" || o.selects {
		return nil
	}
	return fmt.Errorf("--only %q selects nothing: it is no part of a variant's name, or this comparison has none to select", o.only)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	root := &cobra.Command{Use: "bench", Short: "Hold linchpin against its targets for speed", SilenceUsage: true}
	f := root.PersistentFlags()
	f.IntVar(&o.rounds, "rounds", 5, "how often each variant runs")
	f.DurationVar(&o.warm, "warm", time.Second, "time before each measurement")
	f.DurationVar(&o.measure, "measure", 4*time.Second, "length of each measurement")
	f.StringVar(&o.dir, "dir", "", "`directory` for stores (default: a temporary one)")
	f.StringVar(&o.profile, "profile", "", "`directory` for CPU and mutex profiles of the nodes")
	f.IntVar(&o.callers, "callers", 128, "concurrent callers")
	f.IntVar(&o.keys, "keys", 100_000, "number of keys")
	f.StringVar(&o.only, "only", "", "run only variants whose names contain this")
	root.AddCommand(putsCommand(&o), syncCommand(&o), hotCommand(&o), sssCommand(&o), footprintCommand(&o), longScanCommand(&o), viewsCommand(&o), isolationCommand(&o), updateCommand(&o), adtCommand(&o), neighboursCommand(&o), nodeRole(), echoRole())
	var done func() error
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) (err error) {
		name := ""
		if o.profile != "" && !c.Hidden {
			name = filepath.Join(o.profile, "client")
		}
		done, err = profiled(name)
		return err
	}
	root.PersistentPostRunE = func(*cobra.Command, []string) error { return errors.Join(done(), o.checkOnly()) }
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// workDir makes a directory for stores and says how to remove it.
func (o *options) workDir() (string, func(), error) {
	dir, err := os.MkdirTemp(o.dir, "linchpin-bench-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
