package membership_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// startReplicated starts a node of a cluster with three replicas with an empty catalog.
func (w *world) startReplicated(addr string) *node {
	return w.run(&node{cfg: membership.Config{Address: addr, List: abc, Shards: 17, Replicas: 3}})
}

// replicated starts a, b and c with three replicas and lets them meet.
func replicated(t testing.TB) (w *world, a, b, c *node) {
	w = newWorld(t)
	a, b, c = w.startReplicated("a:1"), w.startReplicated("b:1"), w.startReplicated("c:1")
	w.rounds(4)
	for _, n := range []*node{a, b, c} {
		require.NoError(t, n.machine.Err())
		require.True(t, n.machine.MayServe())
		require.Zero(t, n.catalog.Disk)
		require.Equal(t, 3, n.catalog.Replicas)
	}
	return w, a, b, c
}

func TestReplicasOfFirstPlacement(t *testing.T) {
	_, a, _, _ := replicated(t)
	p := a.catalog.Placement()
	require.Equal(t, p, a.cfg.Placement())
	require.True(t, p.IsReplicated())
	require.Equal(t, []kv.NodeID{3, 1, 2}, p.NodesOf(2))

	two := membership.Config{Address: "a:1", List: abc[:2], Shards: 9, Replicas: 3}
	p = two.Placement()
	require.False(t, p.IsReplicated(), "an odd number, of two nodes")
	require.NoError(t, p.Check())
	_, _, err := membership.NewMachine(membership.Config{Address: "a:1", List: abc[:1], Shards: 9, Replicas: 2, NewID: "x",
		NewStamp: func() uint64 { return 1 }}, nil)
	require.ErrorContains(t, err, "a shard cannot have 2 replicas")
}

// TestFoundingDiskServesWhenAllKnowIt: otherwise a member that has served and lost its disk founds again, with the same
// place and without its votes.
func TestFoundingDiskServesWhenAllKnowIt(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.startReplicated("a:1"), w.startReplicated("b:1"), w.startReplicated("c:1")
	w.call(a, "b:1")
	w.call(a, "c:1")
	require.True(t, a.machine.Formed())
	a.do(a.machine.FinishFirstRound())
	require.False(t, a.machine.MayServe(), "b and c have not saved that a is formed")
	w.call(b, "a:1")
	w.call(a, "b:1")
	a.do(a.machine.FinishFirstRound())
	require.False(t, a.machine.MayServe(), "c has not")

	a = w.restart(a, "a:1", "a:1")
	w.call(c, "a:1")
	w.call(a, "c:1")
	a.do(a.machine.FinishFirstRound())
	require.False(t, a.machine.MayServe(), "since the restart b has not responded")
	w.call(a, "b:1")
	a.do(a.machine.FinishFirstRound())
	require.True(t, a.machine.MayServe())

	w.stop(b)
	w.stop(c)
	a = w.restart(a, "a:1", "a:1")
	a.do(a.machine.FinishFirstRound())
	require.True(t, a.machine.MayServe(), "it has served before, so all know it")
}

func TestEmptiedDiskIsAcceptedWithANewNumber(t *testing.T) {
	for i, addr := range abc {
		w, a, b, c := replicated(t)
		all := []*node{a, b, c}
		old := all[i]
		place, known := ptr(all[(i+1)%3].machine.Saved()).Place(old.catalog.Node)
		require.True(t, known)
		require.Equal(t, kv.PlaceOf(old.catalog.Node, 0), place)

		w.stop(old)
		n := w.startReplicated(addr)
		w.rounds(3)
		require.NoError(t, n.machine.Err(), addr)
		require.True(t, n.machine.MayServe())
		require.Equal(t, old.catalog.Node, n.catalog.Node)
		require.NotZero(t, n.catalog.Disk)
		own, _ := n.catalog.Place(n.catalog.Node)
		for k, o := range all {
			if k == i {
				continue
			}
			place, known := o.catalog.Place(n.catalog.Node)
			require.True(t, known)
			require.Equal(t, own, place)
			require.Equal(t, kv.PlaceOf(n.catalog.Node, n.catalog.Disk), place)
		}
		n = w.restart(n, addr, addr)
		disk := n.catalog.Disk
		w.rounds(2)
		require.NoError(t, n.machine.Err())
		require.Equal(t, disk, n.catalog.Disk)
	}
}

