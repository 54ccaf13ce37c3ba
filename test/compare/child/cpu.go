package child

import (
	"os"
	"time"

	"github.com/prometheus/procfs"
)

// CPU is the processor time that the process and its children have used; 0
// where there is no /proc.
func (p *Process) CPU() time.Duration {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0
	}
	sum := 0.0
	for _, one := range all {
		// Those that have just gone are not counted.
		if stat, err := one.Stat(); err == nil && (stat.PID == p.PID() || stat.PPID == p.PID()) {
			sum += stat.CPUTime()
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// OwnCPU is the processor time that this program has used.
func OwnCPU() time.Duration {
	self, err := procfs.NewProc(os.Getpid())
	if err != nil {
		return 0
	}
	stat, err := self.Stat()
	if err != nil {
		return 0
	}
	return time.Duration(stat.CPUTime() * float64(time.Second))
}
