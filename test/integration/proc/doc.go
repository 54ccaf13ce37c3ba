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
// the test's log, and a panic or a data race in any of them fails the test.
package proc
