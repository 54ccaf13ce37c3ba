package anomaly

import (
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rounds is how often each writer of a race does its thing.
const rounds = 20

// race runs writers, each for so many rounds, and readers until the writers
// have ended, at least once. Readers report what they saw; race gives that
// back, by reader. Everybody has a number, to choose a node by.
func race[Seen any](s *scene, writers []func(round int) error, readers int, read func(reader int) (Seen, error)) [][]Seen {
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

// pair is what x and y were at one moment.
type pair struct{ x, y int }

// ordered requires that any two of the pairs seen are in one order: x and y
// only ever grow, so two moments of one history cannot disagree on which of
// them came first. Each reader's own moments do not go back.
func ordered(s *scene, seen [][]pair) {
	s.Helper()
	before := func(a, b pair) bool { return a.x <= b.x && a.y <= b.y }
	var all []pair
	for i, mine := range seen {
		for j := 1; j < len(mine); j++ {
			require.True(s.T, before(mine[j-1], mine[j]), "reader %d went back from %v to %v", i, mine[j-1], mine[j])
		}
		for _, p := range mine {
			for _, q := range all {
				require.True(s.T, before(p, q) || before(q, p), "%v and %v are a fork", p, q)
			}
		}
		all = append(all, mine...)
	}
	require.NotEmpty(s.T, all)
}

// flat is all that was seen by anybody.
func flat[Seen any](seen [][]Seen) (all []Seen) {
	for _, s := range seen {
		all = append(all, s...)
	}
	return all
}
