// Package kronecker draws followers: a graph whose degrees follow a
// power law, as those of social networks do.
//
// The law is that of the Graph 500 benchmark (graph500.org, specification,
// "Kronecker generator"; Leskovec et al., JMLR 11, 2010). Of 2^scale vertices
// an edge is a cell of the matrix of all pairs. Cut the matrix into four
// quarters and choose one, with probabilities
//
//	          to: lower  upper
//	from: lower   0.57   0.19
//	      upper   0.19   0.05
//
// then cut that quarter in the same way, scale times, until one cell is left:
// each cut gives one bit of both ends. Low numbers are thus popular, and the
// popular follow each other; a bijection of the numbers then hides which are
// low. The same edge may come again, and an edge may lead to where it began.
// Edges gives them as drawn; New leaves those out.
package kronecker

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
)

// The probabilities of the quarters, and MaxScale, which keeps a graph in
// memory and vertices in 32 bits.
const (
	lowLow, lowHigh, highLow = 0.57, 0.19, 0.19
	MaxScale                 = 24
)

// Options say which graph.
type Options struct {
	// Scale is the binary logarithm of the number of vertices, 1 to MaxScale.
	Scale int
	// Followers is how many a vertex has on average, more than 0 and at most
	// an eighth of the vertices: beyond that the popular ones are followed by
	// all, and new edges are hard to find.
	Followers float64
	// MostFollowers bounds those of one vertex; 0 is no bound.
	MostFollowers int
	// Seed determines the graph.
	Seed uint64
}

// Vertices is their number.
func (o Options) Vertices() int { return 1 << o.Scale }

// Validate reports what is wrong, or nil.
func (o Options) Validate() error {
	switch {
	case o.Scale < 1 || o.Scale > MaxScale:
		return fmt.Errorf("a graph of 2^%d users, want a scale of 1 to %d", o.Scale, MaxScale)
	case !(o.Followers > 0 && o.Followers <= float64(o.Vertices())/8): // nor NaN
		return fmt.Errorf("%v followers on average of %d users, want more than 0, and at most an eighth of the users",
			o.Followers, o.Vertices())
	case o.MostFollowers < 0:
		return fmt.Errorf("at most %d followers, want 0 (no bound) or more", o.MostFollowers)
	case o.MostFollowers > 0 && float64(o.MostFollowers) < 2*o.Followers:
		return fmt.Errorf("at most %d followers with %v on average; let the bound be twice the average or more",
			o.MostFollowers, o.Followers)
	}
	return nil
}

// Edges draws edges without end: from follows to.
func Edges(o Options) iter.Seq2[uint32, uint32] {
	return func(yield func(from, to uint32) bool) {
		hide := zipf.NewShuffle(uint64(o.Vertices()), o.Seed)
		r := rand.New(rand.NewPCG(o.Seed, 500))
		for {
			from, to := cell(o.Scale, r)
			if !yield(uint32(hide.Of(from)), uint32(hide.Of(to))) {
				return
			}
		}
	}
}

// cell draws one cell of the matrix.
func cell(scale int, r *rand.Rand) (from, to uint64) {
	for range scale {
		from, to = from<<1, to<<1
		switch u := r.Float64(); {
		case u < lowLow:
		case u < lowLow+lowHigh:
			to |= 1
		case u < lowLow+lowHigh+highLow:
			from |= 1
		default:
			from, to = from|1, to|1
		}
	}
	return from, to
}

// Graph is the followers of each user. No user follows itself, or another one twice.
type Graph struct {
	// Followers and Following are by vertex, in the order in which the edges
	// were drawn. They are the same edges.
	Followers, Following [][]uint32
	// Left counts the edges that were drawn and left out because of
	// MostFollowers.
	Left int
}

// New draws edges until there are as many as the average wants.
func New(o Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	n := o.Vertices()
	g := &Graph{Followers: make([][]uint32, n), Following: make([][]uint32, n)}
	want := int(o.Followers * float64(n))
	known := make(map[uint64]struct{}, want)
	for from, to := range Edges(o) {
		if len(known) >= want {
			break
		}
		edge := uint64(from)<<32 | uint64(to)
		if _, again := known[edge]; again || from == to {
			continue
		}
		if o.MostFollowers > 0 && len(g.Followers[to]) >= o.MostFollowers {
			g.Left++
			continue
		}
		known[edge] = struct{}{}
		g.Followers[to] = append(g.Followers[to], from)
		g.Following[from] = append(g.Following[from], to)
	}
	return g, nil
}

// Edges is how many there are.
func (g *Graph) Edges() (n int) {
	for _, f := range g.Following {
		n += len(f)
	}
	return n
}
