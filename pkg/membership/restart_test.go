package membership_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// restart starts a node from its catalog at an address.
func (w *world) restart(n *node, addr string, list ...string) *node {
	w.stop(n)
	n.cfg.Address, n.cfg.List = addr, list
	return w.run(n)
}

func TestMemberStartsWithoutMeeting(t *testing.T) {
	w, a, b, c := formed(t)
	w.stop(b)
	w.stop(c)
	before := a.cluster()
	w.restart(a, "a:1", "a:1")
	require.True(t, a.machine.Formed(), "without other members and without the list")
	require.Equal(t, before, a.cluster())
	require.Equal(t, []string{"b:1", "c:1"}, a.machine.CallTargets())
}

func TestNewAddressOfMemberIsLearned(t *testing.T) {
	w, a, b, c := formed(t)
	w.restart(b, "b:2", "b:2")
	require.Equal(t, "b:2", b.catalog.Members[1].Address, "saved before it is sent")
	w.rounds(2)
	require.Equal(t, map[kv.NodeID]string{2: "b:2"}, a.moved)
	require.Equal(t, "b:2", a.catalog.Members[1].Address)
	require.Equal(t, "b:2", c.catalog.Members[1].Address)
	require.Empty(t, b.machine.CallTargets())
}

func TestTwoMovedMembersFindEachOtherThroughThird(t *testing.T) {
	w, a, b, _ := formed(t)
	w.stop(a)
	w.restart(b, "b:2", "b:2")
	w.restart(a, "a:2", "a:2")
	w.rounds(3)
	require.Equal(t, "a:2", b.moved[1])
	require.Equal(t, "b:2", a.moved[2])
	require.Empty(t, a.machine.CallTargets())
	require.Empty(t, b.machine.CallTargets())
}

func TestJoinListReconnectsMovedMembers(t *testing.T) {
	w, a, b, c := formed(t)
	w.stop(b)
	w.stop(c)
	w.restart(a, "a:2", "a:2")
	w.restart(b, "b:2", "b:2")
	w.restart(c, "c:2", "a:2", "b:2", "c:2")
	w.rounds(3)
	for _, n := range []*node{a, b, c} {
		require.NoError(t, n.machine.Err())
		require.Equal(t, map[kv.NodeID]string{1: "a:2", 2: "b:2", 3: "c:2"}, ptr(n.machine.Saved()).Addresses())
		require.Empty(t, n.machine.CallTargets())
	}
}

func ptr[T any](v T) *T { return &v }

func TestOldAddressDoesNotReplaceNew(t *testing.T) {
	w, a, b, c := formed(t)
	w.stop(c)
	w.restart(b, "b:2", "b:2")
	w.round()
	w.restart(b, "b:3", "b:3")
	w.round()
	require.Equal(t, "b:3", a.catalog.Members[1].Address)
	// c was down during both moves and still has b:1.
	w.restart(c, "c:1", "c:1")
	w.rounds(2)
	require.Equal(t, "b:3", a.catalog.Members[1].Address)
	require.Equal(t, "b:3", c.catalog.Members[1].Address)
}

func TestMemberWithEmptyStoreIsRejected(t *testing.T) {
	for _, lost := range []string{"a:1", "b:1"} {
		w, _, _, _ := formed(t)
		n := w.start(lost, abc...)
		w.round()
		require.ErrorContains(t, n.machine.Err(), "started with an empty one", lost)
		require.ErrorContains(t, n.machine.Err(), "a copy that was made after it last stopped")
		require.False(t, n.machine.Formed())
	}
}

// A member that has opened a stream has the cluster in its catalog, although it has not called since.
func TestConnectedMemberWithEmptyStoreIsRejected(t *testing.T) {
	for _, connected := range []bool{false, true} {
		w := newWorld(t)
		a, b := w.start("a:1", "a:1", "b:1"), w.start("b:1", "a:1", "b:1")
		w.call(a, "b:1")
		w.call(b, "a:1") // b saves the id, and does not call restarted
		require.True(t, b.machine.Formed())
		require.False(t, a.machine.Saved().Members[1].Seen)
		if connected {
			a.do(a.machine.MarkSeen(2))
			require.True(t, a.catalog.Members[1].Seen)
		}
		w.stop(b)
		restarted := w.start("b:1", "a:1", "b:1")
		w.rounds(2)
		require.Equal(t, connected, restarted.machine.Err() != nil)
	}
}

func TestNodeOfOtherClusterIsRejected(t *testing.T) {
	w, a, _, _ := formed(t)
	x, y := w.start("x:1", "x:1", "y:1"), w.start("y:1", "x:1", "y:1")
	w.rounds(3)
	require.True(t, x.machine.Formed())
	w.stop(y)
	w.restart(x, "x:1", "a:1", "x:1")
	require.Contains(t, x.machine.CallTargets(), "a:1")
	w.call(x, "a:1")
	require.ErrorContains(t, x.machine.Err(), "belongs to cluster "+a.cluster())
	require.ErrorContains(t, x.machine.Err(), "x:1, to cluster "+x.cluster())
	require.NoError(t, a.machine.Err())
	require.NotEmpty(t, a.notes)

	// The last known address of a member may belong to a node of another cluster now.
	w, a, b, _ := formed(t)
	w.stop(b)
	b2 := w.start("b:1", "b:1")
	w.restart(a, "a:1", "a:1")
	w.call(a, "b:1")
	require.NoError(t, a.machine.Err(), "the address is not from its flags")
	require.NotEmpty(t, a.notes)
	require.NotEqual(t, a.cluster(), b2.cluster())
}

