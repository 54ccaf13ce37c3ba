package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

func outcomeCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "outcome ID",
		Short: "Tell what became of a transaction",
		Long: `Tell what became of a transaction whose answer was lost; ID stands in the message
that said so. If it has committed, "committed" is printed with its results, as far
as they are still known, and the exit code is 0. Operations are named as in receipts
("put", "add-get", "set.add"); keys are not kept. If it has not committed, it never will
after this question: "nothing applied" is printed, the exit code is 6, and it is safe
to run it again. So it is if the transaction was answered and wrote nothing, as one that only
reads, checks conditions or draws identifiers: nothing is kept of those. If neither can be
told in time, or the transaction is older than what the cluster remembers, the exit code
is 4 or 5.`,
		Example: `  linchpin outcome 18b2f3a4c5d6e7f8091a2b3c4d5e6f70`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := kv.ParseTxnID(args[0])
		if err != nil {
			return usagef(cmd, "%q is not a transaction's id: want 32 hexadecimal digits", args[0])
		}
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			committed, results, err := s.db.Outcome(ctx, id)
			if err != nil {
				return err
			}
			return s.printOutcome(id, committed, results)
		})(cmd, args)
	}
	return cmd
}

func (s *session) printOutcome(id kv.TxnID, committed bool, results []client.Result) error {
	if s.json {
		a := struct {
			TxnID     string         `json:"txn_id"`
			Committed bool           `json:"committed"`
			Results   []resultAnswer `json:"results,omitempty"`
		}{TxnID: id.String(), Committed: committed}
		for i := range results {
			r := s.resultObject("", &results[i])
			r.Op = results[i].Operation
			a.Results = append(a.Results, r)
		}
		if err := s.object(a); err != nil {
			return err
		}
	} else if err := s.outcomeText(committed, results); err != nil {
		return err
	}
	if !committed {
		return &quietError{ExitAborted}
	}
	return nil
}

func (s *session) outcomeText(committed bool, results []client.Result) error {
	if !committed {
		return s.printf("nothing applied: it was aborted, or it wrote nothing\n")
	}
	if err := s.printf("committed\n"); err != nil || len(results) == 0 {
		return err
	}
	t := s.table("", "OPERATION", "FOUND", "VALUE", "VERSION")
	for i := range results {
		r := &results[i]
		value := ""
		switch {
		case len(r.Answer) > 0:
			value = s.answerText(r)
		case r.Type == client.TypeCounter || len(r.Value) > 0 || r.Found && r.Operation == "get":
			value = s.value(r.Type, r.TypeName, r.Value, r.Number)
		}
		t.row(fmt.Sprint(i+1), r.Operation, fmt.Sprint(r.Found), value, shownVersion(r.Version))
	}
	return t.flush()
}
