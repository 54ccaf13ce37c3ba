package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
)

// Shell reads lines and runs them.
type Shell struct {
	db       *client.DB
	settings cli.Settings
	streams  cli.Streams
	lines    lines
	// interactive: an error does not end it.
	interactive bool
	timing      bool
	// tx is the open transaction, nil if there is none.
	tx *transaction
	// seen are keys of earlier commands, for completion.
	seen seenKeys
	// interrupts returns a context that ends when the user interrupts the running command.
	interrupts func(context.Context) (context.Context, context.CancelFunc)
}

// lines are where input comes from.
type lines interface {
	// line returns the next one. The errors are io.EOF, and errInterrupted for a line that was cancelled.
	line(prompt string) (string, error)
	// done adds a command, of one or several lines, to the history.
	done(command string)
	close()
}

var (
	errInterrupted = errors.New("interrupted")
	errQuit        = errors.New("quit")
)

// run runs commands until the end of the input.
func (s *Shell) run(ctx context.Context) error {
	defer s.lines.close()
	for ctx.Err() == nil {
		command, err := s.read(ctx)
		switch {
		case errors.Is(err, errInterrupted) || ctx.Err() != nil:
			continue
		case errors.Is(err, io.EOF):
			return s.end()
		case err != nil:
			return errors.Join(err, s.end())
		}
		err = s.do(ctx, command)
		s.lines.done(command)
		switch {
		case errors.Is(err, errQuit):
			return s.end()
		case err != nil:
			s.printError(err)
			if !s.interactive {
				s.abandon()
				return cli.Printed(err)
			}
		}
	}
	if s.interactive {
		return s.end()
	}
	open := s.tx != nil
	s.abandon()
	if open {
		return kv.Errorf(kv.KindCancelled, "interrupted; the open transaction is rolled back: nothing was applied")
	}
	return kv.Errorf(kv.KindCancelled, "interrupted")
}

// printError writes an error, and the state of the transaction.
func (s *Shell) printError(err error) {
	st, ok := errors.AsType[*state](err)
	if !ok {
		cli.PrintError(s.streams.Err, err, s.settings.JSON)
		return
	}
	cli.PrintError(s.streams.Err, st.err, s.settings.JSON)
	if s.settings.JSON {
		fmt.Fprintf(s.streams.Err, "{\"transaction\":%q}\n", st.short())
		return
	}
	fmt.Fprintf(s.streams.Err, "The transaction is %s.\n", st.long())
}

