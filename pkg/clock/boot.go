package clock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Boot identifies the origin of Now: processes with the same Boot may compare their Now. It consists of the
// machine's boot id, which is random for each boot, and the offsets of the process's time namespace, which
// a container may have.
func Boot() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("clock: the boot id cannot be read: %w", err)
	}
	offsets, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without time namespaces
		return "", fmt.Errorf("clock: the time namespace cannot be read: %w", err)
	}
	return string(id) + string(offsets), nil
}
