package soak

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// The quantities that may not grow.
const (
	goroutines  = "goroutines"
	descriptors = "file descriptors"
	heap        = "heap after collection, MiB"
	resident    = "resident memory, MiB"
	inUse       = "resident memory in use, MiB"
	disk        = "store on disk, MiB"
)

const mib = 1 << 20

// quantity is a quantity that is sampled after each round.
type quantity struct {
	name string
	// metric is the metric of the nodes, converted to unit; minus are metrics that are subtracted from it.
	// usual is a typical value, for tests.
	metric      string
	minus       map[string]float64
	unit, usual float64
	limit       Limit
	// persistent: the quantity survives a restart of the process.
	persistent bool
}

// quantities are the quantities and the bounds of their growth within one run of a process. A process may
// grow for twelve minutes, because outcomes are retained for ten. In shorter soaks the warmup is a quarter
// of the time, with the same bounds.
//
// Resident memory includes what the heap holds idle and the runtime has not returned. Without it the value
// depends less on the time of the last collection, so the memory in use has a tighter bound.
var quantities = []quantity{
	{name: goroutines, metric: "go_goroutines", unit: 1, usual: 150, limit: Limit{Growth: 25, Settle: 2 * time.Minute}},
	{name: descriptors, metric: "process_open_fds", unit: 1, usual: 60, limit: Limit{Growth: 25, Settle: 2 * time.Minute}},
	{name: heap, metric: "go_memstats_heap_alloc_bytes", unit: mib, usual: 40,
		limit: Limit{Growth: 16, Share: 0.1, Settle: 12 * time.Minute}},
	{name: resident, metric: "process_resident_memory_bytes", unit: mib, usual: 200,
		limit: Limit{Growth: 48, Share: 0.15, Settle: 12 * time.Minute}},
	{name: inUse, metric: "process_resident_memory_bytes",
		minus: map[string]float64{"go_memstats_heap_idle_bytes": 1, "go_memstats_heap_released_bytes": -1},
		unit:  mib, usual: 150, limit: Limit{Growth: 24, Share: 0.1, Settle: 12 * time.Minute}},
	{name: disk, metric: "linchpin_store_disk_bytes", unit: mib, usual: 100,
		limit: Limit{Growth: 32, Share: 0.5, Settle: 12 * time.Minute}, persistent: true},
}

func quantityOf(name string) quantity {
	for _, q := range quantities {
		if q.name == name {
			return q
		}
	}
	panic("no quantity " + name)
}

// value returns the quantity of a node with these metrics.
func (q *quantity) value(m map[string]float64) (float64, error) {
	v, ok := m[q.metric]
	if !ok {
		return 0, fmt.Errorf("no metric %s", q.metric)
	}
	for name, times := range q.minus {
		part, ok := m[name]
		if !ok {
			return 0, fmt.Errorf("no metric %s", name)
		}
		v -= times * part
	}
	return v / q.unit, nil
}

// samples are the samples of one quantity of one process.
type samples struct {
	process  string
	quantity quantity
	all      []Sample
}

// sampler collects samples.
type sampler struct {
	begin time.Time
	all   []*samples
}

func (s *sampler) add(process string, q quantity, run int, v float64) {
	if q.persistent {
		run = 0
	}
	sample := Sample{At: time.Since(s.begin), Run: run, Value: v}
	for _, existing := range s.all {
		if existing.process == process && existing.quantity.name == q.name {
			existing.all = append(existing.all, sample)
			return
		}
	}
	s.all = append(s.all, &samples{process, q, []Sample{sample}})
}

// A sample is the least of several readings at an interval, because a temporary connection or compaction is
// no leak.
const (
	readingsPerSample = 5
	readingInterval   = 200 * time.Millisecond
)

// node samples a node in its given run.
func (s *sampler) node(ctx context.Context, t testing.TB, process string, n *proc.Node, run int) {
	t.Helper()
	if _, err := profileOf(ctx, n, "heap?gc=1"); err != nil { // collects garbage first
		t.Errorf("%s: %v", process, err)
		return
	}
	least := map[string]float64{}
	for i := range readingsPerSample {
		if i > 0 {
			workload.Sleep(ctx, readingInterval)
		}
		m, err := n.Metrics(ctx)
		if err != nil {
			t.Errorf("%s: %v", process, err)
			return
		}
		for _, q := range quantities {
			v, err := q.value(m)
			if err != nil {
				t.Errorf("%s: %v", process, err)
			}
			if existing, again := least[q.name]; !again || v < existing {
				least[q.name] = v
			}
		}
	}
	for _, q := range quantities {
		s.add(process, q, run, least[q.name])
	}
}

// clients samples this process, which runs all clients.
func (s *sampler) clients() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.add("clients", quantityOf(goroutines), 0, float64(runtime.NumGoroutine()))
	s.add("clients", quantityOf(heap), 0, float64(m.HeapAlloc)/mib)
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.add("clients", quantityOf(descriptors), 0, float64(len(files)))
	}
}

// checkGrowth checks all quantities against their bounds. In a short soak the warmup is shorter.
func (s *sampler) checkGrowth(t testing.TB, duration time.Duration) (lines []string) {
	t.Helper()
	for _, existing := range s.all {
		l := existing.quantity.limit
		l.Settle = min(l.Settle, duration/4)
		v := CheckGrowth(existing.all, l)
		line := fmt.Sprintf("%-9s %-28s %v", existing.process, existing.quantity.name, v)
		if !v.Flat {
			t.Errorf("growth: %s", line)
		}
		if v.Enough {
			lines = append(lines, line)
		}
	}
	if lines == nil {
		lines = []string{"too few samples to detect growth"}
	}
	return lines
}

// profileOf reads a profile of a node.
func profileOf(ctx context.Context, n *proc.Node, profile string) (string, error) {
	status, text, err := n.Get(ctx, "/debug/pprof/"+profile)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("profile %s: status %d", profile, status)
	}
	return text, err
}

// profiles are saved after a failure: the stacks of all goroutines and the heap.
var profiles = map[string]string{"goroutines": "goroutine?debug=2", "heap": "heap"}

func saveProfiles(ctx context.Context, t testing.TB, n *proc.Node, dir, name string) {
	for what, profile := range profiles {
		text, err := profileOf(ctx, n, profile)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+"."+what), []byte(text), 0o644)
		}
		if err != nil {
			t.Logf("%s of %s: %v", what, name, err)
		}
	}
}
