package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// The exit codes. Scripts rely on them: they never change.
const (
	// ExitOK: done.
	ExitOK = 0
	// ExitNotFound: the key, the snapshot or the bounded counter does not exist.
	ExitNotFound = 1
	// ExitUsage: the command line, a transaction's text or a request can
	// never work as it is.
	ExitUsage = 2
	// ExitCondition: a condition did not hold, or a counter would have left its bounds;
	// nothing was applied. The kind of the error says which.
	ExitCondition = 3
	// ExitUnavailable: no node could be reached or could serve in time; nothing was applied.
	ExitUnavailable = 4
	// ExitUnknown: it may have been applied; `linchpin outcome` shows whether.
	ExitUnknown = 5
	// ExitAborted: conflicting transactions aborted each attempt until the timeout, or (of
	// `linchpin outcome`) the transaction did not commit; nothing was applied.
	ExitAborted = 6
	// ExitOther: any other failure.
	ExitOther = 7
	// ExitDenied: the node did not authenticate the caller, or does not allow the request; nothing was applied.
	ExitDenied = 8
	// ExitOutput: the command succeeded, and its output could not be written, or is no longer known.
	// What it writes was applied.
	ExitOutput = 9
)

// UsageError is a mistake on the command line.
type UsageError struct {
	Text string
	// Hint says what to type instead; empty for a reference to the help of Command.
	Hint string
	// Command is the command whose help explains more, in full.
	Command string
}

func (e *UsageError) Error() string { return e.Text }

// quietError ends a command with an exit code and without a message: the output has the reason.
type quietError struct{ code int }

func (e *quietError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// ExitCode gives the code for a command's error.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if q, ok := errors.AsType[*quietError](err); ok {
		return q.code
	}
	if _, ok := errors.AsType[*OutputError](err); ok {
		return ExitOutput
	}
	if _, ok := errors.AsType[*UsageError](err); ok {
		return ExitUsage
	}
	if _, ok := errors.AsType[*txnlang.Error](err); ok {
		return ExitUsage
	}
	if _, ok := errors.AsType[*goneError](err); ok {
		return ExitNotFound
	}
	switch kv.KindOf(err) {
	case kv.KindNotFound:
		return ExitNotFound
	case kv.KindInvalid:
		return ExitUsage
	case kv.KindConditionFailed, kv.KindOutOfRange:
		return ExitCondition
	case kv.KindResultsLost:
		return ExitOutput
	case kv.KindUnavailable, kv.KindDeadlineExceeded, kv.KindResourceExhausted, kv.KindCancelled, kv.KindClosed:
		return ExitUnavailable
	case kv.KindOutcomeUnknown, kv.KindTooOld:
		return ExitUnknown
	case kv.KindAborted:
		return ExitAborted
	case kv.KindUnauthenticated, kv.KindPermissionDenied:
		return ExitDenied
	}
	return ExitOther
}

// usagef makes a UsageError of cmd.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return &UsageError{Text: fmt.Sprintf(format, args...), Command: cmd.CommandPath()}
}

// arguments checks the number of arguments; most below 0 is no bound.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		few := "too few arguments"
		switch {
		case most >= 0 && len(args) > most:
			few = "too many arguments"
		case len(args) >= least:
			return nil
		}
		return usagef(cmd, "%s: %s (%d); usage: %s", cmd.Name(), few, len(args), cmd.UseLine())
	}
}
