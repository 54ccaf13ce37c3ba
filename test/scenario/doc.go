// Package scenario runs single, hand-written schedules on the real machines. Where test/sim draws thousands of
// histories, a test here fixes one: which transaction begins when, which message is late, and what each transaction
// then reads. The schedules are those on which SSS as published is not externally consistent. docs/divergence.md
// describes them, and they also run on a small model of the published algorithm (published_test.go).
//
// # The cluster
//
// Node n1 has a gateway and shard s0, n2 has a gateway and shard s1, and so on. The last shard is the hot one; of two
// shards the one with the higher number decides. A key names its shard: "x@0" is on s0. Logs are durable at once.
//
// Nothing takes time. Each message is delivered at once, in the order of sending, so a call that does not have to wait
// has returned when its method returns. A test can stop messages (Hold) until it delivers them (Release). Time passes
// only in Pass.
//
// # A test
//
//	c := New(t, 2, mutant.Set{})
//	c.Hold("s1", "s0", "Decision")     // s0 does not receive the decision
//	c.Put("W", 1, "x@0", "y@1")        // through the gateway of n1
//	c.Read("A", 2, "y@1")              // one-shot
//	r := c.Open("R", 2); r.Read("x@0") // interactive
//	c.Release("s1", "s0", "Decision")
//	r.End()
//	c.Finish()
//	require.Equal(t, "W", c.Txn("A").ValueOf("y@1"))
//	require.True(t, c.Check().OK())
//
// Every value is the name of its writer. A failing test, or any with -v, prints all events, message by message.
package scenario
