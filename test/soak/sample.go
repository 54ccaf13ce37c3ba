package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// The quantities that are to be flat.
const (
	goroutines  = "goroutines"
	descriptors = "file descriptors"
	heap        = "heap after collection, MiB"
	resident    = "resident memory, MiB"
	inUse       = "resident memory in use, MiB"
	disk        = "store on disk, MiB"
)

const mib = 1 << 20

// quantity is something that is sampled after each round.
type quantity struct {
	name string
	// metric is that of the nodes, in units of unit, and without are others that
	// are taken from it. Usual is about what there is, for tests.
	metric      string
	without     map[string]float64
	unit, usual float64
	limit       Limit
	// lasting: it outlives the process.
	lasting bool
}

// quantities and what they may grow by, while the same process lives. A process
// is expected to gather for twelve minutes: outcomes are kept for ten. In
// shorter soaks it has a quarter of the time, and the limits are as wide. What the
// heap holds idle, and the runtime has not given back yet, is resident; without it
// there is less to be seen of when the last collection happened to be, and so what
// is in use may grow by less.
var quantities = []quantity{
	{name: goroutines, metric: "go_goroutines", unit: 1, usual: 150, limit: Limit{Growth: 25, Settle: 2 * time.Minute}},
	{name: descriptors, metric: "process_open_fds", unit: 1, usual: 60, limit: Limit{Growth: 25, Settle: 2 * time.Minute}},
	{name: heap, metric: "go_memstats_heap_alloc_bytes", unit: mib, usual: 40, limit: Limit{Growth: 16, Share: 0.1, Settle: 12 * time.Minute}},
	{name: resident, metric: "process_resident_memory_bytes", unit: mib, usual: 200, limit: Limit{Growth: 48, Share: 0.15, Settle: 12 * time.Minute}},
	{name: inUse, metric: "process_resident_memory_bytes", without: map[string]float64{"go_memstats_heap_idle_bytes": 1, "go_memstats_heap_released_bytes": -1},
		unit: mib, usual: 150, limit: Limit{Growth: 24, Share: 0.1, Settle: 12 * time.Minute}},
	{name: disk, metric: "linchpin_store_disk_bytes", unit: mib, usual: 100, limit: Limit{Growth: 32, Share: 0.5, Settle: 12 * time.Minute}, lasting: true},
}

func quantityOf(name string) quantity {
	for _, q := range quantities {
		if q.name == name {
			return q
		}
	}
	panic("no quantity " + name)
}

// of is the quantity of a node that has these metrics.
func (q *quantity) of(m map[string]float64) (float64, error) {
	v, ok := m[q.metric]
	if !ok {
		return 0, fmt.Errorf("it has no metric %s", q.metric)
	}
	for name, times := range q.without {
		part, ok := m[name]
		if !ok {
			return 0, fmt.Errorf("it has no metric %s", name)
		}
		v -= times * part
	}
	return v / q.unit, nil
}

// samples are those of one quantity of one process.
type samples struct {
	who      string
	quantity quantity
	all      []Sample
}

// sampler gathers samples.
type sampler struct {
	begin time.Time
	all   []*samples
}

func (s *sampler) add(who string, q quantity, life int, v float64) {
	if q.lasting {
		life = 0
	}
	sample := Sample{At: time.Since(s.begin), Life: life, Value: v}
	for _, have := range s.all {
		if have.who == who && have.quantity.name == q.name {
			have.all = append(have.all, sample)
			return
		}
	}
	s.all = append(s.all, &samples{who, q, []Sample{sample}})
}

// looks is how often a process is looked at for a sample, and pace how long
// after each other: the least counts, since a connection or a compaction that
// happens to be there is no leak.
const (
	looks = 5
	pace  = 200 * time.Millisecond
)

// node samples a node, whose process is the life-th.
func (s *sampler) node(ctx context.Context, t testing.TB, who string, n *proc.Node, life int) {
	t.Helper()
	if err := get(ctx, n, "heap?gc=1", io.Discard); err != nil { // it collects first
		t.Errorf("%s: %v", who, err)
		return
	}
	least := map[string]float64{}
	for i := range looks {
		if i > 0 {
			workload.Sleep(ctx, pace)
		}
		m, err := n.Metrics(ctx)
		if err != nil {
			t.Errorf("%s: %v", who, err)
			return
		}
		for _, q := range quantities {
			v, err := q.of(m)
			if err != nil {
				t.Errorf("%s: %v", who, err)
			}
			if have, again := least[q.name]; !again || v < have {
				least[q.name] = v
			}
		}
	}
	for _, q := range quantities {
		s.add(who, q, life, least[q.name])
	}
}

// clients samples this process, which is that of all clients.
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

// judge holds all quantities to their limits; what has settled is known sooner
// in a short soak.
func (s *sampler) judge(t testing.TB, lasted time.Duration) (lines []string) {
	t.Helper()
	for _, have := range s.all {
		l := have.quantity.limit
		l.Settle = min(l.Settle, lasted/4)
		v := Judge(have.all, l)
		line := fmt.Sprintf("%-9s %-28s %v", have.who, have.quantity.name, v)
		if !v.Flat {
			t.Errorf("it grows: %s", line)
		}
		if v.Judged {
			lines = append(lines, line)
		}
	}
	if lines == nil {
		lines = []string{"too few samples to tell whether anything grows"}
	}
	return lines
}

// get asks a node for a profile.
func get(ctx context.Context, n *proc.Node, profile string, to io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.HTTP+"/debug/pprof/"+profile, nil)
	if err != nil {
		return err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("profile %s: %s", profile, resp.Status)
	}
	_, err = io.Copy(to, resp.Body)
	return err
}

// profiles are what is kept of a failure: what every goroutine of a node is
// doing, and where its memory went.
var profiles = map[string]string{"goroutines": "goroutine?debug=2", "heap": "heap"}

func keepProfiles(ctx context.Context, t testing.TB, n *proc.Node, dir, name string) {
	for what, profile := range profiles {
		f, err := os.Create(filepath.Join(dir, name+"."+what))
		if err != nil {
			t.Log(err)
			return
		}
		if err := errors.Join(get(ctx, n, profile, f), f.Close()); err != nil {
			t.Logf("%s of %s: %v", what, name, err)
		}
	}
}
