package node_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/node/groups"
)

// logged is what the nodes of a group have logged.
type logged struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}

// drop drops what was logged.
func (l *logged) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Reset()
}

// requireLogged waits until lines were logged that match the patterns, and drops what was logged.
func (g *group) requireLogged(patterns ...string) {
	g.t.Helper()
	for _, p := range patterns {
		require.Eventually(g.t, func() bool { return regexp.MustCompile(p).MatchString(g.logged.String()) },
			20*time.Second, 5*time.Millisecond, "no line matches %s in %s", p, &g.logged)
	}
	g.logged.drop()
}

// eventually waits until the leader of shard 0 has a status.
func (g *group) eventually(what string, is func(*groups.Status) bool) (at *groupMember) {
	g.t.Helper()
	require.Eventually(g.t, func() bool {
		at = g.leader(0)
		st := at.Groups().Status()[0]
		return st.Leads && st.Leader == at.id && is(&st)
	}, 20*time.Second, 5*time.Millisecond, what)
	return at
}

// TestStatusOfGroups: the leader knows which replicas follow it, and which are missing.
func TestStatusOfGroups(t *testing.T) {
	g := newGroup(t, 1)
	follows := func(st *groups.Status) bool {
		for i := range st.Members {
			if m := &st.Members[i]; m.IsSilent || m.IsUnfit || m.Lag > 0 {
				return false
			}
		}
		return st.Missing == 0 && len(st.Members) == 3 && st.HasLeader && st.Lease > 0 && st.Leaderships > 0
	}
	first := g.eventually("all replicas follow", follows)
	for _, m := range g.members {
		require.Eventually(t, func() bool {
			st := m.Groups().Status()[0]
			return st.HasLeader && st.Leader == first.id && len(st.Members) == 3
		}, 20*time.Second, 5*time.Millisecond, "n%d knows the leader", m.id)
		if m != first {
			require.Zero(t, m.Groups().Status()[0].Missing, "only the leader knows it")
		}
	}
	stopped := g.members[first.id%3]
	g.stop(stopped)
	g.eventually("one is missing", func(st *groups.Status) bool {
		for _, m := range st.Members {
			if m.IsSilent != (m.Node == stopped.id) || m.IsSilent && m.Silent < 200*time.Millisecond {
				return false
			}
		}
		return st.Missing == 1
	})
	at, missing := g.leader(0), 0
	require.Zero(t, at.Groups().TransferLeaderships(t.Context()))
	g.eventually("the next one leads", func(st *groups.Status) bool {
		missing = st.Missing
		return st.Leader != at.id
	})
	require.Positive(t, missing, "it counts none that has never responded to it")
	g.start(stopped)
	g.eventually("it is back", follows)
	require.NotZero(t, first.Groups().Stats().LogBytes)
}

// TestCausesOfLeaderChangesAreLogged: a leader that was silent, a transfer, and a lease that is not renewed.
func TestCausesOfLeaderChangesAreLogged(t *testing.T) {
	g := newGroup(t, 1)
	first := g.leader(0)
	g.requireLogged(`msg="this node leads the shard" node=n\d shard=s0 .*reason="no leader was known since the start`)
	g.stop(first)
	second := g.leader(0)
	g.requireLogged(fmt.Sprintf(`msg="this node leads the shard" node=%v shard=s0 .*reason="the previous leader was `+
		`silent for \S+"`, second.id), fmt.Sprintf(`msg="shard has a leader" node=n\d shard=s0 leader=%v .*previous=%v`,
		second.id, first.id))
	g.start(first)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	g.eventually("both follow", func(st *groups.Status) bool { return st.Missing == 0 })
	second = g.leader(0)
	g.logged.drop()
	require.Zero(t, second.Groups().TransferLeaderships(ctx))
	g.requireLogged(fmt.Sprintf(`msg="this node does not lead the shard any more" node=%v shard=s0 .*reason="it `+
		`transfers leadership to n\d: drain"`, second.id), `msg="this node leads the shard" node=n\d shard=s0 .*reason="the `+
		`previous leader has transferred leadership"`)
	last := g.eventually("all follow", func(st *groups.Status) bool { return st.Missing == 0 })
	g.logged.drop()
	for _, m := range g.members {
		if m != last {
			g.stop(m)
		}
	}
	g.requireLogged(fmt.Sprintf(`msg="this node does not lead the shard any more" node=%v shard=s0 .*reason="its lease `+
		`has ended: no majority of the replicas has responded for 200ms"`, last.id))
}

// TestReplicasThatHaveJustStartedDoNotTakeOver: they would not campaign, and the shard would have no leader for two
// leases. If all others have, the transfer waits.
func TestReplicasThatHaveJustStartedDoNotTakeOver(t *testing.T) {
	g := newGroupWith(t, 1, &group{hold: 800 * time.Millisecond})
	first := g.leader(0)
	for _, m := range g.members {
		if m != first {
			g.stop(m)
			g.start(m)
		}
	}
	started := time.Now()
	at := g.eventually("they follow", func(st *groups.Status) bool {
		return !slices.ContainsFunc(st.Members, func(m groups.Member) bool {
			return m.IsSilent || m.Silent >= time.Since(started)
		})
	})
	g.logged.drop()
	require.Zero(t, at.Groups().TransferLeaderships(t.Context()))
	require.NotEqual(t, at, g.leader(0))
	g.requireLogged(`msg="this node leads the shard" node=n\d shard=s0 .*reason="the previous leader has transferred`)
}
