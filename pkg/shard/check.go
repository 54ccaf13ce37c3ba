package shard

import (
	"fmt"
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
		err := check()
		if err != nil {
			return fmt.Errorf("%v: %w", m.cfg.ID, err)
		}
	}
	n, err := m.part.Check()
	if err != nil {
		return fmt.Errorf("%v: %w", m.cfg.ID, err)
	}
	q := m.queue.Len() - m.queue.Pieces()
	if n != q {
		return fmt.Errorf("%v: %d prepared participants, %d in the snapshot-queues", m.cfg.ID, n, q)
	}
	err = m.last.Check()
	if err != nil {
		return fmt.Errorf("%v: %w", m.cfg.ID, err)
	}
	return nil
}

// Quiet tells what is left when nothing should be: nil when the shard holds
// no lock, promise, record, wait or open question.
func (m *Machine) Quiet() error {
	s := m.Snapshot(0)
	if s.Waiting+s.Holders+s.Prepared+s.Records+s.Keeps+s.Readers+m.store.Reading()+m.past.Len()+m.part.Len()+m.store.Pinned() > 0 {
		return fmt.Errorf("%v: not quiet: %d waiting, %d holders, %d prepared, %d records, %d kept indexes, %d readers, %d cache misses, %d reads in the past, %d attempts, %d pinned keys",
			m.cfg.ID, s.Waiting, s.Holders, s.Prepared, s.Records, s.Keeps, s.Readers, m.store.Reading(), m.past.Len(), m.part.Len(), m.store.Pinned())
	}
	return nil
}
