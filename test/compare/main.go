// Command compare holds linchpin against other stores at the one thing that most
// of them are slow at: one counter that all clients increment.
//
//	make compare
//	make compare COMPARE='--rounds 9 --stores linchpin,redis'
//
// Clients increment in a closed loop: each waits for the answer before it sends
// the next request, and every answer means that the increment is on disk. All
// servers run at the same time as child processes on the loopback, and are
// measured in turn for several rounds; what is printed are medians over the
// rounds. After each measurement the counter is read, and has to hold what was
// acknowledged.
//
// This is a module of its own, so that the drivers of other stores are no
// dependencies of linchpin.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/test/compare/stores"
)

// options are the flags.
type options struct {
	clients, rounds   int
	warm, measure     time.Duration
	stores            []string
	install, markdown bool
	// linchpin is the path of the program, empty to build it.
	linchpin string
	// dir is where stores live, empty for a temporary directory.
	dir string
	// json is the file that gets the figures, empty for none.
	json string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// keys are the stores as they are called on the command line.
func keys() []string {
	var out []string
	for _, k := range stores.All() {
		out = append(out, k.Key)
	}
	return out
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:          "compare",
		Short:        "One counter that everybody increments, in linchpin and in other stores",
		Args:         cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), c.OutOrStdout(), &o) },
	}
	f := c.Flags()
	f.IntVar(&o.clients, "clients", 64, "how many increment at the same time")
	f.IntVar(&o.rounds, "rounds", 5, "how often each store is measured")
	f.DurationVar(&o.warm, "warm", time.Second, "time before each measurement")
	f.DurationVar(&o.measure, "duration", 4*time.Second, "length of each measurement")
	f.StringSliceVar(&o.stores, "stores", keys(), "which stores run")
	f.BoolVar(&o.install, "install", false, "install what is missing with apt-get; for root on Debian")
	f.StringVar(&o.json, "json", "", "a file for the figures that pages quote (docs/figures/compare.json)")
	f.BoolVar(&o.markdown, "markdown", false, "print the table in Markdown")
	f.StringVar(&o.linchpin, "linchpin", "", "`path` of the program linchpin (default: it is built)")
	f.StringVar(&o.dir, "dir", "", "`directory` for the stores, on the disk to be measured (default: a temporary one)")
	return c
}

// The bounds of the flags keep a run from being endless by mistake.
const (
	mostClients, mostRounds = 1000, 100
	longest                 = 10 * time.Minute
)

// check refuses what cannot be run.
func (o *options) check() error {
	switch {
	case o.clients < 1 || o.clients > mostClients:
		return fmt.Errorf("--clients %d: there are 1 to %d", o.clients, mostClients)
	case o.rounds < 1 || o.rounds > mostRounds:
		return fmt.Errorf("--rounds %d: there are 1 to %d", o.rounds, mostRounds)
	case o.measure <= 0 || o.measure > longest:
		return fmt.Errorf("--duration %v: it takes more than 0 and at most %v", o.measure, longest)
	case o.warm < 0 || o.warm > longest:
		return fmt.Errorf("--warm %v: it takes 0 to %v", o.warm, longest)
	case len(o.stores) == 0:
		return fmt.Errorf("--stores names no store; there are %s", strings.Join(keys(), ", "))
	}
	for _, key := range o.stores {
		if !slices.Contains(keys(), key) {
			return fmt.Errorf("--stores %s: there are %s", key, strings.Join(keys(), ", "))
		}
	}
	return nil
}

// kinds are the stores that were asked for.
func (o *options) kinds() []stores.Kind {
	return slices.DeleteFunc(stores.All(), func(k stores.Kind) bool { return !slices.Contains(o.stores, k.Key) })
}
