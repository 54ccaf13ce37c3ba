package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func outcomeCommand() *cobra.Command {
	var f flags
	cmd := command("outcome ID", "Show the outcome of a transaction", `
Show the outcome of a transaction whose response was lost; the error has the ID.

  Committed  it was applied, exit code 0; the results follow, as far as they are kept. Operations have the names
             of receipts ("put", "add-get", "set.add"), and keys are not kept.
  Aborted    nothing of it was applied, and the query keeps it from committing later: it is safe to run it again.
             Exit code 6. A transaction that wrote nothing, because it only read, checked conditions or drew
             ids, is shown as aborted: nothing is kept of it.
  Unknown    it is older than the cluster remembers, exit code 5, or the cluster cannot decide in time, 4.`,
		`  linchpin outcome 18b2f3a4c5d6e7f8091a2b3c4d5e6f70`, 1, 1)
	f.addTo(cmd, true)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := client.ParseTxID(args[0])
		if err != nil {
			return usagef(cmd, "%q is not the id of a transaction: want 32 hexadecimal digits", args[0])
		}
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			r, err := clientlink.Outcome(ctx, s.db, id)
			if k := client.KindOf(err); (k == client.KindTooOld || k == client.KindOutcomeUnknown) && !s.json {
				err = errors.Join(s.printf("Unknown\n"), err)
			}
			if err != nil {
				return err
			}
			return s.printOutcome(id, r)
		})(cmd, args)
	}
	return cmd
}

func (s *session) printOutcome(id client.TxID, r *pb.OutcomeResponse) error {
	committed := r.Decision == pb.Decision_COMMITTED
	if s.json {
		a := struct {
			TxnID     string         `json:"txn_id"`
			Committed bool           `json:"committed"`
			Results   []resultAnswer `json:"results,omitempty"`
		}{TxnID: id.String(), Committed: committed}
		for i := range r.Results {
			result := s.resultObject("", &r.Results[i])
			result.Op = operationOf(r, i)
			a.Results = append(a.Results, result)
		}
		if err := s.object(a); err != nil {
			return err
		}
	} else if err := s.outcomeTable(r); err != nil {
		return err
	}
	if !committed {
		return &quietError{ExitAborted}
	}
	return nil
}

// operationOf names the operation of a result: "put", "set.contains". It is empty for what an older version
// of the store committed.
func operationOf(r *pb.OutcomeResponse, i int) string {
	if i >= len(r.Operations) {
		return ""
	}
	return r.Operations[i]
}

func (s *printer) outcomeTable(o *pb.OutcomeResponse) error {
	if o.Decision != pb.Decision_COMMITTED {
		return s.printf("Aborted: nothing was applied\n")
	}
	if err := s.printf("Committed\n"); err != nil || len(o.Results) == 0 {
		return err
	}
	t := s.table("", "OPERATION", "FOUND", "VALUE", "VERSION")
	for i := range o.Results {
		r, operation, value := &o.Results[i], operationOf(o, i), ""
		switch {
		case len(r.Data) > 0:
			value = s.answerText(r)
		case r.Type == pb.DataType_COUNTER || len(r.Value) > 0 || r.Found && operation == "get":
			value = s.held(r)
		}
		t.row(fmt.Sprint(i+1), operation, fmt.Sprint(r.Found), value, shownVersion(r.Version))
	}
	return t.flush()
}
