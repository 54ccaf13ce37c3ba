package scenario

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Schedules in which somebody would wait for ever, or for nothing, if a rule about
// phases, marks and plans were broken. Each says whether it ended well in time. The
// older transaction of two is the one that begins first.

// soon is far longer than any of them takes, and shorter than a deadline.
const soon = 500 * time.Millisecond

// sizeBehindACommit: A counts the members of x and then those of y. B has added
// one to y and commits, for which it has to add one to x, too. Each waits for the
// other. A is older: B is marked, and though its commit is on its way, dies where
// it waits.
func sizeBehindACommit(c *Cluster) bool {
	a, b := c.Begin("A", 1), c.Begin("B", 2)
	a.Do(Call("x@0", "set.len"))
	b.Do(Call("y@1", "set.add-count", "b"))
	b.Do(Call("x@0", "set.add", "c"))
	b.End()
	a.Do(Call("y@1", "set.len"))
	c.Pass(soon)
	return a.Done == 2 && b.Answered != Never
}

// sizeBeforeACommit: B hears that it is marked before it commits. Then its piece
// for x, which waits for A, has to say so.
func sizeBeforeACommit(c *Cluster) bool {
	a, b := c.Begin("A", 1), c.Begin("B", 2)
	a.Do(Call("x@0", "set.len"))
	b.Do(Call("y@1", "set.add-count", "b"))
	b.Do(Call("x@0", "set.add", "c"))
	a.Do(Call("y@1", "set.len"))
	b.End()
	c.Pass(soon)
	return a.Done == 2 && b.Answered != Never
}

// sizeBeforeAParkedPiece is the same with the shards exchanged: it is the piece
// for the shard that decides that waits. The mark from the other one is lost.
func sizeBeforeAParkedPiece(c *Cluster) bool {
	a, b := c.Begin("A", 1), c.Begin("B", 2)
	a.Do(Call("y@1", "set.len"))
	b.Do(Call("x@0", "set.add-count", "b"))
	b.Do(Call("y@1", "set.add", "c"))
	a.Do(Call("x@0", "set.len"))
	c.Hold("s0", "s1", "Wound")
	b.End()
	c.Pass(soon)
	return a.Done == 2 && b.Answered != Never
}

// sizeBehindAnIdleAdd: B has added to x, and does nothing more. A, which is older,
// wants to count.
func sizeBehindAnIdleAdd(c *Cluster) bool {
	a, b := c.Begin("A", 1), c.Begin("B", 2)
	b.Do(Call("x@0", "set.add-count", "b"))
	a.Do(Call("x@0", "set.len"))
	c.Pass(3 * time.Second)
	return a.Done == 1
}

// sizeBehindAPreparedAdd: B is prepared on x, and its piece on y waits for A, which
// has counted there and now wants to count x.
func sizeBehindAPreparedAdd(c *Cluster) bool {
	a := c.Begin("A", 1)
	a.Do(Call("y@1", "set.len"))
	b := c.Exec("B", 2, Call("x@0", "set.add", "b"), Call("y@1", "set.add", "b"))
	a.Do(Call("x@0", "set.len"))
	c.Pass(soon)
	ended := a.Done == 1+1
	a.End()
	c.Pass(soon)
	return ended && b.Answered != Never
}

// sizeUnderAStreamOfAdds: A wants to count the members of x. There is always
// somebody who is adding one and has prepared that, and they go together; the one
// half of them is decided on s1, the other on s2.
func sizeUnderAStreamOfAdds(c *Cluster) bool {
	a := c.Begin("A", 1)
	routes := []string{"s1", "s2"}
	c.Hold("s1", "s0", "Decision")
	for i := 0; i < 300 && a.Done == 0; i++ {
		c.Hold(routes[1-i%2], "s0", "Decision")
		c.Exec(fmt.Sprint("T", i), 2, Call("x@0", "set.add", fmt.Sprint("m", i)), Call(fmt.Sprint("z@", 2-i%2), "set.add", fmt.Sprint("m", i)))
		if i == 0 {
			a.Do(Call("x@0", "set.len"))
		}
		c.Release(routes[i%2], "s0", "Decision")
		c.Pass(100 * time.Microsecond)
	}
	return a.Done == 1
}

// twoBuyersOfTwo: A has bought one of two tickets, and is not decided yet. There
// is one for B, too, which need not wait.
func twoBuyersOfTwo(c *Cluster) bool {
	c.Exec("stock", 1, Call("x@0", "bounded-counter.create", 0, 2, 2))
	c.Hold("n1", "s1", "CommitRequest")
	c.Exec("A", 1, Call("x@0", "bounded-counter.try-subtract", 1), Call("y@1", "set.add", "a"))
	b := c.Exec("B", 2, Call("x@0", "bounded-counter.try-subtract", 1))
	return b.Answered != Never
}

// containsWhileItComesAndGoes: A asks whether a member is there, while others add
// and remove it. What A needs changes whenever it has waited; but what it has got it
// keeps, so that it asks once more at most for each kind of lock.
func containsWhileItComesAndGoes(c *Cluster) (bool, uint64) {
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
	c.Pass(soon)
	return a.Done == 1 && a.Answers[0].Int == 1, c.shards[0].machine.Snapshot(0).Stats.Replanned
}

// typedSchedules are those that end well unless a rule is broken.
var typedSchedules = []struct {
	name string
	play func(*Cluster) bool
	// broken are the rules without any of which it does not.
	broken [][]mutant.ID
}{
	{"a count behind a commit that waits for it", sizeBehindACommit, [][]mutant.ID{{mutant.NoWound}, {mutant.GatewayDropsMarks}}},
	{"a count before such a commit", sizeBeforeACommit, [][]mutant.ID{{mutant.NoWound}, {mutant.PrepareWithoutMark, mutant.MarksOnce}}},
	{"a count before such a commit that one shard decides", sizeBeforeAParkedPiece, [][]mutant.ID{
		{mutant.NoWound}, {mutant.ParkWithoutMark, mutant.MarksOnce}}},
	{"a count behind an add that does nothing more", sizeBehindAnIdleAdd, [][]mutant.ID{{mutant.NoWound}, {mutant.NoIdleGrace}}},
	{"a count behind an add that is prepared", sizeBehindAPreparedAdd, [][]mutant.ID{{mutant.NoWound}, {mutant.PreparedIsSafe}}},
	{"a count under a stream of adds", sizeUnderAStreamOfAdds, [][]mutant.ID{{mutant.NoPhaseCap}}},
	{"two buyers of two tickets", twoBuyersOfTwo, [][]mutant.ID{{mutant.OthersTwice}}},
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

func TestAPlannedCallAsksOnceMoreAtMost(t *testing.T) {
	c := New(t, 2, mutant.Set{})
	ended, replanned := containsWhileItComesAndGoes(c)
	require.True(t, ended)
	require.LessOrEqual(t, replanned, uint64(2))
	c.Finish()
}
