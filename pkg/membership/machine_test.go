package membership_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

var abc = []string{"a:1", "b:1", "c:1"}

// node is a machine with its catalog, which survives restarts.
type node struct {
	cfg     membership.Config
	machine *membership.Machine
	catalog *membership.Saved
	// moved and notes are collected from the effects.
	moved map[kv.NodeID]string
	notes []string
}

// world is a set of nodes that call each other without a network.
type world struct {
	t     testing.TB
	nodes map[string]*node
	ids   int
	marks uint64
}

func (w *world) mark() uint64 {
	w.marks++
	return w.marks
}

func newWorld(t testing.TB) *world { return &world{t: t, nodes: map[string]*node{}} }

// start starts a node with an empty catalog.
func (w *world) start(addr string, list ...string) *node {
	return w.run(&node{cfg: membership.Config{Address: addr, List: list, Shards: 9}})
}

// run restarts n from its catalog.
func (w *world) run(n *node) *node {
	w.ids++
	n.cfg.NewID, n.cfg.NewStamp = fmt.Sprintf("id%d", w.ids), w.mark
	n.moved = map[kv.NodeID]string{}
	m, eff, err := membership.NewMachine(n.cfg, n.catalog)
	require.NoError(w.t, err)
	n.machine = m
	n.do(eff)
	w.nodes[n.cfg.Address] = n
	return n
}

func (w *world) stop(n *node) { delete(w.nodes, n.cfg.Address) }

func (n *node) do(eff membership.Effects) {
	if eff.Save != nil {
		n.catalog = eff.Save
	}
	if eff.Try != nil {
		n.catalog = eff.Try
	}
	for _, m := range eff.Moved {
		n.moved[m.Node] = m.Address
	}
	if eff.Note != nil {
		n.notes = append(n.notes, eff.Note.Error())
	}
}

// call lets n call the node at addr, if it is running.
func (w *world) call(n *node, addr string) {
	if o := w.nodes[addr]; o != nil && n.machine.Err() == nil {
		resp, eff := o.machine.HandleCall(&peerpb.MeetRequest{Caller: n.machine.Introduction()})
		o.do(eff)
		n.do(n.machine.HandleResponse(addr, resp))
	}
}

// round lets every node call all its targets. For a node that has just started this is its first round.
func (w *world) round() {
	var order []string
	for a := range w.nodes {
		order = append(order, a)
	}
	slices.Sort(order)
	for _, a := range order {
		n := w.nodes[a]
		for _, to := range n.machine.CallTargets() {
			w.call(n, to)
		}
		n.do(n.machine.FinishFirstRound())
	}
}

func (w *world) rounds(n int) {
	for range n {
		w.round()
	}
}

func (n *node) cluster() string {
	if !n.machine.Formed() {
		return ""
	}
	return n.machine.Saved().Cluster
}

// formed starts a, b and c and lets them meet.
func formed(t testing.TB) (w *world, a, b, c *node) {
	w = newWorld(t)
	a, b, c = w.start("a:1", abc...), w.start("b:1", abc...), w.start("c:1", abc...)
	w.rounds(3)
	for i, n := range []*node{a, b, c} {
		require.NoError(t, n.machine.Err())
		require.True(t, n.machine.Formed())
		require.EqualValues(t, i+1, n.catalog.Node)
		require.Empty(t, n.machine.CallTargets(), "all members have responded")
	}
	require.Equal(t, a.cluster(), b.cluster())
	require.Equal(t, a.cluster(), c.cluster())
	return w, a, b, c
}

func TestClusterOfOneFormsAtOnce(t *testing.T) {
	n := newWorld(t).start("a:1", "a:1")
	require.True(t, n.machine.Formed())
	require.Equal(t, membership.Saved{Cluster: "id1", Node: 1, List: []string{"a:1"}, Shards: 9,
		Members: []membership.Member{{Node: 1, Address: "a:1", Seen: true}}, Past: membership.StampHistory{Count: 1,
			Stamps: []uint64{1}}}, *n.catalog)
	require.Empty(t, n.machine.CallTargets())
}

func TestClusterFormsWhenAllHaveMet(t *testing.T) {
	w := newWorld(t)
	a, b := w.start("a:1", abc...), w.start("b:1", abc...)
	w.rounds(5)
	require.False(t, a.machine.Formed())
	require.False(t, b.machine.Formed())
	require.Equal(t, []string{"b:1", "c:1"}, a.machine.CallTargets())
	c := w.start("c:1", abc...)
	w.rounds(3)
	require.Equal(t, "id1", a.cluster(), "the first node of the list chooses the id")
	require.Equal(t, "id1", b.cluster())
	require.Equal(t, "id1", c.cluster())
}

func TestClusterIDIsSavedBeforeItIsSent(t *testing.T) {
	w := newWorld(t)
	a, b := w.start("a:1", "a:1", "b:1"), w.start("b:1", "a:1", "b:1")
	resp, _ := b.machine.HandleCall(&peerpb.MeetRequest{Caller: a.machine.Introduction()})
	eff := a.machine.HandleResponse("b:1", resp)
	require.NotNil(t, eff.Save)
	require.Equal(t, "id1", eff.Save.Cluster)
	// It crashes before id1 is durable: no node has received id1.
	a = w.run(&node{cfg: a.cfg})
	w.rounds(3)
	require.Equal(t, "id3", a.cluster())
	require.Equal(t, "id3", b.cluster())
}

