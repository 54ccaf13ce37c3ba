//go:build !linux

package proc

import "syscall"

// killWithParent does nothing: only Linux has such a signal.
func dieWithParent() *syscall.SysProcAttr { return nil }
