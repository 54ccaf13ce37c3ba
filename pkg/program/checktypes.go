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
		Long: `Try to refute the declarations of data types: that what is said to commute does
so, that answers hold whatever becomes of others, that nothing is lost in the
stored form or in combining. A counterexample is printed as calls.

It looks at the types that this program was built with, those of its own
included, and needs no server. A server does the same for a moment when it
starts. "Too strict" are locks that keep operations apart which were never
seen to clash; that is no error. "Not tried" is what the values and arguments
that were made up never led to: of that nothing was found out, and more rounds,
or arguments of the method's own making (Draw), may help.`,
		RunE: func(c *cobra.Command, names []string) error {
			all := adt.Types()
			if len(names) > 0 {
				all = nil
			}
			for _, name := range names {
				t := adt.ByName(name)
				if t == nil {
					return &cli.UsageError{Text: fmt.Sprintf("there is no type %q; there are %s", name, typeNames()), Command: c.CommandPath()}
				}
				all = append(all, t)
			}
			if rounds < 1 {
				return &cli.UsageError{Text: fmt.Sprintf("--rounds is %d, want 1 at least", rounds), Command: c.CommandPath()}
			}
			return checkTypes(s, all, seed, rounds)
		},
	}
	c.Flags().IntVar(&rounds, "rounds", 20_000, "how many values and sets of transactions are tried of each type")
	c.Flags().Uint64Var(&seed, "seed", 1, "another one makes up others")
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
