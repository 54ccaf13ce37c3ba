package consensus_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// slowBy is how much longer the writes of a slow disk take.
const slowBy = 250 * ms

// load has the present leader append an entry every 20 ms for a time. It returns the replicas that have led.
func (n *net) load(d int64) (leaders []consensus.ReplicaID) {
	for end := n.now + d; n.now < end; n.run(20 * ms) {
		for _, p := range n.sorted() {
			if p.replica == nil || p.replica.LeaseEnd(n.now) == 0 {
				continue
			}
			if k := len(leaders); k == 0 || leaders[k-1] != p.id {
				leaders = append(leaders, p.id)
			}
			p.act(func(r *consensus.Replica) { _, _ = r.Propose(fmt.Append(nil, n.now)) })
		}
	}
	return leaders
}

// slowLeaderTransfers: the others commit what the leader has not written. After a second it transfers leadership.
func slowLeaderTransfers(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	n.load(1000 * ms)
	l.delay = slowBy
	l.propose(t, "committed by the others")
	n.run(20 * ms)
	require.Equal(t, []consensus.ReplicaID{1}, n.load(1000*ms), "not before 200 ms and a second")
	require.Contains(t, n.peers[2].applied, "committed by the others")
	if leaders := n.load(600 * ms); fmt.Sprint(leaders) != "[1 2]" {
		return fmt.Sprintf("a leader with a slow disk keeps its leadership: %v", leaders)
	}
	require.True(t, n.peers[2].replica.Causes.Elected.Transferred)
	require.Equal(t, []consensus.ReplicaID{2}, n.load(4000*ms))
	n.run(hold)
	require.Equal(t, n.peers[2].applied, l.applied)
	return ""
}

// fullLeaderTransfers: the leader's disk is nearly full, twice within transferPause. It writes as fast as ever.
func fullLeaderTransfers(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	n.run(500 * ms)
	l.low = true
	if leaders := n.load(3000 * ms); fmt.Sprint(leaders) != "[1 2]" {
		return fmt.Sprintf("a leader whose disk is nearly full keeps its leadership: %v", leaders)
	}
	l.low = false
	n.run(500 * ms)
	n.peers[2].act(func(r *consensus.Replica) { require.NoError(t, r.Transfer(n.now, 1, consensus.RegisteredUnknown)) })
	n.load(500 * ms)
	l.low = true
	if leaders := n.load(1000 * ms); fmt.Sprint(leaders) != "[1 2]" {
		return fmt.Sprintf("a leader whose disk is nearly full again keeps its leadership: %v", leaders)
	}
	return ""
}

// slowSuccessorIsSpared: leadership goes to the replica with the fast disk, and stays if there is none.
func slowSuccessorIsSpared(_ *testing.T, m mutant.Set) string {
	n := newNet(m)
	n.lead()
	n.load(1000 * ms)
	for _, p := range n.sorted() {
		p.delay = slowBy
	}
	if leaders := n.load(5000 * ms); fmt.Sprint(leaders) != "[1]" {
		return fmt.Sprintf("leadership goes to a disk that is as slow: %v", leaders)
	}
	n.peers[3].delay = 0
	if leaders := n.load(1300 * ms); fmt.Sprint(leaders) != "[1 3]" {
		return fmt.Sprintf("leadership does not go to the fast disk: %v", leaders)
	}
	return ""
}

// TestSlowDisksElect: votes take longer than the usual pause between campaigns. An election succeeds all the same.
func TestSlowDisksElect(t *testing.T) {
	for _, delay := range []int64{250, 500, 700} {
		n := newNet(none)
		n.lead()
		n.load(500 * ms)
		for _, p := range n.sorted() {
			p.delay = delay * ms
		}
		n.peers[1].crash()
		begin := n.now
		for n.peers[2].replica.Leads()+n.peers[3].replica.Leads() == 0 {
			require.Less(t, n.now-begin, 8000*ms, "no leader is elected if writes take %d ms", delay)
			n.run(10 * ms)
		}
		t.Logf("writes take %d ms: a leader after %d ms", delay, (n.now-begin)/ms)
	}
}

// slowDisksTakeTurns: whichever replica leads, its disk becomes slow, and the others' are fast. Leadership moves every
// 10 s.
func slowDisksTakeTurns(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	n.lead()
	begin := n.now
	var changes []int64
	leader := consensus.ReplicaID(1)
	for n.now < begin+26_000*ms {
		for _, id := range n.load(100 * ms) {
			if id != leader {
				leader, changes = id, append(changes, (n.now-begin)/ms)
			}
		}
		for _, p := range n.sorted() {
			p.delay = 0
		}
		n.peers[leader].delay = slowBy
	}
	for i := 1; i < len(changes); i++ {
		if changes[i]-changes[i-1] < 10_000 {
			return fmt.Sprintf("leadership moves to and fro, at %v ms", changes)
		}
	}
	require.Len(t, changes, 3)
	return ""
}

// stuckDiskIsSilent: the disk of a leader ends no write for another group of its node. An election follows, the replica
// takes no part in it, and leaders do not count on it. When the disk goes on, so does the replica.
func stuckDiskIsSilent(t *testing.T, m mutant.Set) string {
	n := newNet(m)
	l := n.lead()
	n.run(500 * ms)
	sent := 0
	n.lost = func(m *consensus.Message) bool {
		if m.From == 1 {
			sent++
		}
		return false
	}
	l.busySince = n.now
	n.run(hold)
	require.NotZero(t, sent)
	require.NotZero(t, l.replica.Leads())
	sent = 0
	n.run(2 * hold)
	if sent > 0 || l.replica.Leads() != 0 {
		return fmt.Sprintf("a replica whose disk ends no write sends %d messages", sent)
	}
	next := n.peers[2]
	require.NotZero(t, next.replica.LeaseEnd(n.now), "with replica 3")
	require.Greater(t, n.now-next.replica.Followers()[0].Responded, hold, "it does not respond")
	next.propose(t, "x")
	n.run(100 * ms)
	require.Equal(t, []string{"x"}, next.applied)

	n.peers[3].crash()
	campaigns := l.replica.Causes.Campaigns
	n.run(4 * hold)
	require.Zero(t, next.replica.LeaseEnd(n.now), "a majority is needed")
	require.Equal(t, campaigns, l.replica.Causes.Campaigns)
	l.busySince = 0
	n.lead()
	n.run(200 * ms)
	require.Equal(t, []string{"x"}, l.applied)
	return ""
}

// TestStoppedProcessIsNoSlowDisk: of the time for which the process was stopped while a write was in flight, a fifth of
// a second counts.
func TestStoppedProcessIsNoSlowDisk(t *testing.T) {
	n := newNet(none)
	l := n.lead()
	n.load(500 * ms)
	l.delay = 660 * ms
	for range 3 {
		l.propose(t, "x")
		n.now += 650 * ms
		n.run(20 * ms)
	}
	l.delay = slowBy
	require.Equal(t, []consensus.ReplicaID{1}, n.load(500*ms), "late for 900 ms")
	require.Equal(t, []consensus.ReplicaID{1, 2}, n.load(500*ms))
}
