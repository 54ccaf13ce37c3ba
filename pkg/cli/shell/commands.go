package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// own is a command that only the shell has.
type own struct {
	usage, short string
	// long is what help has to say besides, and example what to type.
	long, example string
	run           func(s *Shell, ctx context.Context, words []string) error
}

// commands are the shell's own. It is filled by init, since help looks at it.
var commands map[string]*own

func init() {
	quit := &own{"exit", "End the shell", "So does Ctrl-D, or quit. An open transaction is rolled back.", "exit",
		func(*Shell, context.Context, []string) error { return errQuit }}
	commands = map[string]*own{
		"begin": {"begin [read-only]", "Open a transaction", `The lines behind it are its operations, as "linchpin txn" has them, or commands of data
types, until commit or rollback. What they read is locked, so that it stays true; with
read-only nothing is locked and nothing can be written. A transaction lasts a minute at
most. An error of the cluster ends it.`, "begin\nget alice for update\nput alice 12\nadd visits 1\ncommit", (*Shell).begin},
		"commit": {"commit", "Commit the open transaction", "When it returns, all that the transaction wrote is durable, and what it read was so.", "commit", (*Shell).commit},
		"rollback": {"rollback [to NAME]", "Give the open transaction up, or go back to a savepoint", `Nothing of the transaction is applied; with a name nothing of what it has written since that
savepoint, and it goes on from there, also after an error that a line has met since.`, "savepoint before\nput a 1\nrollback to before", (*Shell).rollback},
		"savepoint": {"savepoint NAME", "Mark a place in the open transaction to go back to", `Behind a savepoint an error of the cluster does not end the transaction, unless it had to give
way to another one.`, "savepoint before", (*Shell).savepoint},
		"release": {"release NAME", "Forget a savepoint, and those behind it", "What was written stays.", "release before", (*Shell).release},
		"help":    {"help [COMMAND]", "List the commands, or explain one", "", "help zadd", (*Shell).help},
		"exit":    quit, "quit": quit,
	}
	// As Redis has them.
	commands["multi"], commands["exec"], commands["discard"] = commands["begin"], commands["commit"], commands["rollback"]
}

func (s *Shell) begin(ctx context.Context, words []string) error {
	readOnly := len(words) == 2 && (words[1] == "read-only" || words[1] == "readonly")
	switch {
	case s.tx != nil:
		return s.stillOpen(&kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "there is a transaction already, and none within another", Hint: "commit it, or rollback"})
	case len(words) > 2 || len(words) == 2 && !readOnly:
		return &cli.UsageError{Text: fmt.Sprintf("begin can be read-only, and not %q", strings.Join(words[1:], " ")), Command: "linchpin shell"}
	}
	s.tx = begin(context.WithoutCancel(ctx), s.db, readOnly)
	return nil
}

func (s *Shell) commit(ctx context.Context, words []string) error {
	t, err := s.ending(words)
	if err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if t.failed {
		return &state{&kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "a line of the transaction has failed", Hint: "rollback to a savepoint, or rollback"}, failedTx}
	}
	s.tx = nil
	if err := t.commit(ctx); err != nil {
		return over(err)
	}
	if t.outcome.ID.IsZero() {
		fmt.Fprintln(s.streams.Err, "The transaction had no operations.")
		return nil
	}
	return cli.PrintCommitted(s.streams.Out, s.settings, &t.outcome)
}

func (s *Shell) rollback(ctx context.Context, words []string) error {
	if len(words) == 3 && words[1] == "to" {
		return s.mark(ctx, words[2], on.RollbackTo)
	}
	t, err := s.ending(words)
	if err != nil {
		return err
	}
	t.rollback()
	s.tx = nil
	fmt.Fprintln(s.streams.Err, "rolled back: nothing of the transaction is applied")
	return nil
}

func (s *Shell) savepoint(ctx context.Context, words []string) error {
	return s.named(ctx, words, on.Savepoint)
}

func (s *Shell) release(ctx context.Context, words []string) error {
	return s.named(ctx, words, on.Release)
}

func (s *Shell) named(ctx context.Context, words []string, what func(on, string) error) error {
	if len(words) != 2 {
		return s.stillOpen(&cli.UsageError{Text: words[0] + " takes the name of a savepoint", Command: "linchpin shell"})
	}
	return s.mark(ctx, words[1], what)
}

// mark does something about a savepoint.
func (s *Shell) mark(ctx context.Context, name string, what func(on, string) error) error {
	switch {
	case s.tx == nil:
		return errNone
	case s.tx.readOnly:
		return s.stillOpen(errReads)
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if err := s.tx.mark(ctx, func(tx on) error { return what(tx, name) }); err != nil {
		return s.failed(err)
	}
	s.tx.marked = true
	return nil
}

var errNone = &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "there is no open transaction", Hint: "begin opens one"}

