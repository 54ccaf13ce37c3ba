package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Conflict names two conflicting operations and how they conflict. The strings become
// labels.
type Conflict struct{ Operation, Holder, Cause string }

// MaxConflicts bounds the conflicts that have their own series. All others are counted
// as OtherConflicts.
const MaxConflicts = 200

// OtherConflicts stands for the conflicts beyond MaxConflicts.
var OtherConflicts = Conflict{"other", "other", "other"}

// Contention counts the waits and the aborted attempts of one conflict. It may be used by
// any number of goroutines.
type Contention struct{ waits, waitNanos, aborts atomic.Uint64 }

// Waited counts a transaction whose longest wait was caused by this conflict.
func (c *Contention) Waited(d time.Duration) {
	c.waits.Add(1)
	c.waitNanos.Add(uint64(max(d, 0)))
}

// Aborted counts attempts aborted because of the conflict.
func (c *Contention) Aborted(n int) { c.aborts.Add(uint64(n)) }

// contentions are the counters of all conflicts of a node.
type contentions struct {
	mu  sync.Mutex
	all map[Conflict]*Contention
}

// Contention returns the handle of a conflict, the same at each call. It takes a lock:
// keep the handle where conflicts are frequent.
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
	labels := []string{"operation", "holder_operation", "cause"}
	return prometheus.NewDesc("linchpin_contention_"+name, help, labels, nil)
}

var (
	contentionWaits = contentionDesc("waits_total",
		"Transactions that waited, by the operations of the longest wait and its cause: lock, range, queue (an "+
			"older waiter), readers, intent (an undecided update), recovery (of a shard), snapshot, wound, "+
			"or changed (stale read).")
	contentionWait   = contentionDesc("wait_seconds_total", "Time of the longest wait of each transaction.")
	contentionAborts = contentionDesc("aborts_total", "Attempts aborted because of another transaction.")
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
