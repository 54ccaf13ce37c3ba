package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/identity"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/pkg/workload/clientstore"
)

// The exit codes, as the help tells them.
const (
	exitOK = 0
	// exitFailed: the store or the history is not as it should be.
	exitFailed = 1
	// exitUsage: the command line, or a file given on it, is at fault.
	exitUsage = 2
)

// exitError is an error with the exit code that it means.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func failed(format string, args ...any) error {
	return &exitError{exitFailed, fmt.Errorf(format, args...)}
}

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// environment is what the commands have from outside.
type environment struct {
	out, err io.Writer
	// terminal: err is one, so progress is shown on a line that changes.
	terminal bool
	// open connects to a cluster.
	open func(ctx context.Context, to target) (store, error)
}

// store is a workload's store that knows where keys live and can be closed.
type store interface {
	workload.Store
	Homes(ctx context.Context) (workload.Homes, error)
	Close() error
}

// target says what to connect to.
type target struct {
	addrs       []string
	connections int
	who         identity.Flags
}

func openCluster(ctx context.Context, to target) (store, error) {
	opts, done, err := to.who.Options()
	if err != nil {
		return nil, err
	}
	s, err := clientstore.Open(ctx, to.addrs, to.connections, opts...)
	if err != nil {
		done()
		return nil, err
	}
	return &identified{s, done}, nil
}

// identified is a store whose certificates are looked after until it is closed.
type identified struct {
	*clientstore.Store
	done func()
}

func (s *identified) Close() error {
	defer s.done()
	return s.Store.Close()
}

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "zetaload",
		Short: "Make skewed load on a linchpin cluster, measure it and judge what it saw",
		Long: `zetaload runs transactions whose keys follow a zeta (Zipf) law on a linchpin
cluster, reports throughput and latency, and can record what every client saw,
to be judged afterwards for strict serializability.

  zetaload load --keys 100000
  zetaload run --skew 1.2 --clients 64 --duration 30s --history h.bin --json r.json
  zetaload check h.bin
  zetaload report r.json other.json
  zetaload app tickets --own-cluster
  zetaload experiment hot-or-not --html page.html

Exit codes: 0 all is well; 1 the store failed (nothing committed, transactions or scans failed
or have no known outcome for other reasons than contention, a violation was found, or an
invariant of an application does not hold); 2 the command line or a file given on it is
at fault.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(env.out)
	root.SetErr(env.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newRun(env), newLoad(env), newCheck(env), newReport(env), newApp(env), newExperiment(env))
	return root
}

// addTarget adds the flags that say where the cluster is.
func addTarget(c *cobra.Command, to *target) {
	c.Flags().StringSliceVar(&to.addrs, "addr", []string{"127.0.0.1:7070"}, "addresses of nodes, `host:port,...`")
	to.who.AddTo(c.Flags())
	c.Flags().IntVar(&to.connections, "connections", 0, "connections to the cluster, dealt over the addresses (0: one for each)")
}

// check refuses what cannot be meant.
func (t target) check() error {
	if len(t.addrs) == 0 {
		return usage("--addr: there is no address")
	}
	if t.connections < 0 || t.connections > maxConnections {
		return usage("--connections %d; want 0 to %d", t.connections, maxConnections)
	}
	return nil
}

const maxConnections = 1024

// checkPrefix refuses an empty prefix, which would stand for the default.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return usage("--prefix is empty; want at least one character")
	}
	return nil
}

// notZero refuses an explicit 0 for flags whose zero would stand for a default.
func notZero(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := c.Flags().Lookup(name); f.Changed && (f.Value.String() == "0" || f.Value.String() == "0s") {
			return usage("--%s must be above 0", name)
		}
	}
	return nil
}
