package shards

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// canLeaveOut reports whether rounds do not leave out a shard already.
func (s *Shards) canLeaveOut(of kv.ShardID) bool {
	return !s.IsLeftOut(of) && !s.env.Mutants.Has(mutant.ExclusionForgotten)
}

// isServed reports whether an exclusion has ended: the shard has answered a probe, and the time is over. A shard that
// is slow now and then would otherwise block writers in each round that it takes part in.
func (s *Shards) isServed(x *probedShard) bool {
	return x.probe == nil && (s.env.Now >= x.until || s.env.Mutants.Has(mutant.ExclusionEndsAtProbe))
}
