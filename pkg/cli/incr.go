package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

func incrCommand() *cobra.Command {
	var f flags
	var blind bool
	cmd := &cobra.Command{
		Use:   "incr KEY [DELTA]",
		Short: "Add to a counter and print the sum",
		Long: `Add DELTA, or 1, to a counter and print the sum. A key that does not exist
becomes a counter. A negative DELTA is a number, not a flag.

With --blind the sum is not printed. Additions that tell no sum do not wait for
each other, so that any number of clients can count on the same key at once.`,
		Example: `  linchpin incr visits
  linchpin incr visits 10 --blind
  linchpin incr stock -1`,
	}
	f.addTo(cmd, true)
	cmd.Flags().BoolVar(&blind, "blind", false, "do not ask for the sum")
	takeNumbersToo(cmd, 1, 2, connected(&f, func(ctx context.Context, s *session, args []string) error {
		key, err := s.bytes(args[0])
		if err != nil {
			return err
		}
		delta := int64(1)
		if len(args) == 2 {
			delta, err = strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usagef(cmd, "%q is not a number of 64 bits", args[1])
			}
		}
		op := client.AddGet(key, delta)
		if blind {
			op = client.Add(key, delta)
		}
		out, err := s.execute(ctx, op)
		if err != nil {
			return err
		}
		s.tellWait(&out.Receipt)
		return s.printSum(key, out, blind)
	}))
	return cmd
}

func (s *session) printSum(key []byte, out *client.Outcome, blind bool) error {
	switch {
	case out.ResultsLost:
		return s.resultsLost(out, "the sum is")
	case s.json && blind:
		it := s.keyItem(key)
		it.receiptAnswer = s.receiptObject(&out.Receipt)
		return s.object(it)
	case blind:
		return nil
	}
	r := &out.Results[0]
	if s.json {
		it := s.keyItem(key).holding(s.printer, client.TypeCounter, "counter", nil, r.Number, r.Version)
		it.receiptAnswer = s.receiptObject(&out.Receipt)
		return s.object(it)
	}
	return s.printf("%d\n", r.Number)
}
