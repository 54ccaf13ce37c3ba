// Package scenario plays single schedules, by hand, on the real machines. Where
// test/sim draws thousands of histories, a test here tells one: who begins
// when, which message is late, and what everybody then sees. The schedules are
// those on which SSS as published is not externally consistent; they are told
// in docs/divergence.md, and played on a small model of the published algorithm
// too (published_test.go).
//
// # The cluster
//
// Node n1 has a gateway and shard s0, n2 has a gateway and shard s1, and so on.
// The last shard is the hot one; of two shards the one with the higher number
// decides. A key says where it lives: "x@0" is on s0. Logs are durable at once.
//
// Nothing takes time, and whatever is sent arrives at once, in the order in
// which it was sent: so a call that nothing stands in the way of has its answer
// when the method that makes it returns. What the test holds back (Hold) waits
// until it is let go (Release). Time passes only when the test says so (Pass).
//
// # A test
//
//	c := New(t, 2, mutant.Set{})
//	c.Hold("s1", "s0", "Decision")       // s0 does not hear of the decision
//	c.Put("W", 1, "x@0", "y@1")        // through the gateway of n1
//	c.Read("A", 2, "y@1")              // one shot
//	r := c.Open("R", 2); r.Read("x@0") // interactive
//	c.Release("s1", "s0", "Decision")
//	r.End()
//	c.Finish()
//	require.Equal(t, "W", c.Txn("A").Saw("y@1"))
//	require.True(t, c.Judge().OK())
//
// Every value written is the name of its writer. A failing test prints what
// happened, message by message; so does -v.
package scenario
