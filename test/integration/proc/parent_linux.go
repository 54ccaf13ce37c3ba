package proc

import "syscall"

// dieWithParent has the kernel end a child whose parent has ended.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
