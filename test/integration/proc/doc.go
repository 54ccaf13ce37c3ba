// Package proc runs linchpin's programs as processes for tests.
//
//	bin := proc.Build(t)
//	c := proc.StartCluster(t, proc.Options{Nodes: 3})
//	db := c.Open(t)
//	c.Node(2).Kill()
//	c.Node(2).Start(t)
//
// The programs are built once per test binary. A process ends at the latest when its test ends; it is
// signaled by its own id. On Linux the kernel ends it also if the test binary crashes. If a test fails, the
// end of the output of its processes is in the log of the test.
//
// A test fails if a process panics, reports a data race, or exits unexpectedly, also if the process was
// restarted afterwards. An exit is expected after Kill, Stop, Terminate, Wait and ExpectExit.
//
// Compare time bounds of less than some seconds with Elapsed, which does not count the time for which the
// machine was stalled by other load.
package proc
