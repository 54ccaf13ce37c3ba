package embed

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// unknownMemory is assumed for a machine whose memory cannot be read, in bytes.
const unknownMemory = 4 << 30

// defaultBudget is the share of a machine's memory, or of a control group's, that a node
// takes: a group is made for it, and a machine has other programs.
func defaultBudget(total int64, group bool) int64 {
	if group {
		return total / 4 * 3
	}
	return total / 2
}

// MachineMemory is machineMemory of the machine that this is.
func MachineMemory() int64 {
	total, _ := machineMemory("/")
	return total
}

// machineMemory is how much memory this process can have, in bytes: the machine's, or
// less if its control group has a bound. root is where files begin.
func machineMemory(root string) (total int64, group bool) {
	total = memTotal(filepath.Join(root, "proc/meminfo"))
	if total == 0 {
		total = unknownMemory
	}
	for _, f := range groupFiles(root) {
		if n := bound(f); n > 0 && n < total {
			total, group = n, true
		}
	}
	return total, group
}

// memTotal reads /proc/meminfo; it is 0 if there is none.
func memTotal(name string) int64 {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) >= 2 && words[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// groupFiles are the files with the bounds of the process's control group and of those
// that it is in. Within a container the group's own files are often at the top.
func groupFiles(root string) (files []string) {
	const mount = "sys/fs/cgroup"
	own, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	for _, line := range strings.Split(string(own), "\n") {
		parts := strings.SplitN(line, ":", 3) // number:controllers:path
		if len(parts) < 3 {
			continue
		}
		dir, file := mount, "memory.max"
		switch {
		case parts[1] == "memory": // version 1
			dir, file = path.Join(mount, "memory"), "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			files = append(files, filepath.Join(root, dir, at, file))
			if at == "/" {
				break
			}
		}
	}
	return files
}

// bound reads a bound, 0 if there is none.
func bound(name string) int64 {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0 // "max"
	}
	return n
}
