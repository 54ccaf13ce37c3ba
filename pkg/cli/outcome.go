package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

func outcomeCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "outcome ID",
		Short: "Show the outcome of a transaction",
		Long: `Show the outcome of a transaction whose response was lost; the error has the ID.

  Committed  it was applied, exit code 0; the results follow, as far as they are kept. Operations have the names
             of receipts ("put", "add-get", "set.add"), and keys are not kept.
  Aborted    nothing of it was applied, and the query keeps it from committing later: it is safe to run it again.
             Exit code 6. A transaction that wrote nothing, because it only read, checked conditions or drew
             ids, is shown as aborted: nothing is kept of it.
  Unknown    it is older than the cluster remembers, exit code 5, or the cluster cannot decide in time, 4.`,
		Example: `  linchpin outcome 18b2f3a4c5d6e7f8091a2b3c4d5e6f70`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := kv.ParseTxnID(args[0])
		if err != nil {
			return usagef(cmd, "%q is not the id of a transaction: want 32 hexadecimal digits", args[0])
		}
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			committed, results, err := s.db.Outcome(ctx, id)
			if k := kv.KindOf(err); (k == kv.KindTooOld || k == kv.KindOutcomeUnknown) && !s.json {
				err = errors.Join(s.printf("Unknown\n"), err)
			}
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
	} else if err := s.outcomeTable(committed, results); err != nil {
		return err
	}
	if !committed {
		return &quietError{ExitAborted}
	}
	return nil
}

func (s *session) outcomeTable(committed bool, results []client.Result) error {
	if !committed {
		return s.printf("Aborted: nothing was applied\n")
	}
	if err := s.printf("Committed\n"); err != nil || len(results) == 0 {
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
