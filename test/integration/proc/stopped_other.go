//go:build !linux

package proc

// stopped takes it on trust that a process that was told to stop has.
func stopped(int) bool { return true }
