// Package program is the linchpin program: its command line, with the commands
// that run servers. It is a package, and not only cmd/linchpin, so that a program
// with data types of its own is one as well:
//
//	package main
//
//	import (
//		"github.com/linchpindb/linchpin/pkg/program"
//
//		_ "example.org/votes/tally" // declares its type when it is initialized
//	)
//
//	func main() { program.Main() }
//
// docs/own-types.md shows how a type is declared.
package program

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/cli/shell"
)

// Main runs the program's command line, and exits.
func Main() {
	// The first signal ends what runs, a second one the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	// A closed pipe is an error of the write: a command that has changed something reports that, and a
	// node does not end because nothing reads its log.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(ctx, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Size: sizeOf(os.Stdout),
		Raw: !term.IsTerminal(int(os.Stdout.Fd()))}, os.Args[1:]))
}

// sizeOf returns the number of lines and columns of a terminal, 0 for unknown; nil if f is not one.
func sizeOf(f *os.File) func() (lines, columns int) {
	if !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() (lines, columns int) {
		columns, lines, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return lines, columns
	}
}

// run runs one command line and returns the exit code.
func run(ctx context.Context, s cli.Streams, args []string) int {
	root := cli.New(s)
	root.AddCommand(added(s)...)
	return cli.Main(ctx, root, args)
}

// added are the commands beside those of package cli.
func added(s cli.Streams) []*cobra.Command {
	return []*cobra.Command{startCommand(s), demoCommand(s), checkTypesCommand(s), configCommand(s), shell.Command(s)}
}
