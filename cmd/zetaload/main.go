// Command zetaload makes skewed load on a linchpin cluster, measures it, and
// judges what it saw. docs/zetaload.md is its manual.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() { os.Exit(run()) }

func run() int {
	// The first signal ends the run early and in order; the second is the
	// system's own, which ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	env := environment{
		out: os.Stdout, err: os.Stderr, terminal: term.IsTerminal(int(os.Stderr.Fd())),
		open: openCluster,
	}
	return execute(ctx, env, os.Args[1:])
}

// execute runs one command line and gives the exit code.
func execute(ctx context.Context, env environment, args []string) int {
	root := newRoot(env)
	root.SetArgs(asApplication(args))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitUsage // what cobra itself finds wrong
	if e, ok := errors.AsType[*exitError](err); ok {
		code = e.code
	}
	if err.Error() != "" {
		fmt.Fprintf(env.err, "zetaload: %v\n", err)
	}
	return code
}
