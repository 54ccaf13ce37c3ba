package env

// The rules that tests break, each with its mutant.

import "github.com/linchpindb/linchpin/pkg/mutant"

// commitIncarnation is the incarnation in the names of commits. Otherwise a shard could take a commit of this
// incarnation for one that it has aborted before the gateway's restart.
func (e *Env) commitIncarnation() uint32 {
	if e.Mutants.Has(mutant.GatewayReusesCommitIDs) {
		return 0
	}
	return e.Incarnation
}

// isRetained reports whether the time until which a state was retained has not ended.
func (e *Env) isRetained(until int64) bool {
	return e.Now < until || e.Mutants.Has(mutant.RetentionUnproven) || e.Mutants.Has(mutant.StateOfAnyIncarnation)
}
