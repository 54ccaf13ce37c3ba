//go:build mutants

package shard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// brokenReads returns what the first of some histories with a wrong response shows.
func brokenReads(t *testing.T, id mutant.ID) error {
	for seed := range uint64(20) {
		if err := newReplicaReads(t, seed, mutant.Of(id)).run(); err != nil {
			return err
		}
	}
	return nil
}

func TestMutantReadsAnyStateAtReplicas(t *testing.T) {
	require.ErrorContains(t, brokenReads(t, mutant.ReplicaReadsAnyState), "at the replica")
}

func TestMutantCollectsWithoutTheRow(t *testing.T) {
	require.ErrorContains(t, brokenReads(t, mutant.RetentionUnwritten), "at the replica")
}

func TestMutantReadsUnclosedStates(t *testing.T) {
	require.ErrorContains(t, brokenReads(t, mutant.ReplicaReadsUnclosed), "is served")
}
