// Linchpin is the server, the demo cluster and the command line of linchpin.
//
// This file only assembles: the commands that talk to a cluster are in package
// cli, and those that run one beside it here.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/linchpindb/linchpin/pkg/cli"
)

func main() {
	// The first signal ends what is under way, a second one the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Height: heightOf(os.Stdout)}, os.Args[1:]))
}

// heightOf is how many lines a terminal has; nil if f is none.
func heightOf(f *os.File) func() int {
	if !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() int {
		_, h, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return h
	}
}

// run runs one command line and returns the exit code.
func run(ctx context.Context, s cli.Streams, args []string) int {
	root := cli.New(s)
	root.AddCommand(servers(s)...)
	return cli.Main(ctx, root, args)
}

// servers are the commands that run nodes.
func servers(s cli.Streams) []*cobra.Command {
	return []*cobra.Command{startCommand(s), demoCommand(s)}
}