func TestFlagsOfAnotherNodeAreRejected(t *testing.T) {
	_, _, b, _ := formed(t)
	for want, cfg := range map[string]membership.Config{
		"a:1 is the address of node n1":                  {Address: "a:1", List: abc},
		"--join has 4 members, but the store belongs to": {Address: "b:1", List: []string{"a:1", "b:1", "c:1", "d:1"}},
	} {
		cfg.Shards, cfg.NewID, cfg.NewStamp = b.cfg.Shards, "new", b.cfg.NewStamp
		_, _, err := membership.NewMachine(cfg, ptr(b.machine.Saved()))
		require.ErrorContains(t, err, want)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	}
}

func TestNewNodeCannotJoinFormedCluster(t *testing.T) {
	w, _, _, _ := formed(t)
	d := w.start("d:1", "a:1", "b:1", "c:1", "d:1")
	w.call(d, "b:1")
	require.ErrorContains(t, d.machine.Err(), "b:1 lists the members [a:1 b:1 c:1], and d:1 lists [a:1 b:1 c:1 d:1]")
}

func TestSecondProcessOnCopiedStoreIsDetected(t *testing.T) {
	w, a, b, _ := formed(t)
	second := &node{cfg: b.cfg, catalog: ptr(b.machine.Saved())}
	second.cfg.Address, second.cfg.List = "b:9", []string{"b:9"}
	w.run(second)
	w.rounds(2)
	require.Equal(t, "b:9", a.moved[2])
	// The first process learns of the second when it is called or calls.
	w.call(second, "b:1")
	w.call(a, "b:1")
	require.ErrorContains(t, b.machine.Err(), "node n2 also runs at b:9")
}

func TestInvalidSavedMembershipIsRejected(t *testing.T) {
	_, a, _, _ := formed(t)
	for name, change := range map[string]func(*membership.Saved){
		"no cluster":      func(s *membership.Saved) { s.Cluster = "" },
		"no such node":    func(s *membership.Saved) { s.Node = 4 },
		"a member lost":   func(s *membership.Saved) { s.Members = s.Members[:2] },
		"no address":      func(s *membership.Saved) { s.Members[1].Address = "" },
		"members mixed":   func(s *membership.Saved) { s.Members[0], s.Members[1] = s.Members[1], s.Members[0] },
		"without shards":  func(s *membership.Saved) { s.Shards = 0 },
		"too many stamps": func(s *membership.Saved) { s.Past.Count = 0 },
	} {
		s := a.machine.Saved()
		change(&s)
		_, _, err := membership.NewMachine(a.cfg, &s)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), name)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := membership.Config{Address: "a:1", List: abc, Shards: 9, NewID: "x", NewStamp: func() uint64 { return 1 }}
	_, _, err := membership.NewMachine(good, nil)
	require.NoError(t, err)
	for name, change := range map[string]func(*membership.Config){
		"no address":   func(c *membership.Config) { c.Address = "" },
		"not listed":   func(c *membership.Config) { c.Address = "d:1" },
		"not sorted":   func(c *membership.Config) { c.List = []string{"b:1", "a:1"} },
		"twice":        func(c *membership.Config) { c.List = []string{"a:1", "a:1"} },
		"no shards":    func(c *membership.Config) { c.Shards = 0 },
		"many shards":  func(c *membership.Config) { c.Shards = kv.MaxShards + 1 },
		"an empty key": func(c *membership.Config) { c.HotKeys = [][]byte{{}} },
		"no stamps":    func(c *membership.Config) { c.NewStamp = nil },
	} {
		c := good
		change(&c)
		_, _, err := membership.NewMachine(c, nil)
		want := kv.KindInvalid
		if name == "no stamps" {
			want = kv.KindInternal
		}
		require.Equal(t, want, kv.KindOf(err), "%s: %v", name, err)
	}
}

func TestInvalidMembersOfPeerAreIgnored(t *testing.T) {
	_, a, _, _ := formed(t)
	in := a.machine.Introduction()
	in.Node = 77
	in.Address = "z:1"
	in.Members = []peerpb.Member{{Node: 0, Address: "z:1", Moves: 9}, {Node: 99, Address: "z:1", Moves: 9},
		{Node: 2, Moves: 9}}
	_, eff := a.machine.HandleCall(&peerpb.MeetRequest{Caller: in})
	require.NoError(t, eff.Err)
	require.Nil(t, eff.Save)
	require.Empty(t, eff.Moved)
}
