package shell

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

type typeInfo = pb.TypeInfo

// maxLine bounds a line of a script: the largest value, quoted and escaped, and a
// key.
const maxLine = 5 * kv.MaxTxnBytes

// Command is `linchpin shell`.
func Command(s cli.Streams) *cobra.Command {
	file := defaultHistory()
	cmd := &cobra.Command{
		Use:   "shell",
		Short: "Type commands and transactions, one line after the other",
		Long: `Type commands, without "linchpin" before them, on one connection, and transactions of
several lines: begin, operations as "linchpin txn" has them or commands of data types,
and commit or rollback. "help" lists what there is, "help COMMAND" has examples.

On a terminal there is a history (up and down, Ctrl-R), kept in a file that only you
can read, and completion (tab) of commands, flags, keys and methods. Lines that begin
with a space are not kept. Ctrl-C gives a line up, or ends what runs; Ctrl-D ends the shell.

Elsewhere the lines are read from standard input, and the first error ends it, with the
exit code of that command.`,
		Example: `  linchpin shell
  linchpin shell --addr 10.0.0.1:7070,10.0.0.2:7070
  linchpin shell < setup.txt`,
		Args: cobra.NoArgs,
	}
	cli.Connected(cmd, func(ctx context.Context, db *client.DB, settings cli.Settings) error {
		x := &Shell{db: db, settings: settings, streams: s, interrupts: context.WithCancel}
		if in, ok := s.In.(*os.File); ok && s.Size != nil && term.IsTerminal(int(in.Fd())) {
			// What ends the program, or the terminal, ends the shell; but an interrupt is for what runs.
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			idle := make(chan os.Signal, 1) // nobody's
			signal.Notify(idle, os.Interrupt)
			defer signal.Stop(idle)
			x.interactive, x.interrupts = true, interruptible
			x.lines = edit(x, history{file}, s.Err)
			fmt.Fprintln(s.Out, `Type "help" for help, Ctrl-D to end.`)
		} else {
			lines := bufio.NewScanner(s.In)
			lines.Buffer(nil, maxLine)
			x.lines = script{lines}
		}
		return x.run(ctx)
	})
	cmd.Flags().StringVar(&file, "history", file, "`file` to keep what is typed on a terminal in; empty for none")
	return cmd
}

// interruptible ends a context at the next interrupt.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

// flagNames are those of a command that are not hidden.
func flagNames(cmd *cobra.Command) (out []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			out = append(out, f.Name)
		}
	})
	return out
}
