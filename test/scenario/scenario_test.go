package scenario

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Each schedule is a function, so that it can be played with a rule broken as
// well (mutants_test.go). It ends with everything answered. The numbers are
// those of docs/divergence.md, and the names those of published_test.go, where
// the published algorithm plays the same.

// fine ends a test: the judge finds an order that explains everything.
func fine(t *testing.T, c *Cluster) {
	t.Helper()
	v := c.Judge()
	require.True(t, v.OK() && v.Exact, "%v", v)
	for _, x := range c.txns {
		require.Empty(t, x.Failed, x.Name)
	}
}

// before requires that one transaction was answered before another began: what
// makes a real-time order.
func before(t *testing.T, a, b *Txn) {
	t.Helper()
	require.Less(t, a.Answered, b.Started, "%s was to be answered before %s began", a.Name, b.Name)
}

// 1. W writes on two shards, and s0 is slow to hear of the decision. A reads
// where W is visible; then B reads on s0.
func nodeByNode(c *Cluster) (told int64) {
	c.Hold("s1", "s0", "Decision")
	c.Put("W", 1, "x@0", "y@1")
	c.Read("A", 2, "y@1")
	c.Read("B", 3, "x@0")
	c.Pass(100 * time.Millisecond)
	told = c.Release("s1", "s0", "Decision")
	c.Finish()
	return told
}

// TestVisibleNodeByNode: B waits on s0, where W is sealed, until the decision
// comes, however long that takes; it does not see the state before W.
func TestVisibleNodeByNode(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	told := nodeByNode(c)
	w, a, b := c.Txn("W"), c.Txn("A"), c.Txn("B")
	before(t, w, a) // W was answerable at F, though s0 had not shown it
	before(t, a, b)
	require.Equal(t, "W", a.Saw("y@1"))
	require.Equal(t, "W", b.Saw("x@0"))
	require.Less(t, b.Started, told)
	require.Greater(t, b.Answered, told, "B was to wait for the decision")
	fine(t, c)
}

// 1, with one reader of both keys.
func halfOfIt(c *Cluster) {
	c.Hold("s1", "s0", "Decision")
	c.Put("W", 1, "x@0", "y@1")
	c.Read("A", 2, "x@0", "y@1")
	c.Pass(100 * time.Millisecond)
	c.Finish()
}

// TestNoHalfOfAnUpdate: what A reads on s1 at once fits what it waits for on
// s0.
func TestNoHalfOfAnUpdate(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	halfOfIt(c)
	a := c.Txn("A")
	before(t, c.Txn("W"), a)
	require.Equal(t, []string{"W", "W"}, []string{a.Saw("x@0"), a.Saw("y@1")})
	fine(t, c)
}

// TestAnUndecidedUpdateIsPutOff is the other side of it: while W is not decided,
// because its piece for L is late, a reader of s0 waits only until L has dropped
// the epoch of W's vote. It reads the state before W, and W, which is held now,
// is decided after it.
func TestAnUndecidedUpdateIsPutOff(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	c.Hold("n1", "s1", "CommitRequest")
	w := c.Put("W", 1, "x@0", "y@1")
	b := c.Read("B", 3, "x@0")
	require.Equal(t, Never, b.Answered)
	c.Pass(5 * time.Millisecond)
	require.NotEqual(t, Never, b.Answered)
	require.Equal(t, Nothing, b.Saw("x@0"))
	require.Equal(t, Never, w.Answered)
	a := c.Read("A", 2, "y@1")
	require.Equal(t, Nothing, a.Saw("y@1"))
	c.Finish()
	fine(t, c)
}

// 2. R, which stays open, has read one of two keys that W writes. A reads the
// other one, where nobody holds W; then B reads the first.
func heldInOnePlace(c *Cluster) (held int) {
	c.Hold("s1", "s0", "Decision")
	r := c.Open("R", 3)
	r.Read("x@0")
	c.Put("W", 1, "x@0", "y@1")
	held = c.Held(0)
	c.Read("A", 3, "y@1")
	c.Read("B", 3, "x@0")
	r.End()
	c.Finish()
	return held
}

