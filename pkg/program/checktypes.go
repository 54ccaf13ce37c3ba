package program

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/check"
	"github.com/linchpindb/linchpin/pkg/cli"
)

func checkTypesCommand(s cli.Streams) *cobra.Command {
	var rounds int
	var seed uint64
	c := &cobra.Command{
		Use:   "check-types [TYPE]...",
		Short: "Try to refute the declarations of data types",
		Long: `Try to refute the declarations of data types, with random values and transactions: that operations
declared to commute do, that results stay valid beside the operations of others, and that encoding and combining lose
nothing. A counterexample is printed as calls.

The types are those of this program, including your own; no server is needed. "too strict" are locks that exclude
operations without a conflict in any round, which is not an error. "not tried" are cases that no random value reached:
more rounds may reach them, or arguments of your own (Draw).`,
		Example: `  linchpin check-types counter set --rounds 1000`,
		RunE: func(c *cobra.Command, names []string) error {
			all := adt.Types()
			if len(names) > 0 {
				all = nil
			}
			for _, name := range names {
				t := adt.ByName(name)
				if t == nil {
					return &cli.UsageError{Text: fmt.Sprintf("there is no type %q; there are %s", name, typeNames()),
						Command: c.CommandPath()}
				}
				all = append(all, t)
			}
			if rounds < 1 {
				return &cli.UsageError{Text: fmt.Sprintf("--rounds is %d, want 1 or more", rounds), Command: c.CommandPath()}
			}
			return checkTypes(s, all, seed, rounds)
		},
	}
	c.Flags().IntVar(&rounds, "rounds", 20_000, "`number` of values and sets of transactions for each type")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the random values")
	return c
}

func typeNames() string {
	var names []string
	for _, t := range adt.Types() {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// checkTypes prints a line for every type, and fails if any is refuted.
func checkTypes(s cli.Streams, all []*adt.Type, seed uint64, rounds int) error {
	wrong := 0
	for _, t := range all {
		var methods []string
		for _, m := range t.Methods {
			methods = append(methods, m.Name)
		}
		begin := time.Now()
		report, err := check.Examine(t, seed, rounds)
		took := time.Since(begin).Round(10 * time.Millisecond)
		if err != nil {
			wrong++
			fmt.Fprintf(s.Out, "%s: WRONG (%s)\n%v\n", t.Name, strings.Join(methods, ", "), err)
			continue
		}
		fmt.Fprintf(s.Out, "%s: ok (%s): %d rounds, %d beside each other, %d kept apart by locks, %v\n",
			t.Name, strings.Join(methods, ", "), rounds, report.Pairs, report.Waits, took)
		for _, w := range report.Strict {
			fmt.Fprintf(s.Out, "  too strict? %s\n", w)
		}
		for _, w := range report.Untried {
			fmt.Fprintf(s.Out, "  not tried: %s\n", w)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("the declarations of %d of %d types are wrong", wrong, len(all))
	}
	return nil
}
