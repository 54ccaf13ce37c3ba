package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/history"
)

// The schedules of scenario_test.go on the published algorithm. Nodes are N0, N1, ...; a client begins at one of them.

// TestPublishedExamples: the model behaves as the paper's own examples do, so it represents the paper fairly. Section
// III-D: the response of an update waits for a reader ordered before it (figure 1, with its numbers), and two readers
// do not see two updates in different orders (figure 2). One reader sees all of an update or nothing of it (statement
// 2).
func TestPublishedExamples(t *testing.T) {
	t.Run("figure 1", func(t *testing.T) {
		runInterpretations(t, 2, "", func(t *testing.T, p *published) {
			for i, recent := range []vector{{5, 4}, {3, 7}} {
				p.nodes[i].vc.raise(recent)
				p.nodes[i].log = append(p.nodes[i].log, &sssUpdate{Txn: &Txn{Name: "before"}, vc: recent})
			}
			r := p.Open("R", 0)
			r.Read("y@1")
			require.Equal(t, 7, p.nodes[1].queues["y@1"][0].snapshot)
			w := p.Put("W", 1, "y@1")
			require.Equal(t, vector{3, 8}, w.vc)
			require.Equal(t, Never, w.Ended)
			require.Equal(t, 8, p.nodes[1].queues["y@1"][1].snapshot)
			r.End()
			require.NotEqual(t, Never, w.Ended)
			require.Empty(t, p.nodes[1].queues["y@1"])
		})
	})
	t.Run("figure 2", func(t *testing.T) {
		runInterpretations(t, 4, "", func(t *testing.T, p *published) {
			a, b := p.Open("A", 0), p.Open("B", 3)
			a.Read("x@1")
			b.Read("y@2")
			p.Put("W", 1, "x@1")
			p.Put("X", 2, "y@2")
			a.Read("y@2")
			b.Read("x@1")
			require.Equal(t, []string{Nothing, Nothing}, []string{a.ValueOf("y@2"), b.ValueOf("x@1")})
			a.End()
			b.End()
		})
	})
	t.Run("statement 2", func(t *testing.T) {
		runInterpretations(t, 3, "", func(t *testing.T, p *published) {
			r := p.Open("R", 2)
			r.Read("y@1")
			w := p.Begin("W", 0, nil, []string{"x@0", "y@1"})
			p.Prepare(w)
			p.Decide(w, 0)
			r.Read("x@0")
			require.Equal(t, Nothing, r.ValueOf("x@0"))
			o := p.Open("O", 2) // in reverse order
			o.Read("x@0")
			require.Equal(t, "W", o.ValueOf("x@0"))
			require.True(t, o.wouldWait(p.nodes[1]))
			p.Decide(w, 1)
			o.Read("y@1")
			require.Equal(t, "W", o.ValueOf("y@1"))
			r.End()
			o.End()
		})
	})
}

// 1. W is internally committed on N0 and not yet on N1. A reads on N0, and when it has ended B reads on N1.
func TestPublishedVisibleNodeByNode(t *testing.T) {
	runInterpretations(t, 3, history.RealTimeInversion, func(t *testing.T, p *published) {
		w := p.Begin("W", 0, nil, []string{"x@0", "y@1"})
		p.Prepare(w)
		p.Decide(w, 0)
		p.Read("A", 2, "x@0")
		p.Read("B", 2, "y@1")
		p.Decide(w, 1)
		require.Equal(t, "W", p.Txn("A").ValueOf("x@0"))
		require.Equal(t, Nothing, p.Txn("B").ValueOf("y@1"))
	})
}

// 2. R holds W on N0. On N1 nothing holds it, so A, which reads there, reads W; B, which reads on N0, does not.
func TestPublishedHeldInOnePlace(t *testing.T) {
	runInterpretations(t, 3, history.RealTimeInversion, func(t *testing.T, p *published) {
		r := p.Open("R", 2)
		r.Read("x@0")
		w := p.Put("W", 0, "x@0", "y@1")
		p.Read("A", 2, "y@1")
		p.Read("B", 2, "x@0")
		require.Equal(t, Never, w.Ended, "the hold itself works")
		r.End()
		require.Equal(t, "W", p.Txn("A").ValueOf("y@1"))
		require.Equal(t, Nothing, p.Txn("B").ValueOf("x@0"))
	})
}

