package proc

import "syscall"

// killWithParent makes the kernel kill a child whose parent has ended.
func killWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
