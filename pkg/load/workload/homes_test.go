package workload

import (
	"context"
	"hash/fnv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// fakeHomes deals keys over nodes by a hash, and clients in turn.
type fakeHomes struct {
	nodes int
	calls []atomic.Uint64 // by node, from 0
}

func (h *fakeHomes) Client(client int) (Store, kv.NodeID) {
	node := client % h.nodes
	return via{h, node}, kv.NodeID(node + 1)
}

// via counts the transactions that go by way of a node.
type via struct {
	*fakeHomes
	node int
}

func (v via) Execute(context.Context, []Op) (Reply, error) {
	v.calls[v.node].Add(1)
	return Reply{}, nil
}

func (v via) Transact(ctx context.Context, ops []Op) (Reply, error) { return v.Execute(ctx, ops) }

func (v via) Scan(context.Context, Range, func(Pair) bool) error { return nil }

func TestClientsGoByWayOfTheirOwnNode(t *testing.T) {
	homes := &fakeHomes{nodes: 3, calls: make([]atomic.Uint64, 3)}
	r, err := New(via{}, Options{Clients: 5, Count: 500, Keys: 1000, Readers: Readers{InteractiveReads: 50},
		Placement: Placement{Locality: 50, Homes: homes}})
	require.NoError(t, err)
	res, err := r.Run(t.Context())
	require.NoError(t, err)
	for node, want := range []uint64{200, 200, 100} { // clients 0 and 3, 1 and 4, 2
		require.Equal(t, want, homes.calls[node].Load())
	}
	require.InDelta(t, 100*(0.5+0.5/3), res.NearKeys, 4)
}

func (h *fakeHomes) Key(key []byte) kv.NodeID {
	sum := fnv.New64a()
	_, _ = sum.Write(key)
	return kv.NodeID(sum.Sum64()%uint64(h.nodes) + 1)
}

// Of the keys, half are drawn from those at home and half from all, of which
// one in five is at home by chance.
func TestLocalityDrawsFromTheClientsNode(t *testing.T) {
	homes := &fakeHomes{nodes: 5}
	for locality, want := range map[float64]float64{20: 0.2 + 0.8/5, 50: 0.5 + 0.5/5, 100: 1} {
		p := testPlan(t, Options{Keys: 5000, Placement: Placement{Locality: locality, Homes: homes}, Distinct: true,
			Mix: Mix{ReadOnly: 1, ReadModifyWrite: 1}}, "test")
		for _, client := range []int{0, 3} {
			g := p.generator(client)
			near, keys := 0.0, 0.0
			for range 5000 {
				txn, seen, atHome := g.next(0), map[string]bool{}, 0
				for _, o := range txn.Ops {
					if !seen[string(o.Key)] && homes.Key(o.Key) == kv.NodeID(client+1) {
						atHome++
					}
					seen[string(o.Key)] = true
				}
				require.Len(t, seen, 4)
				require.Equal(t, 4, txn.Keys)
				require.Equal(t, atHome, txn.Near)
				near, keys = near+float64(atHome), keys+4
			}
			require.InDelta(t, want, near/keys, 0.02)
		}
	}
}

// What is drawn at home has the law's proportions.
func TestLocalityKeepsTheSkew(t *testing.T) {
	homes := &fakeHomes{nodes: 3}
	p := testPlan(t, Options{Keys: 1000, Skew: 1, Ops: 1, Placement: Placement{Locality: 100, Homes: homes},
		Mix: Mix{ReadOnly: 1}}, "test")
	g, count, weight, sum := p.generator(1), map[string]float64{}, map[string]float64{}, 0.0
	for rank := range uint64(1000) {
		if key := RegisterKey("zeta/", rank); homes.Key(key) == 2 {
			weight[string(key)] = 1 / float64(rank+1)
			sum += 1 / float64(rank+1)
		}
	}
	const draws = 50_000
	for range draws {
		count[string(g.next(0).Ops[0].Key)]++
	}
	for key, n := range count {
		require.NotZero(t, weight[key], "%s is not at home", key)
		require.InDelta(t, weight[key]/sum, n/draws, 0.01, key)
	}
}

// Nor does it hang where there is nothing, or not enough, to be found.
func TestKeysOfOtherNodesAreDrawnIfTheOwnHasNone(t *testing.T) {
	for _, o := range []Options{
		{Keys: 3, Ops: 3, Distinct: true, Placement: Placement{Homes: &fakeHomes{nodes: 3}}},
		{Keys: 1, Ops: 1, Placement: Placement{Homes: &fakeHomes{nodes: 50}}},
	} {
		o.Locality = 100
		// The node after that of the first key.
		g := testPlan(t, o, "test").generator(int(o.Homes.Key(RegisterKey("zeta/", 0))))
		for range 20 {
			txn := g.next(0)
			require.Equal(t, o.Ops, txn.Keys)
			require.Less(t, txn.Near, o.Ops)
		}
	}
}
