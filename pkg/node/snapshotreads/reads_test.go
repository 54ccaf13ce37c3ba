package snapshotreads

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// replica is a node of three, n2, whose replica of s1 has nothing that is retained, so it refuses each read.
type replica struct {
	leads, leaderless, hotLeaderless, peersDown bool
	// number is the number of the replica when it is asked for the next time; it is replaced if it changes.
	number, nextNumber consensus.ReplicaID
	sent               string
}

func (x *replica) reads(t *testing.T) *Reads {
	p := kv.FirstPlacement(3, 3)
	p.Replicas = 3
	clk, err := clock.NewReal()
	require.NoError(t, err)
	return New(Options{ID: 2, Placement: p, Clock: clk, Stop: make(chan struct{}),
		IsLeaderless: func(s kv.ShardID) bool { return s == 1 && x.leaderless || s == p.HotShard() && x.hotLeaderless },
		Leads:        func(kv.ShardID) bool { return x.leads }, Leader: func(kv.ShardID) kv.NodeID { return 3 },
		Up: func(kv.NodeID) bool { return !x.peersDown },
		Replica: func(kv.ShardID) (n consensus.ReplicaID) {
			n, x.number = x.number, x.nextNumber
			return n
		},
		Read:     func(kv.ShardID, entry.Read) entry.ReadResult { return entry.ReadResult{} },
		OnDamage: func(kv.ShardID, error) {},
		Respond: func(env *msg.Envelope) {
			x.sent = fmt.Sprintf("to gateway %v: %v", env.Gateway, msg.As[msg.ReadResponse](env).Failure.Hint)
		},
		Forward: func(s kv.ShardID, _ *msg.Envelope) { x.sent = "forwarded" },
		Send:    func(to kv.NodeID, env *msg.Envelope) { x.sent = fmt.Sprintf("to %v, %v", to, env.Forwarded) }})
}

// TestRefusedReads: to the leader, or without one to another replica, once; otherwise the gateway gets the reason.
func TestRefusedReads(t *testing.T) {
	const hint = `; read an earlier snapshot, or start the nodes that "linchpin status" shows as down`
	const dropped = "to gateway n3: the snapshot may have been dropped, or has expired" + hint
	whole := replica{number: 1, nextNumber: 1}
	for name, tc := range map[string]struct {
		change    func(*replica)
		forwarded bool
		want      string
		machine   bool
	}{
		"leader elsewhere": {change: func(*replica) {}, want: "forwarded"},
		"leader here":      {change: func(x *replica) { x.leads = true }, machine: true},
		"leader here that knows no snapshots": {want: dropped,
			change: func(x *replica) { x.leads, x.hotLeaderless = true, true }},
		"no leader":              {change: func(x *replica) { x.leaderless = true }, want: "to n3, true"},
		"no leader, the second":  {change: func(x *replica) { x.leaderless = true }, forwarded: true, want: dropped},
		"no leader, no other up": {change: func(x *replica) { x.leaderless, x.peersDown = true, true }, want: dropped},
		"no replica here": {change: func(x *replica) { x.leaderless, x.peersDown, x.number = true, true, 0 },
			want: "to gateway n3: this node has no replica of it" + hint},
		"replaced meanwhile": {change: func(x *replica) { x.leaderless, x.peersDown, x.nextNumber = true, true, 2 },
			want: "to gateway n3: the rows of the replica on this node cannot be read" + hint},
	} {
		t.Run(name, func(t *testing.T) {
			x := whole
			tc.change(&x)
			r := x.reads(t)
			env := &msg.Envelope{Shard: 1, From: 3, Forwarded: tc.forwarded,
				Body: &msg.Read{Gateway: 3, SnapshotNumber: 7}}
			rest := r.Take(1, []*msg.Envelope{env})
			r.Close()
			require.Equal(t, tc.machine, len(rest) == 1)
			require.Equal(t, tc.want, x.sent)
		})
	}
}

// TestOthersAreLeftToTheMachine: reads of the present and at rounds, and searches while the hot shard has a leader.
func TestOthersAreLeftToTheMachine(t *testing.T) {
	r := (&replica{}).reads(t)
	envs := []*msg.Envelope{{Body: &msg.Read{}}, {Body: &msg.ReadPage{Number: 1}}, {Body: &msg.FindSnapshot{Number: 1}},
		{Body: &msg.ReadPage{SnapshotNumber: 1, Number: 1, Done: true}}, {Body: &msg.Deregister{}}}
	require.Equal(t, envs, r.Take(1, envs))
}
