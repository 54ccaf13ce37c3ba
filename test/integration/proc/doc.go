// Package proc runs linchpin's programs as processes for tests.
//
//	bin := proc.Build(t)
//	c := proc.StartCluster(t, proc.Options{Nodes: 3})
//	db := c.Open(t)
//	c.Node(2).Kill()
//	c.Node(2).Start(t)
//
// The programs are built once for all tests of a test binary. Every process is
// ended when its test ends, by its own id; on Linux the kernel ends it as well
// should the test binary die. What a failed test's processes wrote is shown in
// the test's log. A panic or a data race in any of them fails the test, and so
// does the end of one that nobody ended (Kill, Stop), waited for, or said may end,
// even where it was started again since.
//
// Bounds below some seconds are held against Took: machines that do other things as well
// stand still at times, and a test is to fail by its nodes.
package proc
