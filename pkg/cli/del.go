package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func delCommand() *cobra.Command {
	var c conditions
	cmd := command("del KEY...", "Delete keys", `
Delete one or more keys in one transaction, and print for each key whether it existed. A key that does
not exist is not an error.

With one of the --if flags one key is deleted, only if the condition holds. If it does not, nothing changes,
and the exit code is 3.`, `
  linchpin del greeting
  linchpin del cart:17 cart:17:items
  linchpin del leader --if-value node-1`, 1, -1)
	cmd.Aliases = []string{"rm", "delete"}
	c.addTo(cmd, false)
	return connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		flag, err := c.given(cmd)
		switch {
		case err != nil:
			return err
		case flag != "" && len(args) > 1:
			return usagef(s.cmd, "--%s is for one key, there are %d", flag, len(args))
		}
		keys, err := s.decodeAll(args)
		if err != nil {
			return err
		}
		condition, err := c.condition(s, flag)
		if err != nil {
			return err
		}
		var opts []client.DeleteOption
		if o, ok := condition.(client.DeleteOption); ok {
			opts = append(opts, o)
		}
		ops := make([]client.Op, len(keys))
		for i, key := range keys {
			ops[i] = client.DeleteOp(key, opts...)
		}
		out, err := s.execute(ctx, nil, ops...)
		if err != nil {
			return err
		}
		return s.printDeleted(keys, out)
	})
}

func (s *session) printDeleted(keys []string, out *outcome) error {
	if out.ResultsLost {
		return s.resultsLost(out, "which keys existed is")
	}
	s.printReceipt(&out.Receipt)
	t := s.table()
	for i := range out.Results {
		r := &out.Results[i]
		if s.json {
			it := s.keyItem(keys[i])
			it.Found = &r.Found
			if i == 0 { // the receipt is the transaction's
				it.receiptAnswer = s.receiptObject(&out.Receipt)
			}
			if err := s.object(it); err != nil {
				return err
			}
			continue
		}
		t.row(s.text(keys[i]), deletedText(r))
	}
	return t.flush()
}

// deletedText is the result of a deletion, in words.
func deletedText(r *pb.Result) string {
	if r.Found {
		return "deleted"
	}
	return "did not exist"
}
