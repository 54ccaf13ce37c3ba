package locktable

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPhasesAndJoinsAreCounted counts a grant that opens a phase, and grants that join it.
func TestPhasesAndJoinsAreCounted(t *testing.T) {
	table := New(Options{MaxPhaseCount: 10})
	for i := range int64(3) {
		require.Equal(t, Granted, table.Acquire(0, setRequest(i+1, 1, "add", "a")))
	}
	require.Equal(t, Waiting, table.Acquire(0, setRequest(9, 1, "len")))
	require.Equal(t, Counters{Granted: 3, Waits: 1, Phases: 1, Joins: 2}, table.Counters())
	for i := range int64(3) {
		table.Release(setRequest(i+1, 1, "add", "a").Txn)
	}
	require.NotNil(t, table.Next(0))
	c := table.Counters()
	require.Equal(t, [2]uint64{2, 2}, [2]uint64{c.Phases, c.Joins})
}