// bounded ends a context after the timeout.
func (s *Shell) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.settings.Timeout > 0 {
		return context.WithTimeout(ctx, s.settings.Timeout)
	}
	return context.WithCancel(ctx)
}

// ending is the transaction that is to end.
func (s *Shell) ending(words []string) (*transaction, error) {
	switch {
	case s.tx == nil:
		return nil, errNone
	case len(words) > 1:
		return nil, s.stillOpen(&cli.UsageError{Text: fmt.Sprintf("%s: that is not for %s", strings.Join(words, " "), words[0]), Command: "linchpin shell"})
	}
	return s.tx, nil
}

// set does what begins with a backslash.
func (s *Shell) set(words []string) error {
	bad := func(want string) error {
		return s.stillOpen(&cli.UsageError{Text: fmt.Sprintf("%s: want %s", strings.Join(words, " "), want), Command: "linchpin shell"})
	}
	switch words[0] {
	case `\timing`, `\hex`:
		to := &s.timing
		if words[0] == `\hex` {
			to = &s.settings.Hex
		}
		switch {
		case len(words) == 1:
			*to = !*to
		case len(words) == 2 && (words[1] == "on" || words[1] == "off"):
			*to = words[1] == "on"
		default:
			return bad(words[0] + " [on|off]")
		}
		fmt.Fprintf(s.streams.Err, "%s is %s\n", words[0][1:], map[bool]string{true: "on", false: "off"}[*to])
	case `\output`:
		if len(words) != 2 || words[1] != "table" && words[1] != "json" {
			return bad(`\output table, or \output json`)
		}
		s.settings.JSON = words[1] == "json"
	case `\q`:
		return errQuit
	case `\?`:
		return s.help(context.Background(), words[:1])
	default:
		return bad(settings)
	}
	return nil
}

const settings = `\timing, \output, \hex, \q or \?`

// help explains.
func (s *Shell) help(ctx context.Context, words []string) error {
	if len(words) == 1 {
		return s.overview()
	}
	if o, ok := commands[words[1]]; ok && len(words) == 2 {
		fmt.Fprintf(s.streams.Out, "%s.\n", o.short)
		if o.long != "" {
			fmt.Fprintf(s.streams.Out, "\n%s\n", o.long)
		}
		fmt.Fprintf(s.streams.Out, "\nUsage:\n  %s\n\nExamples:\n  %s\n", o.usage, strings.ReplaceAll(o.example, "\n", "\n  "))
		return nil
	}
	if !s.isCommand(words[1]) && txnlang.IsVerb(words[1]) {
		words = []string{"help", "txn"}
	}
	return s.command(ctx, append(slices.Clone(words[1:]), "--help"))
}

// overview lists everything.
func (s *Shell) overview() error {
	var b strings.Builder
	b.WriteString("Commands are as on the command line, without \"linchpin\": put greeting hello\n")
	b.WriteString("Several operations with semicolons between them are one transaction.\nA backslash at the end of a line goes on with the next one.\n\nThe shell's own:\n")
	for _, name := range []string{"begin", "savepoint", "rollback", "release", "commit", "help", "exit"} {
		fmt.Fprintf(&b, "  %-22s %s\n", commands[name].usage, commands[name].short)
	}
	for _, l := range [][2]string{{`\timing [on|off]`, "Say how long each command takes"}, {`\output table|json`, "Print tables, or JSON"}, {`\hex [on|off]`, "Keys and values are hexadecimal"}, {`\q`, "End the shell"}} {
		fmt.Fprintf(&b, "  %-22s %s\n", l[0], l[1])
	}
	root := s.root(s.streams.Out, s.streams.Err)
	b.WriteString("\nThose of the command line (help COMMAND has examples):\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !slices.Contains(cli.ShortcutNames(), c.Name()) {
			fmt.Fprintf(&b, "  %-22s %s\n", c.Name(), c.Short)
		}
	}
	b.WriteString("\nThose of data types:\n  " + wrapped(cli.ShortcutNames(), 76) + "\n")
	_, err := fmt.Fprint(s.streams.Out, b.String())
	return err
}

// wrapped sets words in lines.
func wrapped(words []string, width int) string {
	out, at := "", 0
	for _, w := range words {
		if at > 0 && at+1+len(w) > width {
			out, at = out+"\n  ", 0
		}
		if at > 0 {
			out, at = out+" ", at+1
		}
		out, at = out+w, at+len(w)
	}
	return out
}
