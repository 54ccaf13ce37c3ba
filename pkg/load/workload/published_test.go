package workload

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the papers say, in their words as far as they go.
func TestPublishedWorkloadsAreThoseOfThePapers(t *testing.T) {
	kindsOf := func(name string) (kindOps map[Kind]map[int]int, repeats int, o Options) {
		o, err := Published(name, 3)
		require.NoError(t, err)
		require.Equal(t, name, o.Name)
		require.NoError(t, o.Validate())
		g := testPlan(t, o, "test").generator(0)
		kindOps = map[Kind]map[int]int{}
		for range 10_000 {
			txn, seen := g.next(0), map[string]bool{}
			for _, op := range txn.Ops {
				seen[string(op.Key)] = true
			}
			if len(seen) < txn.Keys {
				repeats++
			}
			if kindOps[txn.Kind] == nil {
				kindOps[txn.Kind] = map[int]int{}
			}
			kindOps[txn.Kind][txn.Keys]++
		}
		return kindOps, repeats, o
	}
	// "update, where two keys are read and written, and read-only
	// transactions, where two or more keys are accessed"; "10 application
	// threads per node"; "uniform distribution".
	got, repeats, o := kindsOf("sss")
	require.Len(t, got, 2)
	require.InDelta(t, 5000, got[ReadModifyWrite][2], 300)
	require.InDelta(t, 5000, got[ReadOnly][2], 300)
	require.Zero(t, repeats)
	require.Equal(t, 30, o.Clients)
	require.Zero(t, o.Skew)
	require.Equal(t, uint64(5000), o.Keys)
	require.Zero(t, o.Rate, "a closed loop")

	// "each with 10 (possibly duplicate) keys"; "90% read-only and 10%
	// write-only transactions"; "128 client threads".
	got, repeats, o = kindsOf("hot-or-not")
	require.Len(t, got, 2)
	require.InDelta(t, 9000, got[ReadOnly][10], 200)
	require.InDelta(t, 1000, got[WriteOnly][10], 200)
	require.Greater(t, repeats, 1000)
	require.Equal(t, 128, o.Clients)

	_, _, o = kindsOf(Zeta)
	require.Equal(t, DefaultMix, o.Mix)
	_, err := Published("tpcc", 1)
	require.ErrorContains(t, err, `no workload "tpcc", want one of zeta, sss, hot-or-not`)
}

func TestAShareOfReadersLeavesTheRestInProportion(t *testing.T) {
	m := Mix{ReadOnly: 7, WriteOnly: 1, ReadModifyWrite: 3}
	require.Equal(t, Mix{ReadOnly: 80, WriteOnly: 5, ReadModifyWrite: 15}, m.WithReadOnly(80))
	require.Equal(t, Mix{ReadOnly: 100}, m.WithReadOnly(100))
}