// TestHeldInOnePlace: W's vote from s0 says that it is held, so s1 does not
// decide, and there is nothing of W to be seen on s1 either.
func TestHeldInOnePlace(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := heldInOnePlace(c)
	r, w, a, b := c.Txn("R"), c.Txn("W"), c.Txn("A"), c.Txn("B")
	require.Equal(t, 1, held)
	before(t, a, b)
	require.Equal(t, Nothing, a.Saw("y@1"))
	require.Equal(t, Nothing, b.Saw("x@0"))
	require.Greater(t, w.Answered, r.Answered, "W was to wait for R")
	fine(t, c)
}

// 3. R has read a. V writes another key of that shard, T writes a, and when
// they are answered, or not, U writes on another shard. R goes on to what V
// and U wrote.
func secondKeyOnANode(c *Cluster) (held int) {
	r := c.Open("R", 3)
	r.Read("a@0")
	c.Put("V", 1, "b@0")
	c.Put("T", 1, "a@0")
	held = c.Held(0)
	c.Put("U", 2, "c@1")
	r.Read("c@1")
	r.Read("b@0")
	r.End()
	c.Finish()
	return held
}

// TestSecondKeyOnANode: having read a freezes a, which T would change and must
// wait, and nothing else. R sees b as it is now, V included.
func TestSecondKeyOnANode(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := secondKeyOnANode(c)
	r, v, u, w := c.Txn("R"), c.Txn("V"), c.Txn("U"), c.Txn("T")
	require.Equal(t, 1, held, "T was to be held, and V not")
	before(t, v, u)
	require.Less(t, u.Answered, r.Answered)
	require.Equal(t, "U", r.Saw("c@1"))
	require.Equal(t, "V", r.Saw("b@0"))
	require.Equal(t, Nothing, r.Saw("a@0"))
	require.Greater(t, w.Answered, r.Answered, "T was to wait for R")
	fine(t, c)
}

// 4. A has read one of two keys of W, B one of two keys of X. Then each reads
// the other key of the update that it does not hold.
func oppositeOrders(c *Cluster) (held [4]int) {
	a, b := c.Open("A", 1), c.Open("B", 2)
	a.Read("a@0")
	b.Read("b@1")
	c.Put("W", 3, "a@0", "c@2")
	c.Put("X", 4, "b@1", "d@3")
	held = [4]int{c.Held(0), c.Held(1), c.Held(2), c.Held(3)}
	a.Read("d@3")
	b.Read("c@2")
	a.End()
	b.End()
	c.Finish()
	return held
}

// TestOppositeOrders: neither update is decided before the reader that holds it
// has ended, so neither reader sees one without the other.
func TestOppositeOrders(t *testing.T) {
	c := New(t, 4, mutant.Set{})
	held := oppositeOrders(c)
	require.Equal(t, [4]int{1, 1, 0, 0}, held)
	a, b := c.Txn("A"), c.Txn("B")
	require.Equal(t, []string{Nothing, Nothing}, []string{a.Saw("a@0"), a.Saw("d@3")})
	require.Equal(t, []string{Nothing, Nothing}, []string{b.Saw("b@1"), b.Saw("c@2")})
	require.Greater(t, c.Txn("W").Answered, a.Answered, "W was to wait for A")
	require.Greater(t, c.Txn("X").Answered, b.Answered, "X was to wait for B")
	fine(t, c)
}

// 5. T writes on two shards, and s0 has not heard of the decision. W writes on
// s1 and is answered. Then R begins, and reads on s0 first.
func answeredAndHidden(c *Cluster) {
	c.Hold("s1", "s0", "Decision")
	c.Put("T", 1, "p@0", "q@1")
	c.Put("W", 2, "y@1")
	r := c.Open("R", 3)
	r.Read("z@0")
	r.Read("y@1")
	r.End()
	c.Finish()
}

