package scenario

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Each schedule is a function, so that it can also run with a broken rule (mutants_test.go). All its transactions end.
// The numbers are those of docs/divergence.md, and the names those of published_test.go, which runs the same schedules
// on the published algorithm.

// requireConsistent ends a test: there is an order that explains all results.
func requireConsistent(t *testing.T, c *Cluster) {
	t.Helper()
	v := c.Check()
	require.True(t, v.OK() && v.Exact, "%v", v)
	for _, x := range c.txns {
		require.Empty(t, x.Failed, x.Name)
	}
}

// requireEndsBefore requires that one transaction ended before another began, so that real time orders them.
func requireEndsBefore(t *testing.T, a, b *Txn) {
	t.Helper()
	require.Less(t, a.Ended, b.Started, "%s must end before %s begins", a.Name, b.Name)
}

// 1. W writes on two shards, and the decision is late at s0. A reads where W is visible; then B reads on s0.
func nodeByNode(c *Cluster) (decisionAt int64) {
	c.Hold("s1", "s0", "Decision")
	c.Put("W", 1, "x@0", "y@1")
	c.Read("A", 2, "y@1")
	c.Read("B", 3, "x@0")
	c.Pass(100 * time.Millisecond)
	decisionAt = c.Release("s1", "s0", "Decision")
	c.Finish()
	return decisionAt
}

// TestVisibleNodeByNode: B waits on s0, where W is sealed, until the decision arrives. It does not read the state
// before W.
func TestVisibleNodeByNode(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	decisionAt := nodeByNode(c)
	w, a, b := c.Txn("W"), c.Txn("A"), c.Txn("B")
	requireEndsBefore(t, w, a) // W has ended at F, although it is not visible on s0
	requireEndsBefore(t, a, b)
	require.Equal(t, "W", a.ValueOf("y@1"))
	require.Equal(t, "W", b.ValueOf("x@0"))
	require.Less(t, b.Started, decisionAt)
	require.Greater(t, b.Ended, decisionAt, "B must wait for the decision")
	requireConsistent(t, c)
}

// 1, with one reader of both keys.
func halfOfAnUpdate(c *Cluster) {
	c.Hold("s1", "s0", "Decision")
	c.Put("W", 1, "x@0", "y@1")
	c.Read("A", 2, "x@0", "y@1")
	c.Pass(100 * time.Millisecond)
	c.Finish()
}

// TestReaderSeesUpdatesCompletely: what A reads on s1 at once is consistent with what it waits for on s0.
func TestReaderSeesUpdatesCompletely(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	halfOfAnUpdate(c)
	a := c.Txn("A")
	requireEndsBefore(t, c.Txn("W"), a)
	require.Equal(t, []string{"W", "W"}, []string{a.ValueOf("x@0"), a.ValueOf("y@1")})
	requireConsistent(t, c)
}

// TestUndecidedUpdateIsUnsealed: W is undecided because its piece for L is late. Then a reader of s0 waits only until L
// has dropped the epoch of W's vote. It reads the state before W, and W, which is now held, is decided after the
// reader.
func TestUndecidedUpdateIsUnsealed(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	c.Hold("n1", "s1", "CommitRequest")
	w := c.Put("W", 1, "x@0", "y@1")
	b := c.Read("B", 3, "x@0")
	require.Equal(t, Never, b.Ended)
	c.Pass(5 * time.Millisecond)
	require.NotEqual(t, Never, b.Ended)
	require.Equal(t, Nothing, b.ValueOf("x@0"))
	require.Equal(t, Never, w.Ended)
	a := c.Read("A", 2, "y@1")
	require.Equal(t, Nothing, a.ValueOf("y@1"))
	c.Finish()
	requireConsistent(t, c)
}

// 2. R stays open and has read one of two keys that W writes. A reads the other one, where nothing holds W; then B
// reads the first.
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

// TestHeldInOnePlace: W's vote from s0 reports that it is held, so s1 does not decide, and W is not visible on s1
// either.
func TestHeldInOnePlace(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := heldInOnePlace(c)
	r, w, a, b := c.Txn("R"), c.Txn("W"), c.Txn("A"), c.Txn("B")
	require.Equal(t, 1, held)
	requireEndsBefore(t, a, b)
	require.Equal(t, Nothing, a.ValueOf("y@1"))
	require.Equal(t, Nothing, b.ValueOf("x@0"))
	require.Greater(t, w.Ended, r.Ended, "W must wait for R")
	requireConsistent(t, c)
}

// 3. R has read a. V writes another key of that shard, T writes a, and when both have ended, or T is held, U writes on
// another shard. R then reads what V and U wrote.
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

