package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/test/history"
)

func newCheck(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Judge a recorded history for strict serializability",
		Long: `Judge whether a strictly serializable store could have shown its clients what
the file says that they saw. It knows nothing of the store: it goes by the values
that were read, each of which names the write that made it, and by real time.

If it could not, the anomaly is named and told, with the transactions that make
the circle; transaction 3.17 is number 17 of client 3, and the values that it
wrote have .3.17. in them. Where the order of some transactions cannot be decided,
that is said, and is a pass: nothing that could be inferred is a violation. Exit
codes: 0 no violation, 1 a violation, 2 the file cannot be read.

A history that was cut off is judged as far as it goes. One that was recorded
with --fresh-keys is judged more strictly, as every key is known to begin absent.`,
		Example: `  zetaload run --skew 1.2 --duration 30s --history h.bin
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
		return &exitError{exitUsage, err}
	}
	if h.Incomplete {
		fmt.Fprintf(env.err, "zetaload: %s was cut off before its end; judging the %d transactions that it has\n", file, len(h.Txns))
	}
	if h.Note != "" {
		fmt.Fprintf(env.out, "recorded by  %s\n", h.Note)
	}
	fmt.Fprintln(env.out, count(h))
	if len(h.Txns) == 0 {
		fmt.Fprintln(env.out, "there is nothing to judge")
		return nil
	}
	verdict := history.Judge(h)
	if _, err := fmt.Fprintln(env.out, verdict); err != nil {
		return failed("%w", err)
	}
	if !verdict.OK() {
		return failed("%s: %s", file, verdict.Anomaly())
	}
	return nil
}

// count says what the history has.
func count(h *history.History) string {
	outcomes := map[history.Outcome]int{}
	for i := range h.Txns {
		outcomes[h.Txns[i].Outcome]++
	}
	return fmt.Sprintf("transactions %d committed, %d failed, %d of unknown outcome",
		outcomes[history.Committed], outcomes[history.Failed], outcomes[history.Unknown])
}
