package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/client"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// What package shell uses of the commands: to run them on one connection, and to print as they do.

type sharedConnection struct{}

// Printed is an error for one that PrintError has written: it has the same exit code and no message.
func Printed(err error) error { return &quietError{ExitCode(err)} }

// Settings are the flags that a command shares with all others.
type Settings struct {
	Addrs []string
	// Timeout bounds each command; 0 is no bound.
	Timeout   time.Duration
	JSON, Hex bool
}

// Connected adds the flags of the connection to a command, and makes it connect for as long as it runs.
// Commands that run with its context use the same connection.
func Connected(cmd *cobra.Command, run func(ctx context.Context, db *client.DB, s Settings) error) {
	var f flags
	f.addTo(cmd, true)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return f.connect(cmd, func(_ context.Context, conn *connection) error {
			return run(context.WithValue(cmd.Context(), sharedConnection{}, conn), conn.db,
				Settings{Addrs: f.addrs, Timeout: f.timeout, JSON: f.output == formatJSON, Hex: f.hex})
		})
	}
}

// PrintResults prints the results of operations of an open transaction, in tables one line each without
// the version, since nothing has been written yet.
func PrintResults(out io.Writer, s Settings, statements []txnlang.Statement, results []pb.Result) error {
	x := &session{printer: &printer{out: out, json: s.JSON, hex: s.Hex}}
	for i := range results {
		r := &results[i]
		if s.JSON {
			if err := x.object(x.resultObject(statements[i].Verb, r)); err != nil {
				return err
			}
			continue
		}
		if err := x.printf("%s\n", x.resultText(statements[i].Verb, r)); err != nil {
			return err
		}
		t := x.table()
		for j := range r.Entries {
			e := &r.Entries[j]
			t.row("  "+x.text(string(e.Key)), x.value(typeOf(e.Type, e.TypeName), e.Value, e.Number))
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}

// PrintCommitted prints the commit of a transaction whose results are printed.
func PrintCommitted(out io.Writer, s Settings, r *client.Report) error {
	x := &session{printer: &printer{out: out, json: s.JSON, hex: s.Hex}}
	if s.JSON {
		return x.object(x.txnObject(r))
	}
	if w := r.Receipt.String(); w != "" {
		if err := x.printf("%s\n", w); err != nil {
			return err
		}
	}
	return x.printf("committed %v\n", r.TxID)
}

// ShortcutCall is the operation of a command of a data type, as "sadd KEY MEMBER"; ok is false if there
// is no such command.
func ShortcutCall(words []string) (st txnlang.Statement, ok bool, err error) {
	for i := range shortcuts {
		x := &shortcuts[i]
		if x.name != words[0] {
			continue
		}
		args := words[1:]
		if n := len(args) - 1; n < x.least || x.most >= 0 && n > x.most {
			return st, true, &UsageError{Text: fmt.Sprintf("wrong number of arguments for %s; usage: %s KEY %s", x.name, x.name,
				x.usage), Command: "linchpin " + x.name}
		}
		key, rest := args[0], args[1:]
		if x.order != nil {
			rest = x.order(rest)
		}
		return txnlang.CallOf(key, x.method, rest), true, nil
	}
	return st, false, nil
}

// ShortcutNames lists the commands of data types.
func ShortcutNames() (out []string) {
	for i := range shortcuts {
		out = append(out, shortcuts[i].name)
	}
	return out
}
