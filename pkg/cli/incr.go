package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
)

func incrCommand() *cobra.Command {
	var blind bool
	cmd := command("incr KEY [DELTA]", "Add to a counter and print the sum", `
Add DELTA, or 1, to a counter and print the sum. A key that does not exist becomes a counter.

With --blind the sum is not printed. Additions that do not return the sum commute: they never block each
other, from however many clients.`, `
  linchpin incr visits
  linchpin incr visits 10 --blind
  linchpin incr stock -1`, 1, 2)
	cmd.Flags().BoolVar(&blind, "blind", false, "do not print the sum, and do not block other additions")
	return takeNumbersToo(connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		key, err := s.decode(args[0])
		if err != nil {
			return err
		}
		delta := int64(1)
		if len(args) == 2 {
			delta, err = strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usagef(cmd, "%q is not a whole number of 64 bits", args[1])
			}
		}
		counter := client.NewCounter(key)
		var op client.Op = counter.AddGetOp(delta)
		if blind {
			op = counter.AddOp(delta)
		}
		out, err := s.execute(ctx, nil, op)
		if err != nil {
			return s.withTypeHint(ctx, err, key)
		}
		s.printReceipt(&out.Receipt)
		return s.printSum(key, out, blind)
	}))
}

// withTypeHint adds a hint to the error of a counter's operation on a key that holds something else.
func (s *session) withTypeHint(ctx context.Context, err error, key string) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Kind != client.KindWrongType {
		return err
	}
	e.Hint = typeHint(e)
	value, _, readErr := s.db.Get(ctx, key)
	if readErr != nil {
		return err
	}
	n, readErr := strconv.ParseInt(string(value), 10, 64)
	if readErr != nil {
		return err
	}
	e.Hint = fmt.Sprintf("to make it a counter: linchpin del %[1]s, then linchpin incrby %[1]s %d", s.text(key), n)
	return err
}

func (s *session) printSum(key string, out *outcome, blind bool) error {
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
		it := s.keyItem(key).holding(s.printer, client.TypeCounter, nil, r.Number, r.Version)
		it.receiptAnswer = s.receiptObject(&out.Receipt)
		return s.object(it)
	}
	return s.printf("%d\n", r.Number)
}
