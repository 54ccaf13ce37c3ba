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
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// maxLine bounds a line of a script: the largest value, quoted and escaped, and a
// key.
const maxLine = 5 * kv.MaxTxnBytes

// Command is `linchpin shell`.
func Command(s cli.Streams) *cobra.Command {
	file := defaultHistory()
	cmd := &cobra.Command{
		Use:   "shell",
		Short: "Run commands and transactions interactively",
		Long: `Run commands, without "linchpin" before them, and transactions of several lines on one connection:

  linchpin> incr visits 5
  5
  linchpin> begin
  linchpin(txn)> get alice for update
  12
  linchpin(txn)> put alice 13
  done
  linchpin(txn)> commit
  committed 18ea6a0c3e1a5b7c9f3b2d1e0a4c6f80

In a transaction, lines are operations of "linchpin txn" or commands of data types; status, shards, hot, types, ` +
			`receipts,
waits, snapshot and version run beside it. Outside, several operations with semicolons between them are one transaction.

A syntax error leaves a transaction open. An error of the cluster rolls it back, unless "rollback to" returns to a
savepoint. A transaction lasts at most one minute, and is never retried.

A backslash at the end of a line continues it, and # begins a comment. "help" lists all commands. The history is a file
that only you can read; lines that begin with a space, or have a flag named after a password, secret, token or ` +
			`credential,
are not kept.

If standard input is not a terminal, there is no prompt, and the first error ends the shell with that command's exit
code. An open transaction at the end is rolled back, with exit code 2.`,
		Example: `  linchpin shell
  linchpin shell --addr 10.0.0.1:7070,10.0.0.2:7070
  linchpin shell < setup.txt`,
		Args: cobra.NoArgs,
	}
	cli.Connected(cmd, func(ctx context.Context, db *client.DB, settings cli.Settings) error {
		x := &Shell{db: db, settings: settings, streams: s, interrupts: context.WithCancel}
		if in, ok := s.In.(*os.File); ok && s.Size != nil && term.IsTerminal(int(in.Fd())) {
			// A signal that ends the program ends the shell, but an interrupt cancels what runs.
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			idle := make(chan os.Signal, 1) // an interrupt at the prompt is ignored
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
	cmd.Flags().StringVar(&file, "history", file, "`file` for the history of a terminal; empty for none")
	return cmd
}

// interruptible returns a context that ends at the next interrupt.
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
