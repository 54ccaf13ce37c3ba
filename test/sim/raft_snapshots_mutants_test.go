//go:build mutants

package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestMutantsOfRaftSnapshots: a Raft snapshot that lacks some rows is detected.
func TestMutantsOfRaftSnapshots(t *testing.T) {
	for name, id := range map[string]mutant.ID{
		"intents":    mutant.SnapshotWithoutIntents,
		"read locks": mutant.SnapshotWithoutReadLocks,
		"fences":     mutant.SnapshotWithoutFences,
		"outcomes":   mutant.SnapshotWithoutOutcomes,
	} {
		t.Run(name, func(t *testing.T) {
			v := newLedBySnapshot(t, mutant.Of(id)).violation(t)
			require.NotEmpty(t, v)
			t.Log(v)
		})
	}
}
