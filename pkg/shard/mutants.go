package shard

// The rules that tests break, each with its mutant.

import "github.com/linchpindb/linchpin/pkg/mutant"

// leasesEnd returns when the known leases of earlier incarnations end.
func (c *Config) leasesEnd(until int64) int64 {
	if c.Mutants.Has(mutant.LeasesTakenAsEnded) {
		return 0
	}
	return until
}

// mayHaveReaders reports whether readers are registered, or leases of earlier incarnations may not have ended.
func (m *Machine) mayHaveReaders() bool {
	return m.queue.ReaderCount() > 0 || m.Now < m.queue.SealFrom() && !m.Mutants.Has(mutant.ShutdownWithinLease)
}
