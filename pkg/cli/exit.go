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
	// nothing was applied. The error's kind tells which.
	ExitCondition = 3
	// ExitUnavailable: nobody could be reached, or not in time; nothing was
	// applied.
	ExitUnavailable = 4
	// ExitUnknown: it may have been applied; ask with `linchpin outcome`.
	ExitUnknown = 5
	// ExitAborted: it lost against other transactions to the end, or (for
	// `linchpin outcome`) did not commit; nothing was applied.
	ExitAborted = 6
	// ExitOther: any other failure.
	ExitOther = 7
	// ExitDenied: the node does not know who calls, or does not allow it; nothing
	// was applied.
	ExitDenied = 8
	// ExitOutput: the command did what it does, and its output could not be written, or is no
	// longer known. What it writes was applied.
	ExitOutput = 9
)

// UsageError is a mistake on the command line.
type UsageError struct {
	Text string
	// Command is the command to ask for help, in full.
	Command string
}

func (e *UsageError) Error() string { return e.Text }

// quietError ends a command with a code whose reason the answer itself tells.
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
		switch {
		case len(args) < least:
			return usagef(cmd, "%s: %d arguments are too few; usage: %s", cmd.Name(), len(args), cmd.UseLine())
		case most >= 0 && len(args) > most:
			return usagef(cmd, "%s: %d arguments are too many; usage: %s", cmd.Name(), len(args), cmd.UseLine())
		}
		return nil
	}
}
