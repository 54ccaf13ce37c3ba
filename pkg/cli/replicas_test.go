package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// replicated starts two nodes of a cluster with three replicas of each shard, whose third node is down: n1 leads s0,
// n2 leads s2, and nothing leads s1.
func replicated(t *testing.T) *node {
	a, z := cluster(t)
	for _, n := range []*node{a, z} {
		status := n.status
		n.status = func() *pb.StatusResponse {
			st := status()
			st.Replicas = 3
			for i := range st.Members {
				st.Members[i].Replicas = 3
			}
			st.Members[2].Shards = nil
			return st
		}
	}
	three := func(leader uint32, silent uint64) []pb.ReplicaStatus {
		out := []pb.ReplicaStatus{{Replica: 1, NodeId: 1}, {Replica: 2, NodeId: 2, Lag: 1204}, {Replica: 3, NodeId: 3,
			SilentMs: silent}, {Replica: 4, NodeId: 3, Learner: true, Damaged: true}}
		for i := range out {
			out[i].Leader = out[i].NodeId == leader && !out[i].Learner
		}
		return out
	}
	a.shards = []pb.ShardStatus{
		{Shard: 0, NodeId: 1, Up: true, Term: 7, LeaseMs: 650, Incarnation: 7, Csn: 30, Steps: 10, StepTimeUs: 20,
			Replicas: three(1, 4000), Missing: 1, MissingReason: "n3 is down", Changing: true},
		{Shard: 1, Term: 5, Failure: "its log is damaged", Replicas: three(0, 0)},
		{Shard: 2, NodeId: 2, Hot: true, Up: true, Term: 9, Replicas: three(2, 0)}}
	z.shards = []pb.ShardStatus{{Shard: 0, NodeId: 2, Up: true, Term: 6}, {Shard: 1, Term: 5},
		{Shard: 2, NodeId: 2, Hot: true, Up: true, Term: 9, LeaseMs: 700, Incarnation: 9, Replicas: three(2, 5000),
			Missing: 1, MissingReason: "n3 is down"}}
	return a
}

// TestShardsShowReplicas: a deposed leader's report (n2's of s0) does not count.
func TestShardsShowReplicas(t *testing.T) {
	r := replicated(t).run(t, "shards")
	require.Equal(t, ""+
		"SHARD   LEADER  STATE      TERM  LEASE   REPLICAS                                     CSN  IN MEMORY  "+
		"WAITING  INTENTS  RECORDS  STEP\n"+
		"s0      n1      up         7     650 ms  n1, n2 -1,204, n3 silent 4s, n3 new damaged  30   0          "+
		"0        0        0        2 µs\n"+
		"s1      -       no leader  5     -       n1, n2 -1,204, n3, n3 new damaged            -    -          "+
		"-        -        -        -\n"+
		"s2 hot  n2      up         9     700 ms  n1, n2 -1,204, n3 silent 5s, n3 new damaged  0    0          "+
		"0        0        0        0 µs\n", r.out)
	got := objects(t, replicated(t).run(t, "shards", "-o", "json").out)
	require.Equal(t, "n3 is down", got[0]["missing_reason"])
	require.Equal(t, map[string]any{"replica": float64(2), "node": float64(2), "leader": false, "learner": false,
		"damaged": false, "lag": float64(1204), "silent_ms": float64(0)}, got[0]["replicas"].([]any)[1])
	require.Equal(t, false, got[1]["up"])
}

// TestStatusReportsMissingReplicas: with the reason, and what is without a leader.
func TestStatusReportsMissingReplicas(t *testing.T) {
	n := replicated(t)
	out := n.run(t, "status").ok(t)
	require.Contains(t, out, "3 shards (hot: s2), 3 replicas each\n")
	require.Regexp(t, `MEMBER +ADDRESS +STATE +LEADS +REPLICAS\nn1 +\S+ +up \(this node\) +1 +3\n`, out)
	require.Contains(t, out, "\n\nUNAVAILABLE: the shard s1, 50 % of the keyspace, without a leader: a majority of the "+
		"replicas is down or cut off, or an election is in progress\n"+
		"MISSING REPLICAS: the shard s0 with 2 of 3 replicas: n3 is down (silent for 4s)\n"+
		"FAILED REPLICA: that of s1 on n1: its log is damaged\n")
	got := objects(t, n.run(t, "status", "-o", "json").ok(t))[0]
	require.Equal(t, []any{float64(1)}, got["shards_without_leader"])
	require.Equal(t, float64(50), got["unavailable_keyspace_percent"])
	require.Equal(t, map[string]any{"shards": []any{float64(0)}, "present": float64(2), "wanted": float64(3),
		"reason": "n3 is down", "silent_ms": float64(4000)}, got["missing_replicas"].([]any)[0])
	a, _ := cluster(t)
	require.NotContains(t, a.run(t, "status", "-o", "json").ok(t), "replicas")
}
