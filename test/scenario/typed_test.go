package scenario

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Schedules in which a transaction would wait without end or need, or fail, if a rule about phases, wounds, lock plans
// or failures were broken. Each returns whether it ended well and in time. Of two transactions the one
// that begins first is older.

// timeLimit is far longer than any schedule takes, and shorter than a deadline.
const timeLimit = 500 * time.Millisecond

// sizeBehindACommit: A counts the members of x and then those of y. B has added one to y, and commits with an add to x.
// Each waits for the other. A is older: B is wounded and, although its commit request is in flight, aborts because it
// waits.
func sizeBehindACommit(c *Cluster) bool {
	a, b := c.Begin("A", 1), c.Begin("B", 2)
	a.Do(Call("x@0", "set.len"))
	b.Do(Call("y@1", "set.add-count", "b"))
	b.Do(Call("x@0", "set.add", "c"))
	b.End()
	a.Do(Call("y@1", "set.len"))
	c.Pass(timeLimit)
	return a.Completed == 2 && b.Ended != Never
}

// sizeBeforeACommit: B learns that it is wounded before it commits. So its prepare request for x, which waits for A,
// must carry "no wait".
func sizeBeforeACommit(c *Cluster) bool {
	a, b := c.Begin("A", 1), c.Begin("B", 2)
	a.Do(Call("x@0", "set.len"))
	b.Do(Call("y@1", "set.add-count", "b"))
	b.Do(Call("x@0", "set.add", "c"))
	a.Do(Call("y@1", "set.len"))
	b.End()
	c.Pass(timeLimit)
	return a.Completed == 2 && b.Ended != Never
}

// sizeBeforeAWaitingLastPiece is the same with the shards exchanged: the piece of the last agent waits. The wound from
// the other shard is lost.
func sizeBeforeAWaitingLastPiece(c *Cluster) bool {
	a, b := c.Begin("A", 1), c.Begin("B", 2)
	a.Do(Call("y@1", "set.len"))
	b.Do(Call("x@0", "set.add-count", "b"))
	b.Do(Call("y@1", "set.add", "c"))
	a.Do(Call("x@0", "set.len"))
	c.Hold("s0", "s1", "Wound")
	b.End()
	c.Pass(timeLimit)
	return a.Completed == 2 && b.Ended != Never
}

// sizeBehindAnIdleAdd: B has added to x, and stays idle. A, which is older, counts the members.
func sizeBehindAnIdleAdd(c *Cluster) bool {
	a, b := c.Begin("A", 1), c.Begin("B", 2)
	b.Do(Call("x@0", "set.add-count", "b"))
	a.Do(Call("x@0", "set.len"))
	c.Pass(3 * time.Second)
	return a.Completed == 1
}

// sizeBehindAPreparedAdd: B is prepared on x, and its piece on y waits for A, which has counted there and now counts x.
func sizeBehindAPreparedAdd(c *Cluster) bool {
	a := c.Begin("A", 1)
	a.Do(Call("y@1", "set.len"))
	b := c.Exec("B", 2, Call("x@0", "set.add", "b"), Call("y@1", "set.add", "b"))
	a.Do(Call("x@0", "set.len"))
	c.Pass(timeLimit)
	ended := a.Completed == 1+1
	a.End()
	c.Pass(timeLimit)
	return ended && b.Ended != Never
}

// sizeUnderAStreamOfAdds: A counts the members of x. At any time an add is prepared there, and adds are compatible with
// each other. They are decided on s1 and s2 by turns.
func sizeUnderAStreamOfAdds(c *Cluster) bool {
	a := c.Begin("A", 1)
	routes := []string{"s1", "s2"}
	c.Hold("s1", "s0", "Decision")
	for i := 0; i < 300 && a.Completed == 0; i++ {
		c.Hold(routes[1-i%2], "s0", "Decision")
		c.Exec(fmt.Sprint("T", i), 2, Call("x@0", "set.add", fmt.Sprint("m", i)),
			Call(fmt.Sprint("z@", 2-i%2), "set.add", fmt.Sprint("m", i)))
		if i == 0 {
			a.Do(Call("x@0", "set.len"))
		}
		c.Release(routes[i%2], "s0", "Decision")
		c.Pass(100 * time.Microsecond)
	}
	return a.Completed == 1
}

