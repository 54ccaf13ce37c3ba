// Command zetaload runs workloads with hot keys on a linchpin cluster, measures them, and
// checks what the clients saw. docs/zetaload.md is its manual.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/linchpindb/linchpin/pkg/cli"
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

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, env environment, args []string) int {
	root := newRoot(env)
	args = asApplication(args)
	root.SetArgs(args)
	cmd, err := root, cli.Mistakes(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return exitOK
	}
	code, hint := exitUsage, "see: "+cmd.CommandPath()+" --help"
	if u, ok := errors.AsType[*cli.UsageError](err); ok {
		hint = "see: " + u.Command + " --help"
	} else if e, ok := errors.AsType[*exitError](err); ok {
		code = e.code
		if !e.usage {
			hint = ""
		}
	}
	if err.Error() != "" {
		fmt.Fprintf(env.err, "zetaload: %v\n", err)
		if hint != "" {
			fmt.Fprintf(env.err, "hint: %s\n", hint)
		}
	}
	return code
}
