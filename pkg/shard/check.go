package shard

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// Check holds the shard and its parts against their invariants. It costs as
// much as the shard is large and is meant for tests, after every step.
//
// Beyond those of its parts:
//  1. a prepared participant is in the snapshot-queues and holds its locks,
//     and every intent belongs to one;
//  2. a task of a record is at most Ready, and waits for something.
func (m *Machine) Check() error {
	for _, check := range []func() error{m.locks.Check, m.queue.Check, m.recs.Check, m.store.Check} {
		if err := check(); err != nil {
			return fmt.Errorf("%v: %w", m.cfg.ID, err)
		}
	}
	n := 0
	for txn, a := range m.attempts {
		if a.txn != txn {
			return fmt.Errorf("%v: attempt %v filed under %v", m.cfg.ID, a.txn, txn)
		}
		if a.prepared == nil {
			continue
		}
		n++
		for i, it := range a.prepared.items {
			found := false
			for _, in := range it.Intents {
				found = found || in.Txn == txn && in.Effect == &a.prepared.row.Effects[i]
			}
			if !found {
				return fmt.Errorf("%v: %v has lost its intent on %q", m.cfg.ID, txn, it.Key)
			}
		}
	}
	if q := m.queue.Len() - m.queue.Pieces(); n != q {
		return fmt.Errorf("%v: %d prepared participants, %d in the snapshot-queues", m.cfg.ID, n, q)
	}
	for _, rec := range m.recs.All() {
		if t := taskOf(rec); t != nil && rec.State == record.Ready && t.stage == stageDone {
			return fmt.Errorf("%v: %v is ready and its task is done", m.cfg.ID, rec.Txn)
		}
	}
	return nil
}

// Quiet tells what is left when nothing should be: nil when the shard holds
// no lock, promise, record, wait or open question.
func (m *Machine) Quiet() error {
	s := m.Snapshot(0)
	if s.Waiting+s.Holders+s.Prepared+s.Records+s.Keeps+s.Readers+len(m.cold)+len(m.past)+len(m.attempts)+m.store.Pinned() > 0 {
		return fmt.Errorf("%v: not quiet: %d waiting, %d holders, %d prepared, %d records, %d kept indexes, %d readers, %d cold reads, %d reads in the past, %d attempts, %d pinned keys",
			m.cfg.ID, s.Waiting, s.Holders, s.Prepared, s.Records, s.Keeps, s.Readers, len(m.cold), len(m.past), len(m.attempts), m.store.Pinned())
	}
	return nil
}