// twoBuyersOfTwo: A has bought one of two tickets, and is undecided. There is one for B, too, which need not wait.
func twoBuyersOfTwo(c *Cluster) bool {
	c.Exec("stock", 1, Call("x@0", "bounded-counter.create", 0, 2, 2))
	c.Hold("n1", "s1", "CommitRequest")
	c.Exec("A", 1, Call("x@0", "bounded-counter.try-subtract", 1), Call("y@1", "set.add", "a"))
	b := c.Exec("B", 2, Call("x@0", "bounded-counter.try-subtract", 1))
	return b.Ended != Never
}

// containsOfChangingMember: A queries whether a member is present, while others add and remove it. The lock that A
// needs changes whenever it has waited. It keeps the locks that it has, so it requests at most one more for each mode.
func containsOfChangingMember(c *Cluster) (bool, uint64) {
	a := c.Begin("A", 1)
	c.Hold("s1", "s0", "Decision")
	c.Exec("B", 2, Call("x@0", "set.add", "m"), Call("y@1", "set.add", "b"))
	a.Do(Call("x@0", "set.contains", "m"))
	for i := range 20 {
		method := "set.remove"
		if i%2 == 1 {
			method = "set.add"
		}
		c.Exec(fmt.Sprint("T", i), 2, Call("x@0", method, "m"))
	}
	c.Release("s1", "s0", "Decision")
	c.Pass(timeLimit)
	return a.Completed == 1 && a.Results[0].Int == 1, c.w.Shards[0].M.Status(0).Stats.Replanned
}

// readBehindADecision: x is a set. B deletes it and is decided, and its decision is in flight to x when A, who must not
// write x, counts its fields as of a map. The set is gone, so the error of a wrong type would be one of the past.
func readBehindADecision(c *Cluster) bool {
	c.Exec("new", 1, Call("x@0", "set.add", "a"))
	c.Hold("s1", "s0", "Decision")
	b := c.Exec("B", 1, msg.Op{Kind: msg.OpDelete, Key: []byte("x@0")}, Call("y@1", "set.add", "b"))
	a, read := c.Begin("A", 2), Call("x@0", "map.len")
	read.Unlocked = true
	a.Do(read)
	c.Release("s1", "s0", "Decision")
	c.Pass(timeLimit)
	return b.Ended != Never && a.Completed == 1
}

// typedSchedules are those that end in time unless a rule is broken.
var typedSchedules = []struct {
	name string
	play func(*Cluster) bool
	// broken lists sets of rules; without any of these sets the schedule does not end in time.
	broken [][]mutant.ID
}{
	{"a count behind a commit that waits for it", sizeBehindACommit,
		[][]mutant.ID{{mutant.NoWound}, {mutant.GatewayDropsWounds}}},
	{"a count before such a commit", sizeBeforeACommit, [][]mutant.ID{{mutant.NoWound},
		{mutant.PrepareWithoutWound, mutant.WoundsOnce}}},
	{"a count before such a commit that one shard decides", sizeBeforeAWaitingLastPiece, [][]mutant.ID{
		{mutant.NoWound}, {mutant.CommitRequestWithoutWound, mutant.WoundsOnce}}},
	{"a count behind an idle add", sizeBehindAnIdleAdd,
		[][]mutant.ID{{mutant.NoWound, mutant.NoPush}, {mutant.IdleWoundedContinues}}},
	{"a count behind an add that is prepared", sizeBehindAPreparedAdd,
		[][]mutant.ID{{mutant.NoWound}, {mutant.PreparedIsSafe}}},
	{"a count under a stream of adds", sizeUnderAStreamOfAdds, [][]mutant.ID{{mutant.NoPhaseCap}}},
	{"two buyers of two tickets", twoBuyersOfTwo, [][]mutant.ID{{mutant.OthersTwice}}},
	{"a read behind a decision", readBehindADecision, [][]mutant.ID{{mutant.LocklessFailuresFinal}}},
}

func TestTypedSchedulesEnd(t *testing.T) {
	for _, s := range typedSchedules {
		t.Run(s.name, func(t *testing.T) {
			c := New(t, 3, mutant.Set{})
			require.True(t, s.play(c))
			c.Finish()
		})
	}
}

func TestLockPlanIsRepeatedAtMostOncePerMode(t *testing.T) {
	c := New(t, 2, mutant.Set{})
	ended, replanned := containsOfChangingMember(c)
	require.True(t, ended)
	require.LessOrEqual(t, replanned, uint64(2))
	c.Finish()
}
