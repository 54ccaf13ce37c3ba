//go:build !linux

package proc

import "syscall"

// dieWithParent does nothing where the kernel cannot do it.
func dieWithParent() *syscall.SysProcAttr { return nil }
