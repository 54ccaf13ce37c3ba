package consensus_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

var none mutant.Set

var schedules = flag.Int("schedules", 120, "how many schedules to run")

// TestSchedules runs groups of three through crashes, stops, cuts, slow disks and transfers.
func TestSchedules(t *testing.T) {
	begins, steps := 0, 0
	for seed := range uint64(*schedules) {
		s := newSim(seed, none)
		require.Empty(t, s.run(), fmt.Sprint("seed ", seed))
		begins, steps = begins+s.check.begins, steps+s.check.steps
	}
	t.Logf("%d leaders, %d steps", begins, steps)
}

// TestMemberSchedules runs groups that change among five nodes, with truncated logs, Raft snapshots and lost disks.
func TestMemberSchedules(t *testing.T) {
	var begins, steps, changes, snapshots int
	for seed := range uint64(*schedules) {
		s := newMembersSim(seed, none)
		require.Empty(t, s.run(), fmt.Sprint("seed ", seed))
		begins, steps = begins+s.check.begins, steps+s.check.steps
		changes, snapshots = changes+s.members.changes, snapshots+s.members.snapshots
	}
	t.Logf("%d leaders, %d steps, %d changes, %d Raft snapshots", begins, steps, changes, snapshots)
}
