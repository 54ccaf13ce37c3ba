package cli

import (
	"context"

	"github.com/spf13/cobra"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

func delCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:     "del KEY...",
		Aliases: []string{"rm", "delete"},
		Short:   "Remove keys",
		Long: `Remove one or more keys, all in one transaction, and tell for each whether it
was there. A key that was not there is no error.`,
		Example: `  linchpin del greeting
  linchpin del cart:17 cart:17:items`,
		Args: arguments(1, -1),
	}
	f.addTo(cmd, true)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		keys, ops := make([][]byte, len(args)), make([]client.Op, len(args))
		for i, arg := range args {
			key, err := s.bytes(arg)
			if err != nil {
				return err
			}
			keys[i], ops[i] = key, client.Delete(key)
		}
		out, err := s.execute(ctx, ops...)
		if err != nil {
			return err
		}
		return s.printDeleted(keys, out)
	})
	return cmd
}

func (s *session) printDeleted(keys [][]byte, out *client.Outcome) error {
	if out.ResultsLost {
		return s.resultsLost(out, "which keys were there is")
	}
	s.tellWait(&out.Receipt)
	t := s.table()
	for i, r := range out.Results {
		if s.json {
			it := s.keyItem(keys[i])
			it.Found = &r.Found
			if i == 0 { // the transaction's, told once
				it.receiptAnswer = s.receiptObject(&out.Receipt)
			}
			if err := s.object(it); err != nil {
				return err
			}
			continue
		}
		word := "was not there"
		if r.Found {
			word = "removed"
		}
		t.row(s.text(keys[i]), word)
	}
	return t.flush()
}