// read returns a command: a line, and those that follow while they end in a backslash. On a terminal the
// end of the input cancels an incomplete command.
func (s *Shell) read(ctx context.Context) (string, error) {
	prompt := "linchpin> "
	switch {
	case s.tx != nil && s.tx.failed:
		prompt = "linchpin(failed txn)> "
	case s.tx != nil && s.tx.readOnly:
		prompt = "linchpin(read-only txn)> "
	case s.tx != nil:
		prompt = "linchpin(txn)> "
	}
	command := ""
	for {
		line, err := s.line(ctx, prompt)
		if err != nil {
			if command != "" && errors.Is(err, io.EOF) && !s.interactive {
				return command, nil
			}
			return "", err
		}
		more, ends := strings.CutSuffix(strings.TrimRight(line, " \t\r"), `\`)
		command += more
		if !ends {
			return command, nil
		}
		prompt = "...> "
	}
}

// line waits for a line, or for the end of ctx. A read of standard input cannot be cancelled: its
// goroutine ends with the program.
func (s *Shell) line(ctx context.Context, prompt string) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := s.lines.line(prompt)
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// end rolls back at the end of the input.
func (s *Shell) end() error {
	if s.tx == nil {
		return nil
	}
	s.abandon()
	if s.interactive {
		fmt.Fprintln(s.streams.Err, "The open transaction is rolled back: nothing was applied.")
		return nil
	}
	return &kv.Error{Kind: kv.KindInvalid, Op: -1,
		Text: "the input ends with an open transaction, which is rolled back: nothing was applied",
		Hint: "end it with commit or rollback"}
}

func (s *Shell) abandon() {
	if s.tx != nil {
		s.tx.rollback()
		s.tx = nil
	}
}

// do runs a command. An interrupt or the timeout cancels it, and an open transaction with it.
func (s *Shell) do(ctx context.Context, command string) error {
	if strings.HasPrefix(strings.TrimSpace(command), `\`) {
		return s.set(strings.Fields(command))
	}
	parts, err := txnlang.Words(command)
	if err != nil {
		return s.stillOpen(err)
	}
	if len(parts) == 0 {
		return nil
	}
	for i := range parts { // the first word is a command, which may be in capitals
		parts[i].Words[0] = strings.ToLower(parts[i].Words[0])
	}
	ctx, stop := s.interrupts(ctx)
	defer stop()
	began := time.Now()
	err = s.doWords(ctx, command, parts)
	if s.timing {
		fmt.Fprintf(s.streams.Err, "took %s\n", detail.Duration(time.Since(began)))
	}
	return err
}

func (s *Shell) doWords(ctx context.Context, command string, parts []txnlang.Part) error {
	words := parts[0].Words
	if len(parts) == 1 {
		if own, ok := commands[words[0]]; ok {
			return own.run(s, ctx, words)
		}
	}
	switch {
	case s.tx != nil:
		return s.inTransaction(ctx, parts)
	case len(parts) > 1 || !s.isCommand(words[0]) && txnlang.IsVerb(words[0]):
		return s.command(ctx, []string{"txn", command})
	}
	return s.command(ctx, words)
}

// command runs a command of package cli on this connection, with the shell's settings for flags that the
// line does not have.
func (s *Shell) command(ctx context.Context, words []string) error {
	root := s.root(s.streams.Out, s.streams.Err)
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		return cli.NoCommand(root, words[0])
	}
	path := strings.Fields(strings.TrimPrefix(cmd.CommandPath(), root.Name()))
	root.SetArgs(append(append(path, s.flagsFor(cmd, rest)...), rest...))
	_, err = cli.Run(ctx, root)
	if err != nil {
		return err
	}
	s.seen.note(words)
	return nil
}

// flagsFor are the settings as flags, of those that the command has and the line does not.
func (s *Shell) flagsFor(cmd *cobra.Command, rest []string) (out []string) {
	given := func(name, short string) bool {
		for _, w := range rest {
			if w == "--"+name || strings.HasPrefix(w, "--"+name+"=") || short != "" && strings.HasPrefix(w, "-"+short) {
				return true
			}
		}
		return cmd.Flags().Lookup(name) == nil
	}
	if !given("addr", "") {
		out = append(out, "--addr="+strings.Join(s.settings.Addrs, ","))
	}
	if !given("timeout", "") {
		out = append(out, "--timeout="+s.settings.Timeout.String())
	}
	if s.settings.JSON && !given("output", "o") {
		out = append(out, "--output=json")
	}
	if s.settings.Hex && !given("hex", "") {
		out = append(out, "--hex")
	}
	return out
}

// root has the commands of the command line.
func (s *Shell) root(out, errs io.Writer) *cobra.Command {
	return cli.New(cli.Streams{In: strings.NewReader(""), Out: out, Err: errs, Size: s.streams.Size})
}

func (s *Shell) isCommand(word string) bool {
	cmd, _, err := s.root(io.Discard, io.Discard).Find([]string{word})
	return err == nil && cmd.HasParent()
}

// apart are the commands that read no values of keys, and can run while a transaction is open.
var apart = map[string]bool{"status": true, "shards": true, "hot": true, "types": true, "version": true,
	"receipts": true, "waits": true, "snapshot": true}

// inTransaction runs operations of the open transaction.
func (s *Shell) inTransaction(ctx context.Context, parts []txnlang.Part) error {
	if len(parts) == 1 && apart[parts[0].Words[0]] {
		return s.command(ctx, parts[0].Words)
	}
	statements, err := s.statements(parts)
	if err != nil {
		return s.stillOpen(err)
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	results, err := s.tx.do(ctx, statements)
	if err != nil {
		return s.failed(err)
	}
	for _, p := range parts {
		s.seen.note(p.Words)
	}
	return cli.PrintResults(s.streams.Out, s.settings, statements, results)
}

// statements reads operations: each as in "linchpin txn", or a command of a data type.
func (s *Shell) statements(parts []txnlang.Part) (all []txnlang.Statement, err error) {
	for _, p := range parts {
		name := p.Words[0]
		if !txnlang.IsVerb(name) {
			st, ok, err := cli.ShortcutCall(p.Words)
			switch {
			case err != nil:
				return nil, err
			case ok:
				all = append(all, st)
				continue
			case s.isCommand(name):
				return nil, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: name + " cannot be part of a transaction",
					Hint: "commit or rollback first"}
			}
		}
		more, err := txnlang.Parse(p.Text)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// failed adds the state of the transaction to an error of the cluster.
func (s *Shell) failed(err error) error {
	if !s.tx.over() {
		return &state{err, failedTx}
	}
	s.tx = nil
	return over(err)
}

// state is an error and the state of the transaction after it.
type state struct {
	err error
	now txState
}

type txState int

const (
	openTx txState = iota
	failedTx
	overTx
)

func (e *state) Error() string { return e.err.Error() + ". The transaction is " + e.long() }

func (e *state) Unwrap() error { return e.err }

func (e *state) short() string { return [...]string{"open", "failed", "rolled back"}[e.now] }

func (e *state) long() string {
	return [...]string{"still open", "still open, but continues only after \"rollback to\" a savepoint",
		"rolled back: nothing was applied"}[e.now]
}

// stillOpen adds to an error that the transaction is open.
func (s *Shell) stillOpen(err error) error {
	if s.tx == nil {
		return err
	}
	return &state{err, openTx}
}

// over adds to an error that the transaction is rolled back, unless its outcome is unknown: that error
// has a hint of its own.
func over(err error) error {
	if kv.KindOf(err) == kv.KindOutcomeUnknown {
		return err
	}
	return &state{err, overTx}
}
