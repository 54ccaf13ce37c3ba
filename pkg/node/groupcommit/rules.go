package groupcommit

// The rules that tests break, each with its mutant.

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// inOrder returns a batch in the order in which its steps were submitted: the entries of a later step may depend on
// those of an earlier one, which a crash must not lose alone.
func (g *Group) inOrder(b Batch) Batch {
	if g.Mutants.Has(mutant.BatchReordersSteps) {
		slices.Reverse(b.Steps)
		slices.Reverse(b.Groups)
		slices.Reverse(b.ends)
	}
	return b
}

// canPass reports whether the messages of a step need not wait for the log. See Step.at for the history that the wait
// of a step without entries prevents.
func (g *Group) canPass(s *Step) bool {
	violated := mutant.RespondBeforeDurable
	if len(s.Out.Entries) > 0 {
		violated = mutant.SendBeforeDurable
	}
	return len(s.Out.Send) == 0 || s.Shard.CanPass(s.at) || g.Mutants.Has(violated)
}
