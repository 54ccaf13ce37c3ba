package anomaly

import (
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rounds is the number of rounds of each writer of a race.
const rounds = 20

// race runs writers, each for a number of rounds, and readers until the writers have ended, at least once.
// It returns the results by reader. The index of a writer or reader selects its node.
func race[Seen any](s *scene, writers []func(round int) error, readers int,
	read func(reader int) (Seen, error)) [][]Seen {
	s.Helper()
	var writing, reading sync.WaitGroup
	var over atomic.Bool
	for _, w := range writers {
		writing.Go(func() {
			for r := range rounds {
				if !assert.NoError(s.T, w(r)) {
					return
				}
			}
		})
	}
	seen := make([][]Seen, readers)
	for i := range readers {
		reading.Go(func() {
			for last := false; !last; {
				last = over.Load()
				v, err := read(i)
				if !assert.NoError(s.T, err) {
					return
				}
				seen[i] = append(seen[i], v)
			}
		})
	}
	writing.Wait()
	over.Store(true)
	reading.Wait()
	require.False(s.T, s.Failed())
	return seen
}

// pair is a consistent read of x and y.
type pair struct{ x, y int }

// requireTotalOrder requires that all pairs are in one order: x and y only grow, so of two states of one
// history one is before the other. The pairs of one reader are in order.
func requireTotalOrder(s *scene, seen [][]pair) {
	s.Helper()
	before := func(a, b pair) bool { return a.x <= b.x && a.y <= b.y }
	var all []pair
	for i, pairs := range seen {
		for j := 1; j < len(pairs); j++ {
			require.True(s.T, before(pairs[j-1], pairs[j]), "reader %d read %v, then %v", i, pairs[j-1], pairs[j])
		}
		for _, p := range pairs {
			for _, q := range all {
				require.True(s.T, before(p, q) || before(q, p), "%v and %v: a long fork", p, q)
			}
		}
		all = append(all, pairs...)
	}
	require.NotEmpty(s.T, all)
}

// flatten returns the results of all readers.
func flatten[Seen any](seen [][]Seen) (all []Seen) {
	for _, s := range seen {
		all = append(all, s...)
	}
	return all
}
