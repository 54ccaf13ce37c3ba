package agent

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// Check verifies that every prepared attempt has its intents and that no undecided one belongs to a
// committed id. It returns the number of prepared attempts. For tests.
func (p *Participant) Check() (preparedCount int, err error) {
	for _, a := range p.Attempts.Sorted() {
		txn := a.Txn
		// With --commit-order parallel the shard commits its own prepared attempt first, and applies
		// it afterwards.
		own := a.IsPrepared() && a.Prepared.Row.Last == p.ID
		if a.IsCommitting() && !own {
			err := p.checkUncommitted(txn)
			if err != nil {
				return 0, err
			}
		}
		if a.Prepared == nil {
			continue
		}
		preparedCount++
		for i, it := range a.Prepared.Items {
			found := false
			for _, in := range it.Intents {
				found = found || in.Txn == txn && in.Effect == &a.Prepared.Row.Effects[i]
			}
			if !found {
				return 0, fmt.Errorf("%v has lost its intent on %q", txn, it.Key)
			}
		}
	}
	return preparedCount, nil
}

// checkUncommitted returns an error if a commit of the id of an undecided attempt has been made
// here.
func (p *Participant) checkUncommitted(txn kv.TxnRef) error {
	f := p.Outcomes.Finished(txn.TxnID)
	if f.Applied|f.Committed != 0 {
		return fmt.Errorf("%v is undecided, and attempt %d of it has committed", txn, max(f.Applied, f.Committed))
	}
	return nil
}

// Check verifies that no record is ready without a task that waits. For tests.
func (l *LastAgent) Check() error {
	for _, rec := range l.Records.All() {
		t := taskOf(rec)
		if rec.State != record.Committed {
			err := l.part.checkUncommitted(rec.Txn)
			if err != nil {
				return err
			}
		}
		if t != nil && rec.State == record.Ready && t.Done() {
			return fmt.Errorf("%v is ready and its task is done", rec.Txn)
		}
	}
	return nil
}
