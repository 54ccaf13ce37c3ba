package agent

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// Check holds the promises against the intents, and returns how many there are; for tests.
func (p *Participant) Check() (promises int, err error) {
	for txn, a := range p.attempts.of {
		if a.txn != txn {
			return 0, fmt.Errorf("attempt %v filed under %v", a.txn, txn)
		}
		if len(a.replies) > 1 {
			return 0, fmt.Errorf("%v: %d answers are kept to be repeated", txn, len(a.replies))
		}
		own := a.prepared != nil && a.prepared.row.Last == p.ID // decided here, in the parallel order
		if (a.preparing != nil || a.prepared != nil) && !own {
			err := p.uncommitted(txn)
			if err != nil {
				return 0, err
			}
		}
		if a.prepared == nil {
			continue
		}
		promises++
		for i, it := range a.prepared.items {
			found := false
			for _, in := range it.Intents {
				found = found || in.Txn == txn && in.Effect == &a.prepared.row.Effects[i]
			}
			if !found {
				return 0, fmt.Errorf("%v has lost its intent on %q", txn, it.Key)
			}
		}
	}
	return promises, nil
}

// uncommitted holds that no commit of the id of an undecided attempt has been made here.
func (p *Participant) uncommitted(txn kv.TxnRef) error {
	f := p.Outcomes.Finished(txn.TxnID)
	if f.Applied|f.Committed != 0 {
		return fmt.Errorf("%v is undecided, and attempt %d of it has committed", txn, max(f.Applied, f.Committed))
	}
	return nil
}

// Check looks for records that are ready and wait for nothing; for tests.
func (l *LastAgent) Check() error {
	for _, rec := range l.Records.All() {
		t := taskOf(rec)
		if rec.State != record.Committed {
			err := l.part.uncommitted(rec.Txn)
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
