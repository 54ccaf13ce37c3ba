package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/identity"
	"github.com/linchpindb/linchpin/pkg/load/clientstore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// The exit codes; the help of the root has them.
const (
	exitOK = 0
	// exitFailed: the store failed, or the history has a violation.
	exitFailed = 1
	// exitUsage: the command line, or a file on it, is wrong.
	exitUsage = 2
)

// exitError is an error with its exit code. usage: the command line is wrong, and the help
// of the command shows how it is right.
type exitError struct {
	code  int
	err   error
	usage bool
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func failed(format string, args ...any) error {
	return &exitError{code: exitFailed, err: fmt.Errorf(format, args...)}
}

func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...), usage: true}
}

// environment is the terminal and the cluster, which tests replace.
type environment struct {
	out, err io.Writer
	// terminal: err is a terminal, so progress is shown in place.
	terminal bool
	// open connects to a cluster.
	open func(ctx context.Context, to target) (store, error)
}

// store is a workload's store that knows the homes of keys and can be closed.
type store interface {
	workload.Store
	Homes(ctx context.Context) (workload.Homes, error)
	Close() error
}

// target is the cluster to connect to.
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

// identified is a store whose certificates are reloaded until it is closed.
type identified struct {
	*clientstore.Store
	done func()
}

func (s *identified) Close() error {
	defer s.done()
	return s.Store.Close()
}

// addTarget adds the flags of the connection to the cluster.
func addTarget(c *cobra.Command, to *target) {
	c.Flags().StringSliceVar(&to.addrs, "addr", []string{"127.0.0.1:7070"}, "addresses of nodes: `HOST:PORT,...`")
	to.who.AddTo(c.Flags())
	c.Flags().IntVar(&to.connections, "connections", 0,
		"number of connections, spread over the addresses (0: one for each)")
}

// check validates the addresses and connections.
func (t target) check() error {
	if len(t.addrs) == 0 {
		return usage("--addr has no address; want HOST:PORT, or several with commas")
	}
	if t.connections < 0 || t.connections > maxConnections {
		return usage("--connections is %d, want 0 to %d", t.connections, maxConnections)
	}
	return nil
}

const maxConnections = 1024

// checkPrefix rejects an empty prefix, which would mean the default.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return usage("--prefix is empty, want at least one character")
	}
	return nil
}

// notZero rejects an explicit 0 of flags whose zero value means the default.
func notZero(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := c.Flags().Lookup(name); f.Changed && (f.Value.String() == "0" || f.Value.String() == "0s") {
			return usage("--%s is 0, want more than 0", name)
		}
	}
	return nil
}
