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

// own is a command of the shell alone.
type own struct {
	usage, short string
	// long is the rest of the help, and example what to type.
	long, example string
	run           func(s *Shell, ctx context.Context, words []string) error
}

// commands are the shell's own. It is filled by init, since help looks at it.
var commands map[string]*own

func init() {
	quit := &own{"exit", "End the shell", "Ctrl-D and quit end it, too. An open transaction is rolled back.", "exit",
		func(*Shell, context.Context, []string) error { return errQuit }}
	commands = map[string]*own{
		"begin": {"begin [read-only]", "Open a transaction", `
The lines that follow are its operations, as in "linchpin txn", or commands of data types, until commit or
rollback. Keys that it reads are locked; a read-only transaction locks nothing and rejects writes. A transaction lasts
at most one minute. An error of the cluster rolls it back.`,
			"begin\nget alice for update\nput alice 12\nadd visits 1\ncommit", (*Shell).begin},
		"commit": {"commit", "Commit the open transaction", "When it returns, the writes of the transaction are durable.",
			"commit", (*Shell).commit},
		"rollback": {"rollback [to NAME]", "Roll the open transaction back, or return to a savepoint", `
Without a name nothing of the transaction is applied. With a name its writes since that savepoint are undone, and the
transaction continues from there, also after an error.`,
			"savepoint before\nput a 1\nrollback to before", (*Shell).rollback},
		"savepoint": {"savepoint NAME", "Set a savepoint in the open transaction", `
After a savepoint an error such as a failed condition does not roll the transaction back: ` +
			`"rollback to NAME" continues it.
A conflict with an older transaction does.`, "savepoint before", (*Shell).savepoint},
		"release": {"release NAME", "Remove a savepoint, and those after it", "The writes since the savepoint stay.",
			"release before", (*Shell).release},
		"help": {"help [COMMAND]", "List the commands, or explain one", "", "help zadd", (*Shell).help},
		"exit": quit, "quit": quit,
	}
	// The names of Redis.
	commands["multi"], commands["exec"], commands["discard"] = commands["begin"], commands["commit"], commands["rollback"]
}

func (s *Shell) begin(ctx context.Context, words []string) error {
	readOnly := len(words) == 2 && (words[1] == "read-only" || words[1] == "readonly")
	switch {
	case s.tx != nil:
		return s.stillOpen(&kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: "a transaction is open, and transactions do not nest", Hint: "end it with commit or rollback"})
	case len(words) > 2 || len(words) == 2 && !readOnly:
		return &cli.UsageError{Text: fmt.Sprintf("begin takes read-only, not %q", strings.Join(words[1:], " ")),
			Command: "linchpin shell"}
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
		return &state{&kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "a line of the transaction has failed",
			Hint: "rollback to a savepoint, or rollback"}, failedTx}
	}
	s.tx = nil
	if err := t.commit(ctx); err != nil {
		return over(err)
	}
	if t.report.TxID.IsZero() {
		fmt.Fprintln(s.streams.Err, "the transaction had no operations")
		return nil
	}
	return cli.PrintCommitted(s.streams.Out, s.settings, &t.report)
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
	fmt.Fprintln(s.streams.Err, "rolled back: nothing was applied")
	return nil
}

func (s *Shell) savepoint(ctx context.Context, words []string) error {
	return s.named(ctx, words, on.Savepoint)
}

func (s *Shell) release(ctx context.Context, words []string) error {
	return s.named(ctx, words, on.Release)
}

func (s *Shell) named(ctx context.Context, words []string, what func(on, context.Context, string) error) error {
	if len(words) != 2 {
		return s.stillOpen(&cli.UsageError{Text: words[0] + " takes the name of a savepoint", Command: "linchpin shell"})
	}
	return s.mark(ctx, words[1], what)
}

// mark sets, returns to or removes a savepoint.
func (s *Shell) mark(ctx context.Context, name string, what func(on, context.Context, string) error) error {
	switch {
	case s.tx == nil:
		return errNone
	case s.tx.readOnly:
		return s.stillOpen(errReads)
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if err := s.tx.mark(ctx, func(ctx context.Context, tx on) error { return what(tx, ctx, name) }); err != nil {
		return s.failed(err)
	}
	s.tx.marked = true
	return nil
}

var errNone = &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "there is no open transaction", Hint: "begin opens one"}

// bounded returns a context with the timeout.
func (s *Shell) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.settings.Timeout > 0 {
		return context.WithTimeout(ctx, s.settings.Timeout)
	}
	return context.WithCancel(ctx)
}

// ending is the open transaction, for a command that ends it.
func (s *Shell) ending(words []string) (*transaction, error) {
	switch {
	case s.tx == nil:
		return nil, errNone
	case len(words) > 1:
		return nil, s.stillOpen(&cli.UsageError{Text: fmt.Sprintf("%s takes no %q", words[0], strings.Join(words[1:], " ")),
			Command: "linchpin shell"})
	}
	return s.tx, nil
}

// set runs a command with a backslash.
func (s *Shell) set(words []string) error {
	bad := func(want string) error {
		return s.stillOpen(&cli.UsageError{Text: fmt.Sprintf("%s: want %s", strings.Join(words, " "), want),
			Command: "linchpin shell"})
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

// help lists the commands, or explains one.
func (s *Shell) help(ctx context.Context, words []string) error {
	if len(words) == 1 {
		return s.overview()
	}
	if o, ok := commands[words[1]]; ok && len(words) == 2 {
		fmt.Fprintf(s.streams.Out, "%s.\n", o.short)
		if o.long != "" {
			fmt.Fprintf(s.streams.Out, "\n%s\n", strings.TrimPrefix(o.long, "\n"))
		}
		fmt.Fprintf(s.streams.Out, "\nUsage:\n  %s\n\nExamples:\n  %s\n", o.usage,
			strings.ReplaceAll(o.example, "\n", "\n  "))
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
	b.WriteString("Type commands as on the command line, without \"linchpin\": put greeting hello\n")
	b.WriteString("Several operations with semicolons between them are one transaction.\nA backslash at the end of a " +
		"line continues it.\n\nCommands of the shell:\n")
	for _, name := range []string{"begin", "savepoint", "rollback", "release", "commit", "help", "exit"} {
		fmt.Fprintf(&b, "  %-22s %s\n", commands[name].usage, commands[name].short)
	}
	for _, l := range [][2]string{{`\timing [on|off]`, "Show how long each command takes"},
		{`\output table|json`, "Print tables, or JSON"}, {`\hex [on|off]`, "Read and show keys and values in hexadecimal"},
		{`\q`, "End the shell"}} {
		fmt.Fprintf(&b, "  %-22s %s\n", l[0], l[1])
	}
	root := s.root(s.streams.Out, s.streams.Err)
	b.WriteString("\nCommands of the command line (help COMMAND has examples):\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !slices.Contains(cli.ShortcutNames(), c.Name()) {
			fmt.Fprintf(&b, "  %-22s %s\n", c.Name(), c.Short)
		}
	}
	b.WriteString("\nCommands of data types:\n  " + wrapped(cli.ShortcutNames(), 76) + "\n")
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
