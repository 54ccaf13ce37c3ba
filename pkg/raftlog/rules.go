package raftlog

import (
	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// rules are those that tests break on purpose, to show that they find it.
type rules struct{ broken mutant.Set }

// boundByFlushed bounds a truncation by what the shard's store has flushed (R6.5).
func (u rules) boundByFlushed(to, flushed consensus.Position) consensus.Position {
	if u.broken.Has(mutant.LogCutBeyondFlushed) {
		return to
	}
	return min(to, flushed)
}

// keepsVote: a truncation keeps the term and the vote (R6.6).
func (u rules) keepsVote() bool { return !u.broken.Has(mutant.VoteCutWithLog) }

// recordsCommit: a record of entries holds the commit index that came with them (R6.7).
func (u rules) recordsCommit() bool { return !u.broken.Has(mutant.CommitIndexNotRecorded) }

// forgetsNumbers: the number of a replica that was destroyed may be used again (R7.17).
func (u rules) forgetsNumbers() bool { return u.broken.Has(mutant.ReplicaNumberReused) }

// verifies: the checksum of an entry is verified when it is read (R6.13).
func (u rules) verifies() bool { return !u.broken.Has(mutant.EntryChecksumIgnored) }
