package groupcommit

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Shard is the state of a shard between its steps.
type Shard struct {
	ID kv.ShardID
	// Appended is the position of its last entries; 0 if it has none in this incarnation.
	Appended engine.Position
}

// Step is the output of a step before it is appended.
type Step struct {
	Shard *Shard
	Out   shard.Output
}

// Empty reports whether the output contains at most urgent messages.
func (s *Step) Empty() bool {
	return len(s.Out.Entries)+len(s.Out.Send)+len(s.Out.Reads)+len(s.Out.Dropped) == 0
}

// Pending accumulates steps until they are appended together.
type Pending struct {
	// Mutants are the planted faults.
	Mutants      mutant.Set
	steps, spare []*Step
}

// Submit adds a step. Steps of one shard are submitted in order.
func (g *Pending) Submit(s *Step) { g.steps = append(g.steps, s) }

// Take returns all steps, in order. The batch is valid until the next Take.
func (g *Pending) Take() Batch {
	b := Batch{g.steps, g.Mutants}
	g.steps, g.spare = g.spare[:0], g.steps
	if g.Mutants.Has(mutant.BatchReordersSteps) {
		slices.Reverse(b.Steps)
	}
	return b
}

// Batch is steps that are appended together, oldest first.
type Batch struct {
	Steps  []*Step
	broken mutant.Set
}

// Groups returns the entries to append; none if no step wrote anything.
func (b Batch) Groups() []entry.Group {
	groups := make([]entry.Group, 0, len(b.Steps))
	for _, s := range b.Steps {
		if len(s.Out.Entries) > 0 {
			groups = append(groups, entry.Group{Shard: s.Shard.ID, Entries: s.Out.Entries})
		}
	}
	return groups
}

// Appended is called when Groups are in the log at position at, which has no meaning if there were none. It
// returns the messages that leave now, given the durable position of the log, and those that wait.
//
// A step without entries may report what earlier steps of its shard wrote. Its messages therefore wait for
// the last entries of the shard:
//
//	step 1: writes k=1     appended at 7, not durable
//	step 2: reads k        no entries, but its response contains k=1: waits for 7
//
// Without that wait, a crash would revoke a value that a client has already seen. What waits waits for the
// whole batch, so later messages of the shard may leave before it. If they had to wait, too, a slow disk
// of one shard would hold back all others of its node.
func (b Batch) Appended(at, durable engine.Position) (now []*msg.Envelope, wait Release) {
	for _, s := range b.Steps {
		wrote := len(s.Out.Entries) > 0
		if wrote {
			s.Shard.Appended = at
			wait.At = at
			wait.Entries += len(s.Out.Entries)
		}
		if s.Shard.Appended <= durable || b.leavesEarly(wrote) {
			now = append(now, s.Out.Send...)
			continue
		}
		wait.At = max(wait.At, s.Shard.Appended)
		wait.Sends = append(wait.Sends, s.Out.Send...)
	}
	return now, wait
}

// leavesEarly reports whether a planted fault sends messages too early.
func (b Batch) leavesEarly(wrote bool) bool {
	if wrote {
		return b.broken.Has(mutant.SendBeforeDurable)
	}
	return b.broken.Has(mutant.RespondBeforeDurable)
}
