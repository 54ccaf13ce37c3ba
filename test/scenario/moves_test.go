package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Schedules of a move against what goes on meanwhile. s2 is the hot shard.

// R, which stays open, has read x at home. x is to move; W writes it, and y as well.
// Then R reads y.
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

// TestAMoveWaitsForWhoHasReadTheKey: where x goes, R is not registered, and W would
// not be held there. So x stays until R ends, and with it W.
func TestAMoveWaitsForWhoHasReadTheKey(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := movedUnderAReader(c)
	r, m, w := c.Txn("R"), c.Txn("M"), c.Txn("W")
	require.Equal(t, 1, held)
	require.Equal(t, []string{Nothing, Nothing}, []string{r.Saw("x@0"), r.Saw("y@1")})
	require.Greater(t, m.Answered, r.Answered)
	require.Greater(t, w.Answered, r.Answered)
	fine(t, c)
}

// R has read y when x moves, and asks for x where it was. Before it can ask where x is
// now, W writes both.
func sentOnTooLate(c *Cluster) {
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

// TestAReaderThatIsSentOnStaysWhereItIs: R is registered with y all the while. So W is
// held, and R goes on to the place of x without reading y again.
func TestAReaderThatIsSentOnStaysWhereItIs(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	sentOnTooLate(c)
	r, w := c.Txn("R"), c.Txn("W")
	require.Equal(t, []string{"V", "V"}, []string{r.Saw("x@0"), r.Saw("y@1")})
	require.Greater(t, w.Answered, r.Answered)
	fine(t, c)
}

// U writes x and y, and its piece for x is late. x moves; K is sent on to it, and so V,
// at the same gateway, writes y and x where x is. A reads there.
func lateForTheKey(c *Cluster) {
	c.Hold("n1", "s0", "Prepare")
	c.Put("U", 1, "x@0", "y@1")
	c.Move("M", 2, "x@0", 0, 2)
	c.Read("K", 3, "x@0")
	c.Put("V", 3, "y@1", "x@0")
	c.Release("n1", "s0", "Prepare")
	c.Read("A", 3, "x@0", "y@1")
	c.Finish()
}

// TestAWriteThatComesAfterTheKeyHasGone finds the mark, though it reads nothing there:
// U begins anew, and is after V in both places.
func TestAWriteThatComesAfterTheKeyHasGone(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	lateForTheKey(c)
	u, v, a := c.Txn("U"), c.Txn("V"), c.Txn("A")
	require.Greater(t, u.Answered, v.Answered)
	before(t, u, a)
	require.Equal(t, []string{"U", "U"}, []string{a.Saw("x@0"), a.Saw("y@1")})
	fine(t, c)
}

// W is decided on the hot shard, and s0 has not heard that x has come home: B reads
// there, after A has been told what W wrote.
func homeIsSlow(c *Cluster) (told int64) {
	c.Move("M", 1, "x@0", 0, 2)
	c.Put("V", 1, "x@0")
	c.Hold("s2", "s0", "Decision")
	c.Move("N", 2, "x@0", 2, 0)
	c.Put("W", 1, "x@0", "y@1")
	c.Read("A", 2, "y@1")
	c.Read("B", 3, "x@0")
	told = c.Release("s2", "s0", "Decision")
	c.Finish()
	return told
}

// TestAHomeThatHasNotHeardOfTheMoveBack sends nobody away: the move has the key's
// lock, and whoever reads waits for it, as for any update that is sealed.
func TestAHomeThatHasNotHeardOfTheMoveBack(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	told := homeIsSlow(c)
	n, w, b := c.Txn("N"), c.Txn("W"), c.Txn("B")
	require.Less(t, n.Answered, told, "the hot shard decides")
	require.Greater(t, w.Answered, told)
	require.Greater(t, b.Answered, told)
	require.Contains(t, []string{"V", "W"}, b.Saw("x@0"))
	fine(t, c)
}
