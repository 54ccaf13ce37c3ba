package proc

import (
	"bytes"
	"fmt"
	"os"
)

// stopped reports whether a process has been stopped. It is told to by a signal, which
// one of its threads has to see first.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // there is none
	}
	// The state follows the name, which is in parentheses.
	at := bytes.LastIndexByte(stat, ')')
	return at >= 0 && len(stat) > at+2 && stat[at+2] == 'T'
}
