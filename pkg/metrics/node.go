package metrics

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Node is everything that is measured of one node. Its methods may be called
// by any goroutine.
type Node struct {
	registry     *prometheus.Registry
	transactions [NumTxnKinds][]prometheus.Counter
	retries      []prometheus.Counter
	reads        [numReadPlans]prometheus.Counter
	took         [NumTxnKinds]*Histogram
	stages       [numStages]*Histogram
	fsyncEntries *Histogram
	fsyncTime    *Histogram
	readTime     *Histogram
	shards       shards
	peers        peers
	sources      sources
	contentions  contentions
	// unread gives the scans that were ended; see WatchScans.
	unread atomic.Pointer[func() uint64]
}

// Options say who the node is. They become labels of linchpin_node_info.
type Options struct {
	Node    kv.NodeID
	Cluster string
	Version string
	// NoRuntime leaves out the collectors of the Go runtime and the process,
	// for several nodes in one process.
	NoRuntime bool
}

// TxnKind is a way in which clients run transactions.
type TxnKind int

const (
	// OneShot is a transaction that came in one message.
	OneShot TxnKind = iota
	// OneShotRead is one that wrote nothing.
	OneShotRead
	// Interactive is a transaction of several messages.
	Interactive
	// InteractiveRead is one that was begun as read-only.
	InteractiveRead
	// Scan is a scan over its own stream.
	Scan
	// Enquiry asks for the outcome of another transaction.
	Enquiry
	// NumTxnKinds is how many ways there are.
	NumTxnKinds
)

func (k TxnKind) String() string {
	return [NumTxnKinds]string{"one_shot", "one_shot_read", "interactive", "interactive_read", "scan", "enquiry"}[k]
}

// ReadPlan is how a read-only transaction has read (docs/protocol.md, section
// 7).
type ReadPlan int

const (
	// ReadLocked: under locks.
	ReadLocked ReadPlan = iota
	ReadOne
	ReadAtOnce
	ReadHotLast
	ReadOpen
	ReadPin
	numReadPlans
)

func (p ReadPlan) String() string {
	return [numReadPlans]string{"locked", "one-shard", "parallel", "hot-last", "interactive", "snapshot"}[p]
}

// Stage is a part of a transaction's time.
type Stage int

const (
	// Gateway is from the request's arrival to its answer.
	Gateway Stage = iota
	// LockWait is the time a request waited for locks on a shard.
	LockWait
	// Vote is from the parking of a piece at its last agent until all votes are
	// in and its keys are in memory.
	Vote
	// Decide is from the vote of a participant until it hears the decision.
	Decide
	// Durable is from a step to its entries being on disk.
	Durable
	numStages
)

func (s Stage) String() string {
	return [numStages]string{"gateway", "lock_wait", "vote", "decide", "durable"}[s]
}

// New makes a node's metrics in a registry of their own.
func New(o Options) (*Node, error) {
	m := &Node{registry: prometheus.NewRegistry()}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "linchpin_node_info", Help: "Who the node is; always 1.",
		ConstLabels: prometheus.Labels{"node": o.Node.String(), "cluster": o.Cluster, "version": o.Version}})
	info.Set(1)
	clock := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "linchpin_node_clock_seconds", Help: "The node's wall clock, as seconds since 1970."},
		func() float64 { return float64(time.Now().UnixNano()) / 1e9 })
	unread := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "linchpin_scans_unread_total", Help: "Scans that were ended because their clients did not read."},
		func() float64 {
			if f := m.unread.Load(); f != nil {
				return float64((*f)())
			}
			return 0
		})
	cs := []prometheus.Collector{info, clock, unread, &m.shards, &m.peers, &m.sources, &m.contentions}
	if !o.NoRuntime {
		cs = append(cs, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	cs = append(cs, m.newTransactions()...)
	cs = append(cs, m.newHistograms()...)
	var errs []error
	for _, c := range cs {
		errs = append(errs, m.registry.Register(c))
	}
	return m, errors.Join(errs...)
}

// WatchScans has f asked how many scans were ended because their clients did not read.
func (m *Node) WatchScans(f func() uint64) { m.unread.Store(&f) }

func (m *Node) newTransactions() []prometheus.Collector {
	txns := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "linchpin_transactions_total",
		Help: "Transactions that ended, by how clients ran them and by outcome: OK or the kind of error."}, []string{"kind", "outcome"})
	for k := range NumTxnKinds {
		for _, outcome := range kv.Kinds() {
			if outcome.OfClient() {
				continue
			}
			m.transactions[k] = append(m.transactions[k], txns.WithLabelValues(k.String(), outcome.String()))
		}
	}
	retries := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "linchpin_transaction_retries_total",
		Help: "Attempts that ended without a commit and were followed by another, by reason."}, []string{"reason"})
	for r := range len(msg.Reason_name) {
		m.retries = append(m.retries, retries.WithLabelValues(strings.TrimPrefix(msg.Reason(r).String(), "Reason")))
	}
	reads := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "linchpin_reads_total",
		Help: "Read-only transactions that were answered, by how they read."}, []string{"plan"})
	for p := range numReadPlans {
		m.reads[p] = reads.WithLabelValues(p.String())
	}
	return []prometheus.Collector{txns, retries, reads}
}

