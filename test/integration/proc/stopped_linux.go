package proc

import (
	"bytes"
	"fmt"
	"os"
)

// isStopped reports whether a process is stopped. SIGSTOP takes effect when a thread of the process handles
// it.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // the process does not exist
	}
	// The state follows the name, which is in parentheses.
	at := bytes.LastIndexByte(stat, ')')
	return at >= 0 && len(stat) > at+2 && stat[at+2] == 'T'
}
