package membership_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// copyOf makes a node whose catalog is a copy of n's current one.
func copyOf(n *node) *node {
	return &node{cfg: n.cfg, catalog: ptr(n.machine.Saved())}
}

// mark gives the store of a running node another stamp.
func (n *node) mark() {
	next := n.machine.NextStamp()
	n.catalog = next
	n.machine.ApplyStamp(next)
}

func TestOlderCopyOfStoreIsDetected(t *testing.T) {
	for name, use := range map[string]func(*world, *node){
		"of a store that was restarted":  func(w *world, b *node) { w.restart(b, b.cfg.Address, b.cfg.List...); w.rounds(2) },
		"of a store that was used since": func(w *world, b *node) { b.mark(); w.round() },
		"with more than MaxMarks stamps since": func(w *world, b *node) {
			for range 3 * membership.MaxStamps {
				b.mark()
				w.round()
			}
		},
	} {
		for _, caller := range []string{"b:1", "a:1"} {
			t.Run(name+", called by "+caller, func(t *testing.T) {
				w, a, b, _ := formed(t)
				old := copyOf(b)
				use(w, b)
				w.stop(b)
				w.run(old)
				was := old.machine.Saved()
				if caller == "a:1" {
					a = w.restart(a, "a:1", "a:1")
				}
				w.call(w.nodes[caller], map[string]string{"a:1": "b:1", "b:1": "a:1"}[caller])
				require.ErrorContains(t, old.machine.Err(), "b:1 is node n2, and its store is an older copy: a:1 has seen")
				require.Equal(t, kv.KindInvalid, kv.KindOf(old.machine.Err()))
				require.Zero(t, old.machine.FinishFirstRound())
				require.Equal(t, was, old.machine.Saved(), "it has no stamp of its own")
				require.NoError(t, a.machine.Err())

				// The original store is accepted.
				w.stop(old)
				w.restart(b, "b:1", "b:1")
				w.rounds(2)
				for _, n := range w.nodes {
					require.NoError(t, n.machine.Err())
					require.Empty(t, n.machine.CallTargets())
				}
			})
		}
	}
}

// A copy that was started without other members has stamps of its own, possibly as many as the original
// store.
func TestDivergedCopyOfStoreIsDetected(t *testing.T) {
	for _, extra := range []int{-1, 0, 1, membership.MaxStamps - 2} {
		w, a, b, c := formed(t)
		old := copyOf(b)
		for range 3 {
			b.mark()
		}
		w.round()
		w.stop(a)
		w.stop(b)
		w.stop(c)
		w.run(old)
		w.round() // without other members
		for range 2 + extra {
			old.mark()
		}
		require.NoError(t, old.machine.Err())
		w.restart(c, "c:1", "c:1")
		w.rounds(2)
		require.Error(t, old.machine.Err(), "%d", extra)
		require.NoError(t, c.machine.Err())
	}
}

func TestDelayedResponseIsNotAnOlderCopy(t *testing.T) {
	w, a, b, _ := formed(t)
	before := b.machine.Introduction()
	b.mark()
	w.round()
	require.Empty(t, a.notes)
	eff := a.machine.HandleResponse("b:1", &peerpb.MeetResponse{Called: before})
	require.Zero(t, eff)
	require.NoError(t, a.machine.Err())
}

func TestInvalidStampsAreRejected(t *testing.T) {
	_, a, b, _ := formed(t)
	before := a.machine.Saved()
	in := b.machine.Introduction()
	in.Stamps = nil
	resp, eff := a.machine.HandleCall(&peerpb.MeetRequest{Caller: in})
	require.Contains(t, resp.Refusal, "reports 1 store stamps but lists 0")
	require.NoError(t, eff.Err)
	require.Equal(t, before, a.machine.Saved())
}

// Nodes restart at random on their newest store or on an older copy, calls are omitted, and responses are
// lost. A node on its newest store never ends. A copy ends when it is called by a member that has received
// a later stamp, and its store is then unchanged.
func TestOlderCopiesAreDetectedUnderFaults(t *testing.T) {
	rejected, accepted := 0, 0
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		w, a, b, c := formed(t)
		all := []*node{a, b, c}
		copies := make([][]*membership.Saved, 3)
		for range 80 {
			i := rnd.IntN(3)
			n := all[i]
			switch rnd.IntN(5) {
			case 0:
				copies[i] = append(copies[i], ptr(n.machine.Saved()))
			case 1:
				all[i] = w.run(&node{cfg: n.cfg, catalog: n.catalog})
			case 2:
				if n.machine.NextStamp() != nil {
					n.mark()
				}
			default:
				if to := rnd.IntN(3); to != i {
					w.call(n, all[to].cfg.Address)
				}
				if rnd.IntN(3) == 0 {
					n.do(n.machine.FinishFirstRound())
				}
			}
		}
		for _, n := range all {
			require.NoError(t, n.machine.Err(), "seed %d", seed)
		}
		i := rnd.IntN(3)
		if len(copies[i]) == 0 {
			continue
		}
		old := copies[i][rnd.IntN(len(copies[i]))]
		witness := all[(i+1)%3]
		known := witness.machine.Saved().Members[i]
		outdated := old.Past.Count < known.StampCount
		n := w.run(&node{cfg: all[i].cfg, catalog: old})
		w.call(witness, n.cfg.Address)
		require.Equal(t, outdated, n.machine.Err() != nil, "seed %d: %v, known %v", seed, old.Past, known)
		if outdated {
			rejected++
		} else {
			accepted++
		}
	}
	require.Greater(t, rejected, 50)
	require.Greater(t, accepted, 20)
}