// TestAnsweredAndHidden: what R has read on s0 bounds nothing on s1. T, which
// s0 has not shown, concerns nobody who does not read its keys.
func TestAnsweredAndHidden(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	answeredAndHidden(c)
	before(t, c.Txn("W"), c.Txn("R"))
	require.Equal(t, Nothing, c.Txn("R").Saw("z@0"))
	require.Equal(t, "W", c.Txn("R").Saw("y@1"))
	fine(t, c)
}

// 5, where vectors are used: the scan P has every shard fix its index. s0 is
// late to be asked. W writes on the hot shard; when it is answered, V writes on
// s0.
func answeredAndHiddenFromAPin(c *Cluster) {
	c.Hold("n1", "s0", "Read")
	c.Scan("P", 1, "h@2", "x@0")
	c.Put("W", 2, "h@2")
	c.Put("V", 3, "x@0")
	c.Release("n1", "s0", "Read")
	c.Finish()
}

// TestAPinHidesNothingAnswered: a pin's vector is a bound too. It names a state
// because the hot shard, on which nobody is held, fixes its index when all
// others have.
func TestAPinHidesNothingAnswered(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	answeredAndHiddenFromAPin(c)
	before(t, c.Txn("W"), c.Txn("V"))
	require.Equal(t, "V", c.Txn("P").Saw("x@0"))
	require.Equal(t, "W", c.Txn("P").Saw("h@2"))
	fine(t, c)
}

// 6. One key on one shard. R, which stays open, has read it; W writes it. A
// reads it through one gateway; when A is answered, B does through another. A
// also tells a friend, F, who writes; R reads that.
func newThenOld(c *Cluster) (held int) {
	r := c.Open("R", 3)
	r.Read("x@0")
	c.Put("W", 1, "x@0")
	held = c.Held(0)
	c.Read("A", 1, "x@0")
	c.Read("B", 2, "x@0")
	c.Put("F", 2, "f@1")
	r.Read("f@1")
	r.End()
	c.Read("C", 1, "x@0")
	c.Read("D", 2, "x@0")
	c.Finish()
	return held
}

// TestNewThenOld: while R is open W waits unexecuted, and all gateways are told
// the value before it; afterwards all are told the value of W.
func TestNewThenOld(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := newThenOld(c)
	require.Equal(t, 1, held)
	for _, name := range []string{"R", "A", "B"} {
		require.Equal(t, Nothing, c.Txn(name).Saw("x@0"), name)
	}
	require.Equal(t, "F", c.Txn("R").Saw("f@1"))
	for _, name := range []string{"C", "D"} {
		before(t, c.Txn("R"), c.Txn(name))
		require.Equal(t, "W", c.Txn(name).Saw("x@0"), name)
	}
	require.Greater(t, c.Txn("W").Answered, c.Txn("R").Answered, "W was to wait for R")
	fine(t, c)
}

// 7. R, which stays open, has read x. W reads k and writes x. U overwrites k.
// When U is answered, or not, S writes z, and R reads that.
func waitNotInherited(c *Cluster) (held int) {
	r := c.Open("R", 3)
	r.Read("x@1")
	c.Update("W", 1, []string{"k@0"}, []string{"x@1"})
	held = c.Held(1)
	c.Put("U", 2, "k@0")
	c.Put("S", 3, "z@2")
	r.Read("z@2")
	r.End()
	c.Finish()
	return held
}

// TestWaitNotInherited: W waits for R with its read lock on k, and U, which has
// to come after W, waits for that lock.
func TestWaitNotInherited(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := waitNotInherited(c)
	r, w, u := c.Txn("R"), c.Txn("W"), c.Txn("U")
	require.Equal(t, 1, held)
	require.Equal(t, Nothing, w.Saw("k@0"))
	require.Equal(t, []string{Nothing, "S"}, []string{r.Saw("x@1"), r.Saw("z@2")})
	require.Greater(t, w.Answered, r.Answered, "W was to wait for R")
	require.Greater(t, u.Answered, w.Answered, "U was to wait for W")
	fine(t, c)
}