// TestOldDiskIsRejectedAfterItsSuccessor: the node is called, or calls, at its address or at another.
func TestOldDiskIsRejectedAfterItsSuccessor(t *testing.T) {
	for _, at := range []string{"b:1", "b:2"} {
		for _, caller := range []string{at, "a:1"} {
			w, a, old, _ := replicated(t)
			w.stop(old)
			n := w.startReplicated("b:1")
			w.rounds(3)
			w.stop(n)
			old = w.restart(old, at, at)
			if caller == "a:1" {
				a = w.restart(a, "a:1", "a:1", at)
				w.call(a, at)
			} else {
				w.call(old, "a:1")
			}
			require.Equal(t, kv.KindInvalid, kv.KindOf(old.machine.Err()), "%s calls %s", caller, at)
			require.ErrorContains(t, old.machine.Err(), at+" is node n2, and its disk has been replaced: a:1 knows a later one")
			require.ErrorContains(t, old.machine.Err(), "empty the node's directory and start it again")
			old.do(old.machine.FinishFirstRound())
			require.False(t, old.machine.MayServe())
			require.NoError(t, a.machine.Err())

			w.stop(old)
			w.restart(n, "b:1", "b:1")
			w.rounds(2)
			for _, x := range w.nodes {
				require.NoError(t, x.machine.Err())
				require.Empty(t, x.machine.CallTargets())
			}
		}
	}
}

// TestUnusedDiskTakesAHigherNumber: the first member that responds does not know of a disk that another one knows.
func TestUnusedDiskTakesAHigherNumber(t *testing.T) {
	w, a, b, c := replicated(t)
	const lost = 1 << 40
	in := b.machine.Introduction()
	in.Members[1].Disk = lost
	resp, eff := c.machine.HandleCall(&peerpb.MeetRequest{Caller: in})
	c.do(eff)
	require.Empty(t, resp.Refusal)

	w.stop(b)
	b = w.startReplicated("b:1")
	w.call(b, "a:1")
	require.Less(t, b.catalog.Disk, uint64(lost))
	w.call(b, "c:1")
	require.NoError(t, b.machine.Err())
	require.Greater(t, b.catalog.Disk, uint64(lost))
	w.rounds(2)
	for _, n := range []*node{a, b, c} {
		require.NoError(t, n.machine.Err())
		require.Equal(t, b.catalog.Disk, n.machine.Introduction().Members[1].Disk)
	}
	// When it has served, replicas may rely on its number.
	in = a.machine.Introduction()
	in.Members[1].Disk = b.catalog.Disk + 1
	_, eff = b.machine.HandleCall(&peerpb.MeetRequest{Caller: in})
	require.ErrorContains(t, eff.Err, "its disk has been replaced")
}

func TestStoreThatWasSetBackIsToBeEmptied(t *testing.T) {
	w, a, b, _ := replicated(t)
	old := copyOf(b)
	b.mark()
	w.round()
	w.stop(b)
	w.run(old)
	w.call(old, "a:1")
	require.ErrorContains(t, old.machine.Err(), "its store is an older copy: a:1 has seen a later state of it")
	require.ErrorContains(t, old.machine.Err(), "empty the node's directory and start it again")
	require.NoError(t, a.machine.Err())

	w.stop(old)
	b = w.startReplicated("b:1")
	w.rounds(3)
	require.NoError(t, b.machine.Err())
	require.True(t, b.machine.MayServe())
}

