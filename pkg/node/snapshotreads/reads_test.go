package snapshotreads

import (
	"fmt"
	"sync"
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
	// rows are what is read; result is their error.
	rows   func()
	result error
	// number is the number of the replica when it is asked for the next time; it is replaced if it changes.
	number, nextNumber consensus.ReplicaID
	// mu guards sent and number.
	mu   sync.Mutex
	sent string
}

func (x *replica) send(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = fmt.Sprintf(format, args...)
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
		Replica: func(kv.ShardID) (n consensus.ReplicaID, why string) {
			x.mu.Lock()
			defer x.mu.Unlock()
			n, x.number = x.number, x.nextNumber
			return n, "this node has no replica of it"
		},
		Read: func(kv.ShardID, entry.Read) entry.ReadResult {
			if x.rows != nil {
				x.rows()
			}
			return entry.ReadResult{Err: x.result}
		},
		OnDamage: func(kv.ShardID, error) {},
		Respond: func(env *msg.Envelope) {
			f := msg.As[msg.ReadResponse](env).Failure
			x.send("to gateway %v: %v: %v", env.Gateway, kv.Kind(f.Kind), f.Hint)
		},
		Forward: func(kv.ShardID, *msg.Envelope) { x.send("forwarded") },
		Send:    func(to kv.NodeID, env *msg.Envelope) { x.send("to %v, %v", to, env.Forwarded) }})
}

// TestRefusedReads: to the leader, or without one to another replica, once; otherwise the gateway gets the reason.
func TestRefusedReads(t *testing.T) {
	const start = `start the nodes that "linchpin status" shows as down`
	const unavailable = "to gateway n3: Unavailable: "
	const dropped = unavailable + "it may have been dropped, or has expired; read a newer snapshot, or " + start
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
			want: unavailable + "this node has no replica of it; " + start},
		"replaced meanwhile": {change: func(x *replica) { x.leaderless, x.peersDown, x.nextNumber = true, true, 2 },
			want: unavailable + "the rows of the replica on this node cannot be read; " + start},
		"no memory": {want: "to gateway n3: ResourceExhausted: retry later", change: func(x *replica) {
			x.leads, x.hotLeaderless = true, true
			x.result = &kv.Error{Kind: kv.KindResourceExhausted, Hint: "retry later"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			x := &replica{number: 1, nextNumber: 1}
			tc.change(x)
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

// TestCopiesAreReadOnce: a request that is repeated while it is read is not read again, and neither is a page of a scan
// that goes on with the next one.
func TestCopiesAreReadOnce(t *testing.T) {
	reads, wait := make(chan struct{}, 100), make(chan struct{})
	x := &replica{number: 1, nextNumber: 1, rows: func() {
		reads <- struct{}{}
		<-wait
	}}
	r := x.reads(t)
	take := func(b msg.Body) { require.Empty(t, r.Take(1, []*msg.Envelope{{Shard: 1, Body: b}})) }
	for range 3 {
		take(&msg.Read{SnapshotNumber: 7, Number: 1, Reader: kv.TxnRef{Attempt: 1}})
		take(&msg.ReadPage{SnapshotNumber: 7, Number: 5})
	}
	<-reads // the read, and the page
	<-reads
	take(&msg.ReadPage{SnapshotNumber: 7, Number: 6})
	take(&msg.ReadPage{SnapshotNumber: 7, Number: 5})
	<-reads
	close(wait)
	r.Close()
	require.Empty(t, r.running)
	require.Empty(t, r.byUser)
	require.Len(t, reads, 3, "the other rows, of the read and of one page")
}

// TestUserHasHalfOfTheReads: others have the rest. What is too much goes to the leader.
func TestUserHasHalfOfTheReads(t *testing.T) {
	wait := make(chan struct{})
	x := &replica{number: 1, nextNumber: 1, rows: func() { <-wait }}
	r := x.reads(t)
	take := func(user kv.Account, n uint32) {
		require.Empty(t, r.Take(1, []*msg.Envelope{{Shard: 1, Body: &msg.Read{SnapshotNumber: 7, Number: n, User: user}}}))
	}
	for n := range uint32(maxRunning/2 + 1) {
		require.Empty(t, x.sent)
		take(1, n)
	}
	require.Equal(t, "forwarded", x.sent)
	x.sent = ""
	take(2, maxRunning)
	require.Empty(t, x.sent)
	close(wait)
	r.Close()
}

// TestOthersAreLeftToTheMachine: reads of the present and at rounds, and searches while the hot shard has a leader.
func TestOthersAreLeftToTheMachine(t *testing.T) {
	r := (&replica{}).reads(t)
	envs := []*msg.Envelope{{Body: &msg.Read{}}, {Body: &msg.ReadPage{Number: 1}}, {Body: &msg.FindSnapshot{Number: 1}},
		{Body: &msg.ReadPage{SnapshotNumber: 1, Number: 1, Done: true}}, {Body: &msg.Deregister{}}}
	require.Equal(t, envs, r.Take(1, envs))
}
