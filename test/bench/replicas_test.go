package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

func TestSlowNodeIsChosenByWhatItLeads(t *testing.T) {
	const hot = 4
	for name, x := range map[string]struct {
		leaders      map[kv.ShardID]kv.NodeID
		most, fewest kv.NodeID
	}{
		"balanced":                   {map[kv.ShardID]kv.NodeID{0: 1, 1: 2, 2: 3, 3: 3, hot: 1}, 3, 1},
		"one leads all":              {map[kv.ShardID]kv.NodeID{0: 2, 1: 2, 2: 2, 3: 2, hot: 2}, 2, 1},
		"the hot shard is no matter": {map[kv.ShardID]kv.NodeID{0: 1, 1: 1, 2: 2, 3: 3, hot: 3}, 1, 2},
	} {
		require.Equal(t, x.most, choice(x.leaders, hot, 3, true), name)
		require.Equal(t, x.fewest, choice(x.leaders, hot, 3, false), name)
	}
}

func TestLatencyIsComparedWithinRounds(t *testing.T) {
	s := rounds.Series{oneReplica: {1, 2}, threeReplicas: {1.5, 2.25}, trip: {0.25, 0.125}, oneFsync: {0.25, 0.125}}
	addMore(s)
	require.Equal(t, []float64{0.5, 0.25}, s[more])
	require.Equal(t, []float64{0.5, 0.25}, s[allowed])
	alone := rounds.Series{oneReplica: {1}}
	addMore(alone)
	require.Empty(t, alone[more], "--only has left the others out")
}
