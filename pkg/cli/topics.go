package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// topic is a page of help that belongs to no single command.
type topic struct{ name, short, text string }

// helpTopics are shown by "linchpin help NAME".
var helpTopics = []topic{
	{"output", "Output formats, errors and receipts", `
The result goes to standard output. Errors, hints, receipts and notes such as "no keys" go to standard error.

Keys and values are shown as they are if they are printable UTF-8, do not begin with a double quote, and have no space
at either end. All others are shown as quoted Go strings ("a\nb", "\xff", "").

--output json prints one object per line. A key or value that is not valid UTF-8 is in key_hex or value_hex instead of
key or value. Numbers have 64 bits; many JSON programs lose digits above 2^53. Errors are an object with error, kind,
exit_code, and where they apply hint and txn_id.

A command that waited for other transactions, or lost attempts to them, reports a receipt. In JSON it has three fields:

  why      the receipt in words
  waited   the longest wait: us, waiting (it has not ended), cause, key, holder, others; operations, lock and
           interactive of both sides (holder_...); advice: what would have commuted
  aborted  attempts, reason, and the fields of waited for the last aborted attempt`},
	{"past", "Reading snapshots and the history", `
Commands that read have flags to read a past state. They block no writer; a write with --snapshot or --as-of is ` +
		`rejected.

  --snapshot NAME  the snapshot with this name or id (@c17c49d6-2); an id is never reused
  --as-of TIME     the state at a time, 2026-11-22T10:00:00Z, or -90s for 90 seconds ago
  --after TOKEN    a state that includes what a causality token covers, from "txn --output json"

The id of the state that was read is reported on standard error; --snapshot reads it again.

The history has a state for each second with writes, for the last 10 minutes. "linchpin start --history 1h
--history-every 5s" changes that.`},
}

// topics are the help topics as commands that do not run.
func topics() (out []*cobra.Command) {
	for _, t := range helpTopics {
		out = append(out, topicCommand(t))
	}
	return append(out, topicCommand(topic{"exit-codes", "Exit codes", exitCodesText()}))
}

func topicCommand(t topic) *cobra.Command {
	return &cobra.Command{Use: t.name, Short: t.short, Long: strings.TrimPrefix(t.text, "\n")}
}

// exitCodes explains the exit codes of commands, in order from 0.
var exitCodes = []string{
	ExitOK:          "success",
	ExitNotFound:    "the key, the element, the bounded counter, the snapshot or the past state does not exist",
	ExitUsage:       "the command line, the text of a transaction or the request is invalid",
	ExitCondition:   "a condition did not hold, or a counter would leave its bounds or 64 bits",
	ExitUnavailable: "no node could be reached or serve in time, or its queues or disk were full",
	ExitUnknown:     "the outcome is unknown: linchpin outcome",
	ExitAborted:     "conflicts aborted every attempt; of outcome: it did not commit",
	ExitOther:       "any other error: a wrong type, an internal error",
	ExitDenied:      "the node does not authenticate the caller, or denies the request",
	ExitOutput:      "the command succeeded, and its output could not be written or is no longer known",
}

func exitCodesText() string {
	var b strings.Builder
	for code, meaning := range exitCodes {
		fmt.Fprintf(&b, "  %d  %s\n", code, meaning)
	}
	b.WriteString(`
With 0 and 9 the changes of the command were applied, with 5 they may have been, with the others they were not. ` +
		`"linchpin start" has
further codes: docs/operation.md.`)
	return b.String()
}
