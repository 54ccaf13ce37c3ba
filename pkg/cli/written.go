package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
)

// OutputError is the error of a command that succeeded, and whose output could not be written.
type OutputError struct {
	Cause error
	// TxnID is the transaction that committed; zero if there was none.
	TxnID client.TxID
}

func (e *OutputError) Error() string {
	text := "the output could not be written: " + e.Cause.Error()
	if !e.TxnID.IsZero() {
		return fmt.Sprintf("transaction %v has committed, but %s", e.TxnID, text)
	}
	return "the command has succeeded, but " + text
}

func (e *OutputError) Unwrap() error { return e.Cause }

func (e *OutputError) hint() string {
	if e.TxnID.IsZero() {
		return ""
	}
	return "do not repeat the command; its results: linchpin outcome " + e.TxnID.String()
}

// output is a command's standard output. It keeps the first error of a write, which the command may
// ignore, and what the command has changed before.
type output struct {
	io.Writer
	failed error
	// changed: the command has changed the store; txn is the transaction, if it was one.
	changed bool
	txn     client.TxID
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.failed == nil {
		o.failed = err
	}
	return n, err
}

// Run runs a root command by its arguments. If its output cannot be written the error is an
// OutputError, unless the command failed by itself.
func Run(ctx context.Context, root *cobra.Command) (*cobra.Command, error) {
	out := &output{Writer: root.OutOrStdout()}
	root.SetOut(out)
	cmd, err := root.ExecuteContextC(ctx)
	if out.failed == nil || err != nil && !errors.Is(err, out.failed) {
		return cmd, err
	}
	if errors.Is(out.failed, syscall.EPIPE) && !out.changed {
		return cmd, &quietError{ExitOutput} // the reader has read enough, as head does
	}
	return cmd, &OutputError{Cause: out.failed, TxnID: out.txn}
}

// changed records that the command has changed the store, for the error if its output fails. id is that of
// the transaction, zero if there was none.
func (s *session) changed(id client.TxID) {
	out, ok := s.cmd.OutOrStdout().(*output)
	if ok {
		out.changed, out.txn = true, id
	}
}
