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

	"github.com/linchpindb/linchpin/pkg/cli"
)

func main() {
	// The first signal ends what is under way, a second one the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
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
