//go:build !linux

package proc

import "syscall"

// killWithParent does nothing: only Linux has such a signal.
func killWithParent() *syscall.SysProcAttr { return nil }
