package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Conflict is who waits for whom: what the one wants to do, what the other has
// done or wants to do, and how it is in the way. All three are words for people
// and become labels.
type Conflict struct{ Operation, Holder, Cause string }

// MaxConflicts bounds the conflicts that have series of their own. What others
// are there is counted together, as OtherConflicts.
const MaxConflicts = 200

// OtherConflicts stands for the conflicts for which there was no room.
var OtherConflicts = Conflict{"other", "other", "other"}

// Contention counts what transactions waited for in a conflict, and the attempts
// that ended because of it. It may be used by any number of goroutines.
type Contention struct{ waits, waitNanos, aborts atomic.Uint64 }

// Waited counts a transaction whose longest wait was in this conflict.
func (c *Contention) Waited(d time.Duration) {
	c.waits.Add(1)
	c.waitNanos.Add(uint64(max(d, 0)))
}

// Aborted counts attempts that ended because of the conflict.
func (c *Contention) Aborted(n int) { c.aborts.Add(uint64(n)) }

// contentions are those of a node.
type contentions struct {
	mu  sync.Mutex
	all map[Conflict]*Contention
}

// Contention is the handle of a conflict, the same at each call. It takes a lock
// and looks labels up: whoever counts often keeps it.
func (m *Node) Contention(c Conflict) *Contention {
	cs := &m.contentions
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.all == nil {
		cs.all = map[Conflict]*Contention{}
	}
	if h := cs.all[c]; h != nil {
		return h
	}
	if len(cs.all) >= MaxConflicts {
		c = OtherConflicts
		if h := cs.all[c]; h != nil {
			return h
		}
	}
	h := new(Contention)
	cs.all[c] = h
	return h
}

func contentionDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("linchpin_contention_"+name, help+" By operation, by the operation in the way, and by cause: lock, range, queue (one that waited before), readers, update (that a reader waited for), "+
		"forgotten (readers of an earlier life), wound (by an older one) or changed (what was read).", []string{"operation", "holder_operation", "cause"}, nil)
}

var (
	contentionWaits  = contentionDesc("waits_total", "Transactions that waited, each counted where it waited longest.")
	contentionWait   = contentionDesc("wait_seconds_total", "Time of these waits.")
	contentionAborts = contentionDesc("aborts_total", "Attempts that ended because of another transaction.")
)

// Describe implements prometheus.Collector.
func (*contentions) Describe(to chan<- *prometheus.Desc) {
	to <- contentionWaits
	to <- contentionWait
	to <- contentionAborts
}

// Collect implements prometheus.Collector.
func (cs *contentions) Collect(to chan<- prometheus.Metric) {
	cs.mu.Lock()
	all := maps.Clone(cs.all)
	cs.mu.Unlock()
	for c, h := range all {
		emit := func(d *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, c.Operation, c.Holder, c.Cause)
		}
		emit(contentionWaits, float64(h.waits.Load()))
		emit(contentionWait, time.Duration(h.waitNanos.Load()).Seconds())
		emit(contentionAborts, float64(h.aborts.Load()))
	}
}
