package kv_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestReplicasAreOddAndNoMoreThanNodes(t *testing.T) {
	for _, c := range []struct{ nodes, wanted, want int }{{1, 0, 1}, {3, 0, 1}, {1, 3, 1}, {2, 3, 1}, {3, 3, 3}, {4, 5, 3},
		{5, 5, 5}, {6, 7, 5}, {128, 7, 7}, {9, 3, 3}} {
		require.Equal(t, c.want, kv.ReplicasOn(c.nodes, c.wanted), "%d wanted on %d nodes", c.wanted, c.nodes)
	}
	for nodes, want := range map[int]int{1: 1, 2: 1, 3: 3, 4: 3, 128: 3} {
		require.Equal(t, want, kv.DefaultReplicas(nodes))
	}
}

func TestDefaultShards(t *testing.T) {
	for _, c := range []struct{ nodes, replicas, want int }{{1, 1, 8}, {9, 1, 8}, {3, 3, 16}, {4, 3, 16}, {5, 3, 20},
		{9, 5, 36}, {kv.MaxNodes, 7, 4 * kv.MaxNodes}} {
		require.Equal(t, c.want, kv.DefaultShards(c.nodes, c.replicas))
	}
}

func TestNumbersOfReplicasAreChecked(t *testing.T) {
	for n := -3; n < 12; n++ {
		err := kv.CheckReplicas(n)
		if n == 1 || n == 3 || n == 5 || n == 7 {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%d", n)
		require.ErrorContains(t, err, "use 1, 3, 5 or 7")
	}
}

// TestFirstReplicasAreOnDifferentNodes: of each shard, the first one on the node of the placement.
func TestFirstReplicasAreOnDifferentNodes(t *testing.T) {
	p := kv.FirstPlacement(5, 4)
	p.Replicas = 3
	require.NoError(t, p.Check())
	require.Equal(t, []kv.NodeID{3, 4, 1}, p.NodesOf(2))
	require.Equal(t, []kv.NodeID{1, 2, 3}, p.NodesOf(4))
	require.Nil(t, p.NodesOf(5))
	for _, wrong := range []int{-1, 2, 4, 5} {
		p.Replicas = wrong
		require.Equal(t, kv.KindInvalid, kv.KindOf(p.Check()), "%d replicas on 4 nodes", wrong)
	}
}

func TestPlacesAreParsed(t *testing.T) {
	require.Equal(t, "n2/9f3a", kv.PlaceOf(2, 0x9f3a))
	n, disk, err := kv.ParsePlace("")
	require.NoError(t, err)
	require.Zero(t, n)
	require.Zero(t, disk)
	rapid.Check(t, func(t *rapid.T) {
		node, number := kv.NodeID(rapid.Uint16Min(1).Draw(t, "node")), rapid.Uint64().Draw(t, "disk")
		n, disk, err := kv.ParsePlace(kv.PlaceOf(node, number))
		require.NoError(t, err)
		require.Equal(t, node, n)
		require.Equal(t, number, disk)
	})
	require.True(t, kv.IsLaterPlace("n2/1", "") && kv.IsLaterPlace("n2/10", "n2/f"))
	require.False(t, kv.IsLaterPlace("", "n2/1") || kv.IsLaterPlace("n2/f", "n2/10") || kv.IsLaterPlace("n2/1", "n2/1") ||
		kv.IsLaterPlace("n2/2", "x") || kv.IsLaterPlace("", ""))
	for _, wrong := range []string{"n2", "n2/", "n0/1", "2/1", "n2/01", "n2/A", "n2/1/2", "n-1/1", "n65536/1",
		"n2/10000000000000000"} {
		_, _, err := kv.ParsePlace(wrong)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), wrong)
	}
}
