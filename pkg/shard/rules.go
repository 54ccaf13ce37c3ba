package shard

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// leasesEnd returns when the known leases of earlier incarnations end.
func (c *Config) leasesEnd(until int64) int64 {
	if c.Mutants.Has(mutant.LeasesTakenAsEnded) {
		return 0
	}
	return until
}

// steadyNanos returns for how long the time of day was steady when the machine was made. If each leader measured that
// itself, and leaders changed every ten minutes, outcomes, fences and expired snapshots would never be deleted.
func (c *Config) steadyNanos(leader *Replica) int64 {
	if leader == nil || c.Mutants.Has(mutant.NodeClockForgotten) {
		return 0
	}
	return leader.SteadyNanos
}

// mayHaveReaders reports whether readers are registered, or leases of earlier incarnations may not have ended.
func (m *Machine) mayHaveReaders() bool {
	return m.queue.ReaderCount() > 0 || m.Now < m.queue.SealFrom() && !m.Mutants.Has(mutant.ShutdownWithinLease)
}

// laterIncarnation returns an incarnation above that of the machine that a message names, 0 if there is none, or
// the shard has one replica (R3.7).
//
//	leader 1    is deposed by leader 2 and does not know it
//	leader 2    decides T, for which participant P has voted
//	leader 1    receives the repeated vote of P, which names incarnation 2. If it responded "unknown, so aborted", P
//	            would drop what is committed.
func (m *Machine) laterIncarnation(in *Input) kv.Incarnation {
	if in.LeaseEnd == 0 || m.Mutants.Has(mutant.LaterIncarnationIgnored) {
		return 0
	}
	for _, x := range in.Messages {
		if named := msg.RecipientIncarnation(x); named > m.Inc {
			return named
		}
	}
	return 0
}
