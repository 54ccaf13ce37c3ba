package commit

import (
	"fmt"

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

// Check looks for records that are ready and wait for nothing; for tests.
func (l *LastAgent) Check() error {
	for _, rec := range l.Records.All() {
		t := taskOf(rec)
		if t != nil && rec.State == record.Ready && t.Done() {
			return fmt.Errorf("%v is ready and its task is done", rec.Txn)
		}
	}
	return nil
}
