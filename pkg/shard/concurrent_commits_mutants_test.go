//go:build mutants

package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestMutantLetsAttemptsWaitForEachOther: without the rule, a later attempt waits for an earlier one that its
// client has abandoned.
func TestMutantLetsAttemptsWaitForEachOther(t *testing.T) {
	f := newStepsWith(t, 3, func(cfg *shard.Config) { cfg.Mutants = mutant.Of(mutant.AttemptsEqualAge) })
	require.Empty(t, woundsOfAttempts(f, 3))
}

// TestMutantAcknowledgementOfAnyCommitLosesAWrite: without the rule, the last agent accepts the
// acknowledgement of another commit, and the lost decision is not repeated.
func TestMutantAcknowledgementOfAnyCommitLosesAWrite(t *testing.T) {
	f := newStepsWith(t, 3, func(cfg *shard.Config) { cfg.Mutants = mutant.Of(mutant.AckOfAnyCommit) })
	acknowledgeAnother(f)
	f.tick(2 * time.Second)
	require.False(t, f.get(1, "gk").Found, "the decision is not repeated")
}
