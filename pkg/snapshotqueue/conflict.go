package snapshotqueue

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// hasReader reports whether a registered reader does not commute with needs. ignoreRounds: readers of snapshot rounds
// do not count.
func (q *Queue) hasReader(needs []Need, ignoreRounds bool) bool {
	for _, rd := range q.rangedReaders {
		if !(ignoreRounds && rd.whole) && !commute(rd.needs, needs) {
			return true
		}
	}
	for i := range needs {
		if needs[i].Span.IsPoint() {
			if p := q.points[string(needs[i].Span.Start)]; p != nil && p.hasReader(needs, ignoreRounds) {
				return true
			}
			continue
		}
		for key, p := range q.points {
			if needs[i].Span.Contains([]byte(key)) && p.hasReader(needs, ignoreRounds) {
				return true
			}
		}
	}
	return false
}

func (p *point) hasReader(needs []Need, ignoreRounds bool) bool {
	return slices.ContainsFunc(p.readers, func(rd *reader) bool {
		return !(ignoreRounds && rd.whole) && !commute(rd.needs, needs)
	})
}

// conflictingUpdates lists the updates and pieces that do not commute with needs, in the order of age.
func (q *Queue) conflictingUpdates(needs []Need) (out []*update) {
	q.listings++
	note := func(us []*update) {
		for _, u := range us {
			if u.listedIn != q.listings && !commute(needs, u.needs) {
				u.listedIn = q.listings
				out = append(out, u)
			}
		}
	}
	note(q.rangedUpdates)
	for i := range needs {
		if needs[i].Span.IsPoint() {
			if p := q.points[string(needs[i].Span.Start)]; p != nil {
				note(p.updates)
			}
			continue
		}
		for key, p := range q.points {
			if needs[i].Span.Contains([]byte(key)) {
				note(p.updates)
			}
		}
	}
	slices.SortFunc(out, func(a, b *update) int { return a.txn.CompareAge(b.txn) })
	return out
}

// isDecidable reports whether the last agent, on another shard, may have decided the update or may do so at
// any time.
func (u *update) isDecidable() bool { return u.state == Sealed || u.state == Recovered }

func (q *Queue) sortedUpdates() []*update {
	out := make([]*update, 0, len(q.updates))
	for _, u := range q.updates {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b *update) int { return a.txn.CompareAge(b.txn) })
	return out
}

func (q *Queue) sortedReaders() []*reader {
	out := make([]*reader, 0, len(q.readers))
	for _, rd := range q.readers {
		out = append(out, rd)
	}
	slices.SortFunc(out, func(a, b *reader) int { return a.id.CompareAge(b.id) })
	return out
}

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