func (m *Node) newHistograms() []prometheus.Collector {
	stage := prometheus.NewDesc("linchpin_stage_duration_seconds",
		"Time that transactions spent, by stage.", []string{"stage"}, nil)
	for s := range numStages {
		m.stages[s] = newHistogram(stage, durationBounds, float64(time.Second), s.String())
	}
	took := prometheus.NewDesc("linchpin_transaction_duration_seconds",
		"Time from a transaction's first request to its end, by how clients ran it; those that failed included, and of interactive ones the time for which clients thought.", []string{"kind"}, nil)
	for k := range NumTxnKinds {
		m.took[k] = newHistogram(took, durationBounds, float64(time.Second), k.String())
	}
	cs := []prometheus.Collector{histograms(m.stages[:]), histograms(m.took[:])}
	m.fsyncEntries = newHistogram(prometheus.NewDesc("linchpin_log_fsync_entries",
		"Entries that one fsync of the log made durable.", nil, nil), countBounds, 1)
	m.fsyncTime = newHistogram(prometheus.NewDesc("linchpin_log_fsync_duration_seconds",
		"Time that fsyncs of the log took.", nil, nil), durationBounds, float64(time.Second))
	m.readTime = newHistogram(prometheus.NewDesc("linchpin_store_read_duration_seconds",
		"Time that reads of the store took for what is not in the shards' memory, the block cache's included.", nil, nil), durationBounds, float64(time.Second))
	return append(cs, m.fsyncEntries, m.fsyncTime, m.readTime)
}

// histograms share one description.
type histograms []*Histogram

func (hs histograms) Describe(to chan<- *prometheus.Desc) { hs[0].Describe(to) }

func (hs histograms) Collect(to chan<- prometheus.Metric) {
	for _, h := range hs {
		h.Collect(to)
	}
}

// Transaction counts a transaction that ended so, after so long.
func (m *Node) Transaction(k TxnKind, outcome kv.Kind, took time.Duration) {
	if int(outcome) < len(m.transactions[k]) {
		m.transactions[k][outcome].Inc()
	}
	m.took[k].Observe(took)
}

// Read counts a read-only transaction that was answered.
func (m *Node) Read(p ReadPlan) { m.reads[p].Inc() }

// Retry counts an attempt that another one follows.
func (m *Node) Retry(r msg.Reason) {
	if r >= 0 && int(r) < len(m.retries) {
		m.retries[r].Inc()
	}
}

// Stage is the histogram of a stage.
func (m *Node) Stage(s Stage) *Histogram { return m.stages[s] }

// StoreRead counts a read of the store that took so long.
func (m *Node) StoreRead(took time.Duration) { m.readTime.Observe(took) }

// Fsync tells of a completed fsync: how many entries it made durable, and the
// time it took.
func (m *Node) Fsync(entries int, took time.Duration) {
	m.fsyncEntries.ObserveN(int64(entries))
	m.fsyncTime.Observe(took)
}

// Registry is for collectors of others.
func (m *Node) Registry() *prometheus.Registry { return m.registry }

// level is a number that goes up and down.
type level = atomic.Int64

func itoa[T ~uint16 | ~uint32](n T) string { return strconv.FormatUint(uint64(n), 10) }
