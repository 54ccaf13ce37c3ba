package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

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
	root.AddCommand(putsCommand(&o), syncCommand(&o), hotCommand(&o), sssCommand(&o), footprintCommand(&o),
		longScanCommand(&o), viewsCommand(&o), isolationCommand(&o), updateCommand(&o), adtCommand(&o), neighboursCommand(&o),
		replicasCommand(&o), failoverCommand(&o), nodeRole(), echoRole(), etcdRole())
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
