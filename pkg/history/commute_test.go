package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExactIncrementsCommute runs increments and reads one after another, and then exchanges the versions of increments
// without a read in between, on each key separately, as shards may do.
func TestExactIncrementsCommute(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	exchanged, refused := 0, 0
	for run := range 1500 {
		var txns []ExactTxn
		orders := map[string]int{}
		runs := map[string][][2]int{} // per key, the increments since the last read: transaction and write
		shuffle := func(k string) {
			group := runs[k]
			runs[k] = nil
			r.Shuffle(len(group), func(i, j int) {
				a, b := &txns[group[i][0]].Writes[group[i][1]], &txns[group[j][0]].Writes[group[j][1]]
				a.Order, b.Order = b.Order, a.Order
				exchanged++
			})
		}
		for i := range 12 {
			x := at(int64(i*10)-r.Int64N(60), int64(i*10)+r.Int64N(60))
			for _, k := range []string{"a", "b"} {
				switch r.IntN(4) {
				case 0: // a read ends the run: it read the newest version
					shuffle(k)
					if n := orders[k]; n > 0 {
						x.Reads = append(x.Reads, seenAt(txns, k, n))
					} else {
						x.Reads = append(x.Reads, saw(k, 0))
					}
				case 1:
				default:
					orders[k]++
					runs[k] = append(runs[k], [2]int{i, len(x.Writes)})
					x.Writes = append(x.Writes, plus(k, orders[k]))
				}
			}
			txns = append(txns, x)
		}
		shuffle("a")
		shuffle("b")
		v := CheckExact(ExactHistory{Txns: txns})
		require.True(t, v.Exact, "run %d: %+v\n%v", run, txns, v)
		for i := range txns { // the same history if nothing commuted
			for w := range txns[i].Writes {
				txns[i].Writes[w].Commutes = false
			}
		}
		if !CheckExact(ExactHistory{Txns: slices.Clone(txns)}).OK() {
			refused++
		}
	}
	require.Greater(t, exchanged, 1000)
	require.Greater(t, refused, 100, "the exchanges would not have mattered")
}

// seenAt is a read of the version at a position in its key's order.
func seenAt(txns []ExactTxn, key string, order int) SeenVersion {
	for _, x := range txns {
		for _, w := range x.Writes {
			if w.Key == key && w.Order == int64(order) {
				return SeenVersion{Key: key, Version: w.Version}
			}
		}
	}
	panic(fmt.Sprintf("no version %d of %s", order, key))
}

// TestIntervalsMatchLinearSearch compares the search tree with a loop.
func TestIntervalsMatchLinearSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 500 {
		n := r.IntN(20)
		lo, hi, nodes := make([]int64, n), make([]int64, n), make([]int32, n)
		for i := range n {
			nodes[i], lo[i] = int32(i), r.Int64N(30)
			hi[i] = lo[i] + r.Int64N(30)
		}
		s := newIntervals(lo, hi, slices.Clone(nodes))
		from := r.Int64N(60)
		to := from + r.Int64N(20)
		var want []int32
		last, ended := int64(-1), false
		for _, v := range s.nodes {
			if lo[v] <= to && hi[v] >= from {
				want = append(want, v)
			}
			if hi[v] < from {
				last, ended = max(last, lo[v]), true
			}
		}
		require.Equal(t, want, s.overlapping(from, to, nil))
		require.Equal(t, len(want) > 0, s.anyOverlapping(from, to))
		v, ok := s.lastBefore(from)
		require.Equal(t, ended, ok)
		if ok {
			require.Equal(t, last, lo[v])
		}
	}
}