func TestMemberThatCrashedBeforeSavingCallsAgain(t *testing.T) {
	w := newWorld(t)
	a, b := w.start("a:1", "a:1", "b:1"), w.start("b:1", "a:1", "b:1")
	w.call(a, "b:1")
	require.True(t, a.machine.Formed())
	w.stop(b)
	// The response with the id is lost because b crashes.
	resp, eff := a.machine.HandleCall(&peerpb.MeetRequest{Caller: b.machine.Introduction()})
	a.do(eff)
	require.Empty(t, resp.Refusal)
	b = w.run(&node{cfg: b.cfg})
	w.rounds(2)
	require.Equal(t, a.cluster(), b.cluster())
}

func TestBothNodesReportDifferentFlags(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*membership.Config)
		want   []string
	}{
		"the lists differ": {func(c *membership.Config) { c.List = []string{"a:1", "b:1", "c:1"} },
			[]string{"a:1 lists the members [a:1 b:1]", "b:1 lists", "the same --join"}},
		"the shards differ": {func(c *membership.Config) { c.Shards = 17 },
			[]string{"a:1 wants 9", "b:1 wants 17", "same number of shards"}},
		"the replicas differ": {func(c *membership.Config) { c.Replicas = 3 },
			[]string{"a:1 wants 1 replicas of each shard", "b:1 wants 3", "the same --replicas"}},
		"the leases differ": {func(c *membership.Config) { c.NoLeases = true },
			[]string{"b:1 has --leader-leases=off", "a:1 has not", "the same --leader-leases"}},
		"a hot key more": {func(c *membership.Config) { c.HotKeys = [][]byte{[]byte("k"), []byte("x")} },
			[]string{`b:1 lists the hot key "x"`, "a:1 does not", "same list of hot keys"}},
		"a hot key less": {func(c *membership.Config) { c.HotKeys = nil },
			[]string{`a:1 lists the hot key "k"`, "b:1 does not"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, caller := range []string{"a:1", "b:1"} {
				w := newWorld(t)
				cfg := membership.Config{Address: "a:1", List: []string{"a:1", "b:1"}, Shards: 9, HotKeys: [][]byte{[]byte("k")}}
				other := cfg
				other.Address = "b:1"
				c.change(&other)
				a, b := w.run(&node{cfg: cfg}), w.run(&node{cfg: other})
				w.call(w.nodes[caller], map[string]string{"a:1": "b:1", "b:1": "a:1"}[caller])
				for _, n := range []*node{a, b} {
					require.Equal(t, kv.KindInvalid, kv.KindOf(n.machine.Err()), "%s, called by %s", n.cfg.Address, caller)
					require.ErrorContains(t, n.machine.Err(), "a:1")
					require.ErrorContains(t, n.machine.Err(), "b:1")
					require.False(t, n.machine.Formed())
				}
				for _, want := range c.want {
					require.Contains(t, a.machine.Err().Error()+b.machine.Err().Error(), want)
				}
			}
		})
	}
}

func TestUnlistedNodeEndsOnlyItself(t *testing.T) {
	w := newWorld(t)
	a := w.start("a:1", "a:1", "b:1")
	x := w.start("x:1", "a:1", "x:1")
	w.call(x, "a:1")
	require.ErrorContains(t, x.machine.Err(), "a:1 lists the members [a:1 b:1]")
	require.ErrorContains(t, x.machine.Err(), "x:1 lists [a:1 x:1]")
	require.NoError(t, a.machine.Err())
	require.Len(t, a.notes, 1)
}

func TestAddressOfAnotherNodeIsDetected(t *testing.T) {
	w := newWorld(t)
	a := w.start("a:1", abc...)
	c := w.start("c:1", abc...)
	w.nodes["b:1"] = c
	w.call(a, "b:1")
	require.ErrorContains(t, a.machine.Err(), "called b:1, which reports the address c:1")
}

func TestOtherVersionIsRejected(t *testing.T) {
	w := newWorld(t)
	a := w.start("a:1", "a:1", "b:1")
	b := w.start("b:1", "a:1", "b:1")
	in := b.machine.Introduction()
	in.Version++
	resp, _ := a.machine.HandleCall(&peerpb.MeetRequest{Caller: in})
	require.Contains(t, resp.Refusal, "the same release")
	require.Error(t, b.machine.HandleResponse("a:1", &peerpb.MeetResponse{Called: func() peerpb.Introduction {
		in := a.machine.Introduction()
		in.Version++
		return in
	}()}).Err)
}

// Nodes call each other in random order, responses are lost, and nodes restart from their catalogs. There
// is never more than one id, and when the faults end all are members.
func TestMeetingSurvivesFaults(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t)
		size := 2 + rnd.IntN(4)
		var list []string
		for i := range size {
			list = append(list, fmt.Sprintf("n%d:1", i))
		}
		var all []*node
		for _, a := range list {
			all = append(all, w.start(a, list...))
		}
		for range 60 {
			n := all[rnd.IntN(size)]
			if rnd.IntN(6) == 0 {
				w.run(n)
				continue
			}
			targets := n.machine.CallTargets()
			if len(targets) == 0 {
				continue
			}
			o := w.nodes[targets[rnd.IntN(len(targets))]]
			resp, eff := o.machine.HandleCall(&peerpb.MeetRequest{Caller: n.machine.Introduction()})
			o.do(eff)
			if rnd.IntN(4) > 0 {
				n.do(n.machine.HandleResponse(o.cfg.Address, resp))
			}
		}
		w.rounds(4)
		for _, n := range all {
			require.NoError(t, n.machine.Err(), "seed %d", seed)
			require.Equal(t, all[0].cluster(), n.cluster(), "seed %d", seed)
			require.NotEmpty(t, n.cluster(), "seed %d", seed)
			require.Empty(t, n.machine.CallTargets(), "seed %d", seed)
		}
	}
}
