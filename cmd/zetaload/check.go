package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/history"
)

func newCheck(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a recorded history for strict serializability",
		Long: `Check whether a recorded history is strictly serializable. The checker uses only
the file: the values that were read, each of which names the write that made it,
and the times of transactions.

If there is a violation, it is named, with the transactions of the cycle in the
dependency graph. Transaction 3.17 is number 17 of client 3, and its values
contain .3.17. in their text. If the order of some transactions cannot be
decided, the checker reports that and passes: no violation can be inferred.

An incomplete file is checked up to its end. A history recorded with
--fresh-keys is checked more strictly, since every key is absent at its start.

Exit codes: 0 no violation, 1 a violation, 2 the file cannot be read.`,
		Example: `  zetaload run --skew 1.2 --fresh-keys --history h.bin
  zetaload check h.bin`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			return check(env, files[0])
		},
	}
}

func check(env environment, file string) error {
	h, err := history.Load(file)
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	if h.Incomplete {
		fmt.Fprintf(env.err, "zetaload: %s is incomplete; checking its %d transactions\n", file, len(h.Txns))
	}
	if h.Note != "" {
		fmt.Fprintf(env.out, "recorded by  %s\n", h.Note)
	}
	fmt.Fprintln(env.out, count(h))
	if len(h.Txns) == 0 {
		fmt.Fprintln(env.out, "the history has no transactions")
		return nil
	}
	verdict := history.Check(h)
	if _, err := fmt.Fprintln(env.out, verdict); err != nil {
		return failed("%w", err)
	}
	if !verdict.OK() {
		return failed("%s: %s", file, verdict.Anomaly())
	}
	return nil
}

// count counts the transactions of a history by outcome.
func count(h *history.History) string {
	outcomes := map[history.Outcome]int{}
	for i := range h.Txns {
		outcomes[h.Txns[i].Outcome]++
	}
	return fmt.Sprintf("transactions %d committed, %d failed, %d of unknown outcome",
		outcomes[history.Committed], outcomes[history.Failed], outcomes[history.Unknown])
}
