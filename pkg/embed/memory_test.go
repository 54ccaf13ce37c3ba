package embed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine writes the files in which a machine tells of its memory.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	return root
}

func TestTheMemoryOfMachines(t *testing.T) {
	const meminfo = "MemTotal:       16777216 kB\nMemFree:  1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		total int64
		group bool
	}{
		"nothing is told": {nil, unknownMemory, false},
		"a machine":       {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 16 << 30, false},
		"a container with version 2": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30, true},
		"the group above has less": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "2147483648\n"}, 2 << 30, true},
		"version 1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu,cpuacct:/a\n2:memory:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "536870912\n"}, 512 << 20, true},
		"version 1 without a bound": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "2:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16 << 30, false},
	} {
		t.Run(name, func(t *testing.T) {
			total, group := machineMemory(machine(t, c.files))
			require.Equal(t, c.total, total)
			require.Equal(t, c.group, group)
		})
	}
	total, _ := machineMemory("/")
	require.Greater(t, total, int64(256<<20), "this one")
}

// TestMemoryIsDealtOut: the parts are no more than the whole, also with what callers
// have twice for a moment.
func TestMemoryIsDealtOut(t *testing.T) {
	for _, c := range []struct{ budget, cache int64 }{{512 << 20, 0}, {512 << 20, 16 << 20}, {1 << 30, 256 << 20}, {12 << 30, 0}, {64 << 30, 8 << 30}} {
		p, err := planMemory(c.budget, c.cache)
		require.NoError(t, err)
		require.LessOrEqual(t, 2*p.cache+fixedMemory+2*p.callers, p.budget)
		require.LessOrEqual(t, p.limit+p.cache, p.budget)
		require.Greater(t, int64(newPressure(p).bound), p.limit)
	}
	p, err := planMemory(0, 0)
	require.NoError(t, err)
	require.Positive(t, p.callers)
	_, err = planMemory(512<<20, 256<<20)
	require.ErrorContains(t, err, "--memory-budget")
	require.ErrorContains(t, err, "--cache-mb")
}

// TestHowMuchMemoryIsNeeded: with what an error says to give, there is enough, and not
// much more.
func TestHowMuchMemoryIsNeeded(t *testing.T) {
	for _, cache := range []int64{0, 16 << 20, 256 << 20} {
		p, err := planMemory(1<<30, cache)
		require.NoError(t, err)
		for callers := int64(leastCallers); callers <= maxCallers; callers += 999_999 {
			needed, err := planMemory(p.needed(callers), cache)
			require.NoError(t, err)
			require.GreaterOrEqual(t, needed.callers, callers)
			require.LessOrEqual(t, needed.callers, callers+16)
		}
		require.Zero(t, p.needed(maxCallers+1))
	}
}

func TestPressure(t *testing.T) {
	require.False(t, (&pressure{bound: 1 << 60}).high())
	require.True(t, (&pressure{bound: 1}).high())
}
