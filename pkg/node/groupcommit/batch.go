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

// Shard is what is remembered of a shard from one of its steps to the next.
type Shard struct {
	ID kv.ShardID
	// Appended is the position of its last entries, or the later one that its last messages wait for;
	// 0 if there are none in this incarnation.
	Appended engine.Position
}

// Step is the output of a step on its way to the log.
type Step struct {
	Shard *Shard
	Out   shard.Output
}

// Empty reports whether there is nothing to be done but what is urgent.
func (s *Step) Empty() bool {
	return len(s.Out.Entries)+len(s.Out.Send)+len(s.Out.Reads)+len(s.Out.Dropped) == 0
}

// Gather holds steps until they are appended together.
type Gather struct {
	// Mutants are the rules that are broken.
	Mutants     mutant.Set
	steps, room []*Step
}

// Submit hands a step on. Those of one shard come in their order.
func (g *Gather) Submit(s *Step) { g.steps = append(g.steps, s) }

// Take takes all steps, in their order. The batch is good until the next Take.
func (g *Gather) Take() Batch {
	b := Batch{g.steps, g.Mutants}
	g.steps, g.room = g.room[:0], g.steps
	if g.Mutants.Has(mutant.GatherReorders) {
		slices.Reverse(b.Steps)
	}
	return b
}

// Batch is steps that are appended together, the oldest first.
type Batch struct {
	Steps  []*Step
	broken mutant.Set
}

// Groups are the entries to be appended; none if no step wrote anything.
func (b Batch) Groups() []entry.Group {
	groups := make([]entry.Group, 0, len(b.Steps))
	for _, s := range b.Steps {
		if len(s.Out.Entries) > 0 {
			groups = append(groups, entry.Group{Shard: s.Shard.ID, Entries: s.Out.Entries})
		}
	}
	return groups
}

// Appended is called when Groups are in the log at a position, which is of no
// meaning if there were none. It tells which messages leave now, the log being
// durable up to a position, and which wait.
//
// A step that wrote nothing may tell of what earlier steps of its shard wrote. So
// its messages wait for the last entries of the shard. Messages of a shard leave in their order.
func (b Batch) Appended(at, durable engine.Position) (now []*msg.Envelope, wait Release) {
	for _, s := range b.Steps {
		wrote := len(s.Out.Entries) > 0
		if wrote {
			s.Shard.Appended = at
			wait.At = at
			wait.Entries += len(s.Out.Entries)
		}
		if s.Shard.Appended <= durable || b.early(wrote) {
			now = append(now, s.Out.Send...)
			continue
		}
		wait.At = max(wait.At, s.Shard.Appended)
		wait.Sends = append(wait.Sends, s.Out.Send...)
	}
	for _, s := range b.Steps {
		if s.Shard.Appended > durable {
			s.Shard.Appended = max(s.Shard.Appended, wait.At) // its next messages do not overtake these
		}
	}
	return now, wait
}

// early reports whether a broken rule has messages leave before they may.
func (b Batch) early(wrote bool) bool {
	if wrote {
		return b.broken.Has(mutant.SendBeforeDurable)
	}
	return b.broken.Has(mutant.TellBeforeDurable)
}
