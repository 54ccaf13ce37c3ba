package snapshotqueue

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Check verifies the invariants.
func (q *Queue) Check() error {
	seen := map[kv.Epoch]kv.TxnRef{}
	for _, u := range q.sortedUpdates() {
		if u.state == Sealed {
			if u.epoch.Incarnation != q.opt.Incarnation {
				return fmt.Errorf("snapshotqueue: invariant 1: %v is sealed with epoch %v in incarnation %d",
					u.txn, u.epoch, q.opt.Incarnation)
			}
			if o, ok := seen[u.epoch]; ok {
				return fmt.Errorf("snapshotqueue: invariant 1: %v and %v share epoch %v", u.txn, o, u.epoch)
			}
			seen[u.epoch] = u.txn
		}
		if err := q.checkReaders(u); err != nil {
			return err
		}
	}
	for _, r := range q.waitingReads {
		if r.state == readWaiting && (len(r.waits) == 0 || q.readers[r.Reader] == nil) {
			return fmt.Errorf("snapshotqueue: invariant 4: a read of %v waits for %d updates, registered: %t",
				r.Reader, len(r.waits), q.readers[r.Reader] != nil)
		}
	}
	return nil
}

// checkReaders verifies the invariants 2 and 3 for an update.
func (q *Queue) checkReaders(u *update) error {
	held := false
	for _, rd := range q.sortedReaders() {
		if commute(rd.needs, u.needs) {
			continue
		}
		held = true
		waits := slices.ContainsFunc(u.waiting, func(r *Read) bool { return r.Reader == rd.id })
		if u.state == Sealed && !waits {
			return fmt.Errorf("snapshotqueue: invariant 2: %v is sealed, and %v does not wait for it", u.txn, rd.id)
		}
	}
	if u.state != Sealed && u.state != Unheld && !held && q.now >= q.opt.SealFrom && q.due > q.now && q.changes.Empty() {
		return fmt.Errorf("snapshotqueue: invariant 3: %v is %v, and no reader holds it", u.txn, u.state)
	}
	return nil
}
