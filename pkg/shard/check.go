package shard

import (
	"fmt"
)

// Check verifies the invariants of the shard and its parts. It takes time proportional to the size
// of the shard, and is for tests, after each step. Besides those of its parts: as many participants
// are prepared as are in the snapshot-queues.
func (m *Machine) Check() error {
	for _, check := range []func() error{m.locks.Check, m.queue.Check, m.records.Check, m.store.Check} {
		err := check()
		if err != nil {
			return fmt.Errorf("%v: %w", m.cfg.ID, err)
		}
	}
	n, err := m.part.Check()
	if err != nil {
		return fmt.Errorf("%v: %w", m.cfg.ID, err)
	}
	q := m.queue.Len() - m.queue.PieceCount()
	if n != q {
		return fmt.Errorf("%v: %d prepared participants, %d in the snapshot-queues", m.cfg.ID, n, q)
	}
	err = m.last.Check()
	if err != nil {
		return fmt.Errorf("%v: %w", m.cfg.ID, err)
	}
	return nil
}

// CheckIdle returns an error if the shard holds any lock, prepared row, record, reader, wait or
// outstanding request. For tests, after the end of all transactions.
func (m *Machine) CheckIdle() error {
	s := m.Status(0)
	reading, past, attempts := m.store.ReadsInFlight(), m.past.Len(), m.attempts.Len()
	references := m.store.ReferencedCount()
	if s.Waiting+s.Holders+s.Prepared+s.Records+s.FixedCSNs+s.Readers+reading+past+attempts+references > 0 {
		return fmt.Errorf("%v: not idle: %d waiting, %d holders, %d prepared, %d records, %d fixed CSNs, %d readers, "+
			"%d cache misses, %d reads at snapshots, %d attempts, %d referenced keys",
			m.cfg.ID, s.Waiting, s.Holders, s.Prepared, s.Records, s.FixedCSNs, s.Readers, reading, past, attempts, references)
	}
	return nil
}
