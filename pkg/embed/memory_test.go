package embed

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// machine writes the files with which a machine describes its memory.
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
		"a machine": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "max\n"}, 16 << 30, false},
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
	for _, cgo := range []bool{false, true} {
		for _, c := range []struct{ budget, cache int64 }{{512 << 20, 0}, {512 << 20, 16 << 20}, {1 << 30, 256 << 20},
			{12 << 30, 0}, {64 << 30, 8 << 30}, {16 << 30, 7 << 30}} {
			p, err := planMemory(c.budget, c.cache, cgo)
			require.NoError(t, err)
			counted, uncounted := p.cache, int64(0)
			if cgo {
				counted, uncounted = 0, p.cache
			}
			require.LessOrEqual(t, 2*p.cache+fixedMemory+2*p.callers, p.budget)
			require.LessOrEqual(t, p.limit+uncounted, p.budget)
			require.Greater(t, p.bound, p.limit)
			require.Greater(t, p.limit, counted+p.callers, "a full cache is no pressure")
		}
	}
	p, err := planMemory(0, 0, withCgo)
	require.NoError(t, err)
	require.Positive(t, p.callers)
	_, err = planMemory(512<<20, 256<<20, withCgo)
	require.ErrorContains(t, err, "--memory-budget")
	require.ErrorContains(t, err, "--cache-mb")
}

// TestHowMuchMemoryIsNeeded: with what an error says to give, there is enough, and not
// much more.
func TestHowMuchMemoryIsNeeded(t *testing.T) {
	for _, cache := range []int64{0, 16 << 20, 256 << 20} {
		p, err := planMemory(1<<30, cache, withCgo)
		require.NoError(t, err)
		for callers := int64(leastCallers); callers <= maxCallers; callers += 999_999 {
			needed, err := planMemory(p.needed(callers), cache, withCgo)
			require.NoError(t, err)
			require.GreaterOrEqual(t, needed.callers, callers)
			require.LessOrEqual(t, needed.callers, callers+16)
		}
		require.Zero(t, p.needed(maxCallers+1))
	}
}

// TestDocumentedPartsOfTheMemory: docs/security.md has these numbers, in MiB.
func TestDocumentedPartsOfTheMemory(t *testing.T) {
	const openCall = 224 << 10
	for budget, want := range map[int64][]int64{
		512:       {64, 12, 10, 8, 4, 102, 46},
		1 << 10:   {192, 38, 30, 24, 12, 307, 138},
		2 << 10:   {448, 89, 70, 56, 16, 716, 323},
		4 << 10:   {1024, 204, 161, 128, 16, 1638, 512},
		128 << 10: {1024, 204, 161, 128, 16, 1638, 512},
	} {
		p, err := planMemory(budget<<20, 0, withCgo)
		require.NoError(t, err)
		b := memory.New(p.callers)
		request := b.Conn().Account("u").Most()
		takes := func(k memory.Kind, n int64, conns int) (times int64) {
			var accounts []*memory.Account
			for range conns {
				accounts = append(accounts, b.Conn().Account("v"))
			}
			for _, a := range accounts {
				had := times
				for ; a.Take(k, n) == nil; times++ {
				}
				defer a.Give(k, n*(times-had))
			}
			return times
		}
		const step = 64 << 10
		got := []int64{p.callers >> 20, takes(memory.Answers, step, 10) * step >> 20,
			takes(memory.Answers, step, 1) * step >> 20, request >> 20,
			min(request/2, kv.MaxTxnBytes) >> 20, takes(memory.Connections, guard.ConnBytes, 10),
			min(takes(memory.Streams, openCall, 1), 512)}
		require.Equal(t, want, got, "with %d MiB", budget)
	}
}

func TestPressure(t *testing.T) {
	require.False(t, (&pressure{bound: 1 << 60}).high())
	require.True(t, (&pressure{bound: 1}).high())
}

// TestPressureEnds: a process that has too much, all of it garbage, has not for long, though
// nothing is allocated that would have it collected.
func TestPressureEnds(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	p := pressure{bound: held() + 32<<20}
	require.False(t, p.high())
	garbage := make([]byte, 96<<20)
	for i := 0; i < len(garbage); i += 4096 {
		garbage[i] = 1
	}
	runtime.KeepAlive(garbage)
	require.Eventually(t, p.high, time.Second, lookEvery)
	require.Eventually(t, func() bool { return !p.high() }, 20*time.Second, lookEvery)
}