// TestEmptiedMemberNeedsTheFlagsOfTheFormation: they decide how its disk is laid out.
func TestEmptiedMemberNeedsTheFlagsOfTheFormation(t *testing.T) {
	w, _, b, _ := replicated(t)
	w.stop(b)
	b = w.start("b:1", abc...)
	w.round()
	require.ErrorContains(t, b.machine.Err(), "a:1 wants 17 shards, and b:1 wants 9")
	w.stop(b)
	b = w.run(&node{cfg: membership.Config{Address: "b:1", List: abc, Shards: 17}})
	w.round()
	require.ErrorContains(t, b.machine.Err(), "a:1 wants 3 replicas of each shard, and b:1 wants 1")
}

// Nodes restart, lose their disks, and calls and responses are lost. A disk that has served is never followed by one of
// the same place, and no member accepts a disk before the newest that it knows. When the faults end, all serve.
func TestLostDisksUnderFaults(t *testing.T) {
	lost, again, renewed := 0, 0, 0
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t)
		all := []*node{w.startReplicated("a:1"), w.startReplicated("b:1"), w.startReplicated("c:1")}
		served := map[string]int{} // which disk has served, by its place
		disks := []int{0, 0, 0}
		empty := func(i int) {
			disks[i]++
			all[i] = w.startReplicated(abc[i])
		}
		for range 120 {
			i := rnd.IntN(3)
			n := all[i]
			switch k := rnd.IntN(24); {
			case k == 0 && disks[i] < 4:
				empty(i)
				lost++
			case k < 3:
				all[i] = w.run(&node{cfg: n.cfg, catalog: n.catalog})
			case k < 8:
				n.do(n.machine.FinishFirstRound())
			default:
				w.lossyCall(rnd, n, all[(i+1+rnd.IntN(2))%3])
			}
			n = all[i]
			if err := n.machine.Err(); err != nil {
				require.ErrorContains(t, err, "its disk has been replaced", "seed %d", seed)
				empty(i) // as the error says
				renewed++
				continue
			}
			if n.machine.MayServe() {
				place, _ := n.catalog.Place(n.catalog.Node)
				of := fmt.Sprintf("%s: %v %s", n.cluster(), n.catalog.Node, place)
				before, known := served[of]
				require.False(t, known && before != disks[i], "seed %d: %s is two disks", seed, of)
				if !known && disks[i] > 0 {
					again++
				}
				served[of] = disks[i]
			}
		}
		w.settle(all, empty)
		for i, n := range all {
			require.NoError(t, n.machine.Err(), "seed %d", seed)
			require.True(t, n.machine.MayServe(), "seed %d, node %d", seed, i+1)
			require.Equal(t, all[0].cluster(), n.cluster(), "seed %d", seed)
			for _, o := range all {
				require.Equal(t, n.catalog.Disk, o.machine.Introduction().Members[i].Disk, "seed %d", seed)
			}
		}
	}
	t.Logf("%d disks lost, %d served on a later one, %d emptied because of an error", lost, again, renewed)
	require.Greater(t, lost, 500)
	require.Greater(t, again, 100)
}

// lossyCall lets n call o; the response may be lost.
func (w *world) lossyCall(rnd *rand.Rand, n, o *node) {
	if n.machine.Err() != nil || o.machine.Err() != nil {
		return
	}
	resp, eff := o.machine.HandleCall(&peerpb.MeetRequest{Caller: n.machine.Introduction()})
	o.do(eff)
	if rnd.IntN(4) > 0 {
		n.do(n.machine.HandleResponse(o.cfg.Address, resp))
	}
}

// settle lets all nodes call each other without faults, and empties the disks of those that ask for it.
func (w *world) settle(all []*node, empty func(i int)) {
	for range 8 {
		w.rounds(3)
		for i, n := range all {
			if n.machine.Err() != nil {
				require.ErrorContains(w.t, n.machine.Err(), "its disk has been replaced")
				empty(i)
			}
		}
	}
}