// TestSecondKeyOnANode: the read of a protects a only: T waits, V does not. R reads the current b, V included.
func TestSecondKeyOnANode(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := secondKeyOnANode(c)
	r, v, u, w := c.Txn("R"), c.Txn("V"), c.Txn("U"), c.Txn("T")
	require.Equal(t, 1, held, "T must be held, V must not")
	requireEndsBefore(t, v, u)
	require.Less(t, u.Ended, r.Ended)
	require.Equal(t, "U", r.ValueOf("c@1"))
	require.Equal(t, "V", r.ValueOf("b@0"))
	require.Equal(t, Nothing, r.ValueOf("a@0"))
	require.Greater(t, w.Ended, r.Ended, "T must wait for R")
	requireConsistent(t, c)
}

// 4. A has read one of two keys of W, B one of two keys of X. Then each reads the other key of the update that it does
// not hold.
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

// TestOppositeOrders: neither update is decided before the reader that holds it has ended, so neither reader sees one
// without the other.
func TestOppositeOrders(t *testing.T) {
	c := New(t, 4, mutant.Set{})
	held := oppositeOrders(c)
	require.Equal(t, [4]int{1, 1, 0, 0}, held)
	a, b := c.Txn("A"), c.Txn("B")
	require.Equal(t, []string{Nothing, Nothing}, []string{a.ValueOf("a@0"), a.ValueOf("d@3")})
	require.Equal(t, []string{Nothing, Nothing}, []string{b.ValueOf("b@1"), b.ValueOf("c@2")})
	require.Greater(t, c.Txn("W").Ended, a.Ended, "W must wait for A")
	require.Greater(t, c.Txn("X").Ended, b.Ended, "X must wait for B")
	requireConsistent(t, c)
}

// 5. T writes on two shards, and s0 has not received the decision. W writes on s1 and ends. Then R begins, and reads on
// s0 first.
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

// TestAnsweredAndHidden: R's read on s0 does not bound its read on s1. T, which is not visible on s0 yet, only affects
// transactions that read its keys.
func TestAnsweredAndHidden(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	answeredAndHidden(c)
	requireEndsBefore(t, c.Txn("W"), c.Txn("R"))
	require.Equal(t, Nothing, c.Txn("R").ValueOf("z@0"))
	require.Equal(t, "W", c.Txn("R").ValueOf("y@1"))
	requireConsistent(t, c)
}

// 5, with vectors: the scan P fixes the CSN of every shard, and its request to s0 is late. W writes on the hot shard;
// when it has ended, V writes on s0.
func answeredAndHiddenFromScan(c *Cluster) {
	c.Hold("n1", "s0", "Read")
	c.Scan("P", 1, "h@2", "x@0")
	c.Put("W", 2, "h@2")
	c.Put("V", 3, "x@0")
	c.Release("n1", "s0", "Read")
	c.Finish()
}

// TestSnapshotContainsAcknowledgedUpdates: the vector of a snapshot is a bound too. It names a state because the hot
// shard, which holds no update for it, fixes its CSN after all others.
func TestSnapshotContainsAcknowledgedUpdates(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	answeredAndHiddenFromScan(c)
	requireEndsBefore(t, c.Txn("W"), c.Txn("V"))
	require.Equal(t, "V", c.Txn("P").ValueOf("x@0"))
	require.Equal(t, "W", c.Txn("P").ValueOf("h@2"))
	requireConsistent(t, c)
}

// 6. One key on one shard. R stays open and has read it; W writes it. A reads it through one gateway; when A has ended,
// B reads it through another one. A causes F to write another key, which R reads.
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

// TestNewThenOld: while R is open W waits unexecuted, and reads through all gateways return the value before it;
// afterwards all return the value of W.
func TestNewThenOld(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := newThenOld(c)
	require.Equal(t, 1, held)
	for _, name := range []string{"R", "A", "B"} {
		require.Equal(t, Nothing, c.Txn(name).ValueOf("x@0"), name)
	}
	require.Equal(t, "F", c.Txn("R").ValueOf("f@1"))
	for _, name := range []string{"C", "D"} {
		requireEndsBefore(t, c.Txn("R"), c.Txn(name))
		require.Equal(t, "W", c.Txn(name).ValueOf("x@0"), name)
	}
	require.Greater(t, c.Txn("W").Ended, c.Txn("R").Ended, "W must wait for R")
	requireConsistent(t, c)
}

// 7. R stays open and has read x. W reads k and writes x. U overwrites k. When U has ended, or waits, S writes z, and R
// reads that.
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

// TestWaitNotInherited: W waits for R with its read lock on k, and U, which must follow W, waits for that lock.
func TestWaitNotInherited(t *testing.T) {
	c := New(t, 3, mutant.Set{})
	held := waitNotInherited(c)
	r, w, u := c.Txn("R"), c.Txn("W"), c.Txn("U")
	require.Equal(t, 1, held)
	require.Equal(t, Nothing, w.ValueOf("k@0"))
	require.Equal(t, []string{Nothing, "S"}, []string{r.ValueOf("x@1"), r.ValueOf("z@2")})
	require.Greater(t, w.Ended, r.Ended, "W must wait for R")
	require.Greater(t, u.Ended, w.Ended, "U must wait for W")
	requireConsistent(t, c)
}
