//go:build mutants

package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestAttemptsOfOneAgeWaitForEachOther: with the rule broken, a later attempt waits for an earlier
// one, which nobody uses.
func TestAttemptsOfOneAgeWaitForEachOther(t *testing.T) {
	f := newStepsWith(t, 3, func(cfg *shard.Config) { cfg.Mutants = mutant.Of(mutant.AttemptsEqualAge) })
	require.Empty(t, marksOfAttempts(f, 3))
}

// TestAnAcknowledgementOfAnyCommitLosesAWrite: with the rule broken, the last agent takes an
// acknowledgement of another commit for that of its own, whose decision has been lost.
func TestAnAcknowledgementOfAnyCommitLosesAWrite(t *testing.T) {
	f := newStepsWith(t, 3, func(cfg *shard.Config) { cfg.Mutants = mutant.Of(mutant.AckOfAnyCommit) })
	acknowledgeAnother(f)
	f.tick(2 * time.Second)
	require.False(t, f.get(1, "gk").Found, "the decision is not repeated")
}
