package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Schedules of a move beside concurrent transactions. s2 is the hot shard.

// R stays open and has read x at home. A move of x begins; W writes x and y. Then R reads y.
func movedUnderAReader(c *Cluster) (held int) {
	r := c.Open("R", 1)
	r.Read("x@0")
	c.Move("M", 2, "x@0", 0, 2)
	held = c.Held(0)
	c.Put("W", 3, "x@0", "y@1")
	r.Read("y@1")
	r.End()
	c.Finish()
	return held
}

// TestMoveWaitsForReader: R is not registered where x moves to, so W would not be held there. Therefore the move waits
// until R ends, and W waits for the move.
func TestMoveWaitsForReader(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := movedUnderAReader(c)
	r, m, w := c.Txn("R"), c.Txn("M"), c.Txn("W")
	require.Equal(t, 1, held)
	require.Equal(t, []string{Nothing, Nothing}, []string{r.ValueOf("x@0"), r.ValueOf("y@1")})
	require.Greater(t, m.Ended, r.Ended)
	require.Greater(t, w.Ended, r.Ended)
	requireConsistent(t, c)
}

// R has read y when x moves, and reads x at its old place. Before R is redirected, W writes both.
func redirectedLate(c *Cluster) {
	c.Put("V", 1, "x@0", "y@1")
	r := c.Open("R", 1)
	r.Read("y@1")
	c.Move("M", 2, "x@0", 0, 2)
	c.Hold("s0", "n1", "ReadResponse")
	r.Read("x@0")
	c.Put("W", 3, "x@0", "y@1")
	c.Release("s0", "n1", "ReadResponse")
	r.End()
	c.Finish()
}

// TestRedirectedReaderStaysRegistered: R stays registered for y all the time. So W is held, and R reads x at its new
// place without reading y again.
func TestRedirectedReaderStaysRegistered(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	redirectedLate(c)
	r, w := c.Txn("R"), c.Txn("W")
	require.Equal(t, []string{"V", "V"}, []string{r.ValueOf("x@0"), r.ValueOf("y@1")})
	require.Greater(t, w.Ended, r.Ended)
	requireConsistent(t, c)
}

// U writes x and y, and its piece for x is late. x moves. K is redirected, so V, at the same gateway, writes y and x at
// the new place. A reads there.
func lateBlindWrite(c *Cluster) {
	c.Hold("n1", "s0", "Prepare")
	c.Put("U", 1, "x@0", "y@1")
	c.Move("M", 2, "x@0", 0, 2)
	c.Read("K", 3, "x@0")
	c.Put("V", 3, "y@1", "x@0")
	c.Release("n1", "s0", "Prepare")
	c.Read("A", 3, "x@0", "y@1")
	c.Finish()
}

// TestLateBlindWriteIsRedirected: a blind write finds the move tombstone, although it reads nothing. U is retried, and
// follows V on both shards.
func TestLateBlindWriteIsRedirected(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	lateBlindWrite(c)
	u, v, a := c.Txn("U"), c.Txn("V"), c.Txn("A")
	require.Greater(t, u.Ended, v.Ended)
	requireEndsBefore(t, u, a)
	require.Equal(t, []string{"U", "U"}, []string{a.ValueOf("x@0"), a.ValueOf("y@1")})
	requireConsistent(t, c)
}

// W is decided on the hot shard, and s0 has not received the decision of the move that brought x back. B reads at home,
// after A has read the value of W.
func lateDecisionAtHome(c *Cluster) (decisionAt int64) {
	c.Move("M", 1, "x@0", 0, 2)
	c.Put("V", 1, "x@0")
	c.Hold("s2", "s0", "Decision")
	c.Move("N", 2, "x@0", 2, 0)
	c.Put("W", 1, "x@0", "y@1")
	c.Read("A", 2, "y@1")
	c.Read("B", 3, "x@0")
	decisionAt = c.Release("s2", "s0", "Decision")
	c.Finish()
	return decisionAt
}

// TestHomeWithoutDecisionOfMoveBlocksReaders: the home shard does not redirect while the move holds the key's lock. A
// reader waits, as for any sealed update.
func TestHomeWithoutDecisionOfMoveBlocksReaders(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	decisionAt := lateDecisionAtHome(c)
	n, w, b := c.Txn("N"), c.Txn("W"), c.Txn("B")
	require.Less(t, n.Ended, decisionAt, "the hot shard decides")
	require.Greater(t, w.Ended, decisionAt)
	require.Greater(t, b.Ended, decisionAt)
	require.Contains(t, []string{"V", "W"}, b.ValueOf("x@0"))
	requireConsistent(t, c)
}
