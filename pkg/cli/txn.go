package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// maxScript bounds the text of a transaction: the largest one in quotes and
// with every byte escaped, and its verbs.
const maxScript = 5 * kv.MaxTxnBytes

func txnCommand() *cobra.Command {
	var f flags
	var p past
	cmd := command("txn [OPERATION...]", "Run several operations as one transaction", `
Run operations as one transaction: in order, all or none, isolated from others. There is one operation per
line, or several with semicolons between them; each argument is a line. Without arguments, or with a single
minus sign, the lines are read from standard input.

  get KEY [for update]               read a key; "for update" locks it for a write
  put KEY VALUE [ttl TIME] [if CONDITION]
                                     set a key, with a time to live
  del KEY [if CONDITION]             delete a key (not: if absent)
  require KEY CONDITION              fail unless the condition holds
  incr KEY [N]                       add N, or 1, to a counter; return the sum
  add KEY N                          add N to a counter; return nothing, so that additions commute
  scan START END [limit N] [reverse]
                                     read the keys from START to END, at most N
                                     (1 to 10000); END is not included
  delrange START END                 delete the keys from START up to but without END
  expire KEY TIME                    set a key's time to live, as in 30s
  persist KEY                        remove a key's time to live
  ttl KEY                            return a key's time to live
  call KEY TYPE.METHOD [ARGUMENT...]
                                     call a method of a data type

A CONDITION is one of: exists, absent, value V (or: = V), version V. If one does not hold, nothing is applied
and the exit code is 3. An empty END ("") is after the last key. A # at the start of a word begins a comment.

A word with spaces, semicolons, double quotes or unprintable bytes is written in double quotes, with the escapes
of Go: \n \t \" \\ \xff \u00e9. There are no single quotes. A quoted word is never a keyword. A syntax error is
reported with its line and column before anything is sent.`, `
  linchpin txn 'require alice exists; add alice -5; add bob 5'
  linchpin txn 'get "order 17" for update' 'put "order 17" shipped if value packed'
  linchpin txn < transfer.txn`, 0, -1)
	f.addTo(cmd, true)
	p.addTo(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		// A syntax error is reported without a server.
		statements, err := readScript(cmd, args)
		if err != nil {
			return err
		}
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			return s.runScript(ctx, &p, statements)
		})(cmd, args)
	}
	return cmd
}

func readScript(cmd *cobra.Command, args []string) ([]txnlang.Statement, error) {
	script := strings.Join(args, "\n")
	if len(args) == 0 || (len(args) == 1 && args[0] == "-") {
		b, err := readInput(cmd.InOrStdin(), "the text of the transaction", maxScript,
			fmt.Sprintf("it has at most %d bytes", maxScript))
		if err != nil {
			return nil, err
		}
		script = string(b)
	}
	statements, err := txnlang.Parse(script)
	if err == nil && len(statements) == 0 {
		err = usagef(cmd, "the transaction has no operations")
	}
	return statements, err
}

func (s *session) runScript(ctx context.Context, p *past, statements []txnlang.Statement) error {
	ops := make([]client.Op, len(statements))
	for i := range statements {
		ops[i] = statements[i].Op
	}
	out, err := s.execute(ctx, p, ops...)
	if err != nil {
		if e, ok := errors.AsType[*client.Error](err); ok && e.Op >= 0 && e.Op < len(ops) && onCounter(&statements[e.Op]) {
			err = s.withTypeHint(ctx, err, e.Key)
		}
		return located(err, statements)
	}
	if s.json && !out.ResultsLost {
		a := s.txnObject(&out.Report)
		for i := range out.Results {
			a.Results = append(a.Results, s.resultObject(statements[i].Verb, &out.Results[i]))
		}
		return s.object(a)
	}
	return s.printTxn(out, statements)
}

// located adds to an error the operation and the line of the script.
func located(err error, statements []txnlang.Statement) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Op < 0 || e.Op >= len(statements) {
		return err
	}
	st := statements[e.Op]
	return fmt.Errorf("operation %d, on line %d (%s): %w", e.Op+1, st.Line, shorten(st.Op.String()), err)
}

// onCounter: the operation is for counters.
func onCounter(st *txnlang.Statement) bool { return st.Verb == "incr" || st.Verb == "add" }

// shorten keeps long values out of messages and tables.
func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return s
}

func (s *printer) printTxn(out *outcome, statements []txnlang.Statement) error {
	if out.ResultsLost {
		return s.resultsLost(out, "the results are")
	}
	t := s.table("", "OPERATION", "RESULT", "VERSION")
	for i := range out.Results {
		r := &out.Results[i]
		version := shownVersion(r.Version)
		if statements[i].Verb == "get" && !r.Found {
			version = kv.Version{}.String()
		}
		t.row(fmt.Sprint(i+1), shorten(statements[i].Op.String()), s.resultText(statements[i].Verb, r), version)
		for j := range r.Entries {
			e := &r.Entries[j]
			held := s.value(typeOf(e.Type, e.TypeName), e.Value, e.Number)
			t.row("", "  "+s.text(string(e.Key)), held, e.Version.String())
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if w := out.Receipt.String(); w != "" {
		if err := s.printf("%s\n", w); err != nil {
			return err
		}
	}
	return s.printf("committed %v, attempt %d\n", out.TxID, out.Attempts)
}

// resultText is the result of an operation in a few words.
func (s *printer) resultText(verb string, r *pb.Result) string {
	switch verb {
	case "get":
		if !r.Found {
			return "(absent)"
		}
		return s.held(r)
	case "incr":
		return fmt.Sprint(r.Number)
	case "ttl":
		return ttlText(r)
	case "expire", "persist":
		if !r.Found {
			return "(absent)"
		}
		return "done"
	case "del":
		return deletedText(r)
	case "require":
		return "holds"
	case "call":
		return s.answerText(r)
	case "scan":
		more := ""
		if len(r.Resume) > 0 {
			more = ", more from " + s.text(string(r.Resume))
		}
		return keys(uint64(len(r.Entries))) + more
	case "delrange":
		return "deleted " + keys(r.Count)
	}
	return "done"
}

// answerText is what a method returned, in a line.
func (s *printer) answerText(r *pb.Result) string {
	if len(r.Data) == 0 {
		return "done"
	}
	words := make([]string, len(r.Data))
	for i := range r.Data {
		words[i] = s.datum(&r.Data[i])
	}
	return shorten(strings.Join(words, " "))
}

func keys(n uint64) string {
	if n == 1 {
		return "1 key"
	}
	return fmt.Sprintf("%d keys", n)
}
