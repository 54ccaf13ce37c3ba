package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/txn"
)

// checkedOptions are those of a calm cluster of three nodes, whose rows are checked.
func checkedOptions() Options {
	o := replicated(steady(txn.HotLast))
	o.CheckEvery = time.Second
	return o
}

// TestShardStopsIfNoMajorityAgrees: two of three replicas differ from the others and from each other. Their shard
// serves no more, also when the nodes have restarted; the other one does.
func TestShardStopsIfNoMajorityAgrees(t *testing.T) {
	w := led(t, checkedOptions())
	w.Run(w.Now()+int64(5*time.Second), nil)
	require.NoError(t, w.Err)
	require.Greater(t, w.Counts.Checks, 20, "two shards on three nodes")
	require.Zero(t, w.Counts.Stopped)
	for i, name := range []string{"", "a", "b"} {
		if name != "" {
			w.Nodes[i].Shards[0].AlterRows(name)
		}
	}
	id := w.Nodes[0].Shards[0].ID
	for range 2 {
		before := w.Counts.Stopped
		w.Run(w.Now()+int64(5*time.Second), nil)
		require.NoError(t, w.Err)
		require.Equal(t, before+3, w.Counts.Stopped)
		for _, s := range w.Shards {
			require.Equal(t, s.ID == id, s.M == nil)
		}
		for _, n := range w.Nodes {
			n.Crash()
		}
	}
}

// TestAlteredReplicaIsReplaced: one replica differs. It is replaced on its own node, while the leaders before and after
// serve.
func TestAlteredReplicaIsReplaced(t *testing.T) {
	w := led(t, checkedOptions())
	for _, s := range w.Nodes[1].Shards {
		s.Alter()
	}
	altered := w.Counts.Altered
	require.NotZero(t, altered)
	for range 200 {
		for _, s := range w.Shards {
			s.StepMembers()
		}
		w.Run(w.Now()+int64(100*time.Millisecond), nil)
		require.NoError(t, w.Err)
	}
	require.Equal(t, altered, w.Counts.Unfit)
	require.Equal(t, altered, w.Counts.Abandoned)
	w.CheckReplicas()
	require.NoError(t, w.Err)
}