// 3. R has read a on N0: its vector fixes the state of all of N0, but its entry in the queue protects a only. V ends,
// then U begins; R reads U and not V.
func TestPublishedSecondKeyOnANode(t *testing.T) {
	runInterpretations(t, 3, history.RealTimeInversion, func(t *testing.T, p *published) {
		r := p.Open("R", 2)
		r.Read("a@0")
		v := p.Put("V", 0, "b@0")
		u := p.Put("U", 1, "c@1")
		requireEndsBefore(t, v.Txn, u.Txn)
		r.Read("c@1")
		r.Read("b@0")
		r.End()
		require.Equal(t, "U", r.ValueOf("c@1"))
		require.Equal(t, Nothing, r.ValueOf("b@0"))
	})
}

// 4. A holds W and B holds X, each on one of the update's two nodes; on the other node each reads the other update.
// This goes wrong without any real-time order.
func TestPublishedOppositeOrders(t *testing.T) {
	runInterpretations(t, 4, history.LongFork, func(t *testing.T, p *published) {
		a, b := p.Open("A", 0), p.Open("B", 1)
		a.Read("a@0")
		b.Read("b@1")
		w, x := p.Put("W", 2, "a@0", "c@2"), p.Put("X", 3, "b@1", "d@3")
		a.Read("d@3")
		b.Read("c@2")
		require.Equal(t, []int64{Never, Never}, []int64{w.Ended, x.Ended})
		a.End()
		b.End()
		require.Equal(t, []string{Nothing, "X"}, []string{a.ValueOf("a@0"), a.ValueOf("d@3")})
		require.Equal(t, []string{Nothing, "W"}, []string{b.ValueOf("b@1"), b.ValueOf("c@2")})
	})
}

// 5. T is internally committed on N1 and not yet on N0. W, next on N1, inherits T's entry for N0 and ends. Then R
// begins and reads on N0, which does not have T, so R may not read W.
func TestPublishedAnsweredAndHidden(t *testing.T) {
	runInterpretations(t, 3, history.RealTimeInversion, func(t *testing.T, p *published) {
		other := p.Begin("T", 0, nil, []string{"p@0", "q@1"})
		p.Prepare(other)
		p.Decide(other, 1)
		w := p.Put("W", 1, "y@1")
		r := p.Open("R", 2)
		requireEndsBefore(t, w.Txn, r.Txn)
		r.Read("z@0")
		r.Read("y@1")
		r.End()
		require.Equal(t, Nothing, r.ValueOf("y@1"))
		p.Decide(other, 0)
	})
}

// 6. One key on one node. R holds W. Whether a reader may read W depends on what the node has received from the node
// where the reader began.
func TestPublishedNewThenOld(t *testing.T) {
	runInterpretations(t, 3, history.RealTimeInversion, func(t *testing.T, p *published) {
		r := p.Open("R", 2)
		r.Read("x@0")
		w := p.Put("W", 0, "x@0")
		p.Read("A", 0, "x@0")
		p.Read("B", 1, "x@0")
		require.Equal(t, Never, w.Ended)
		r.End()
		require.Equal(t, "W", p.Txn("A").ValueOf("x@0"))
		require.Equal(t, Nothing, p.Txn("B").ValueOf("x@0"))
	})
}

// 7. R holds W, which has read k. U overwrites k and ends at once: only a transaction that reads what W wrote inherits
// its wait. Then S begins, and R reads it.
func TestPublishedWaitNotInherited(t *testing.T) {
	runInterpretations(t, 3, history.RealTimeInversion, func(t *testing.T, p *published) {
		r := p.Open("R", 2)
		r.Read("x@0")
		w := p.Update("W", 0, []string{"k@1"}, []string{"x@0"})
		u := p.Put("U", 1, "k@1")
		s := p.Put("S", 2, "z@2")
		requireEndsBefore(t, u.Txn, s.Txn)
		require.Equal(t, Never, w.Ended)
		r.Read("z@2")
		r.End()
		require.Equal(t, []string{Nothing, "S"}, []string{r.ValueOf("x@0"), r.ValueOf("z@2")})
	})
}
