//go:build !linux

package child

import "syscall"

// dieWithParent does nothing where the kernel cannot do it.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
