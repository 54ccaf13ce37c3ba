package shards

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
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

// dependsOnNodes reports whether a shard is unavailable while its node is down or draining. If shards have several
// replicas, a node that goes down or drains is one that leads them no longer, and their next leader serves within about
// a second: requests are retried, and none is refused (R14.7).
func (s *Shards) dependsOnNodes() bool {
	return !s.env.Replicated || s.env.Mutants.Has(mutant.DownNodeRefuses)
}

// sharedIncarnations returns what the machines of the node know of the shards. A machine that has none to share it with
// has its own.
func sharedIncarnations(e *env.Env) env.Incarnations {
	if e.Incarnations == nil || e.Mutants.Has(mutant.IncarnationsPerMachine) {
		return make(env.OwnIncarnations, e.Router.Shards())
	}
	return e.Incarnations
}
