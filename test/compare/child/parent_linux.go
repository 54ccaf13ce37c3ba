package child

import "syscall"

// dieWithParent has the kernel end a child whose parent has ended.
func dieWithParent(a *syscall.SysProcAttr, by syscall.Signal) {
	if by == 0 {
		by = syscall.SIGKILL
	}
	a.Pdeathsig = by
}
