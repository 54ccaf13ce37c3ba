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

// Node holds the metrics of one node. Its methods may be called by any goroutine.
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
	replicas     replicas
	sources      sources
	contentions  contentions
	// unread returns the number of stalled scans; see WatchScans.
	unread atomic.Pointer[func() uint64]
}

// Options identify the node. They become labels of linchpin_node_info.
type Options struct {
	Node    kv.NodeID
	Cluster string
	Version string
	// NoRuntime omits the collectors of the Go runtime and the process, for several
	// nodes in one process.
	NoRuntime bool
}

// TxnKind is the kind of a transaction: how the client runs it.
type TxnKind int

const (
	// OneShot is a transaction in one request.
	OneShot TxnKind = iota
	// OneShotRead is a one-shot transaction without writes.
	OneShotRead
	// Interactive is a transaction of several requests.
	Interactive
	// InteractiveRead is an interactive transaction that is declared read-only.
	InteractiveRead
	// Scan is a scan.
	Scan
	// OutcomeQuery is a query for the outcome of another transaction.
	OutcomeQuery
	// NumTxnKinds is the number of kinds.
	NumTxnKinds
)

func (k TxnKind) String() string {
	names := [NumTxnKinds]string{"one_shot", "one_shot_read", "interactive", "interactive_read", "scan", "outcome_query"}
	return names[k]
}

// ReadPlan is how a read-only transaction reads (docs/protocol.md, section 7).
type ReadPlan int

const (
	// ReadLocked takes read locks.
	ReadLocked ReadPlan = iota
	ReadOneShard
	ReadParallel
	ReadHotLast
	ReadInteractive
	// ReadSnapshot reads at a snapshot.
	ReadSnapshot
	numReadPlans
)

func (p ReadPlan) String() string {
	return [numReadPlans]string{"locked", "one-shard", "parallel", "hot-last", "interactive", "snapshot"}[p]
}

// Stage is a part of a transaction's latency.
type Stage int

const (
	// Gateway lasts from the arrival of the request to its response.
	Gateway Stage = iota
	// LockWait is the time that a request waits for locks on a shard.
	LockWait
	// Vote lasts from the arrival of the commit request at the last agent until all
	// votes have arrived and the keys are in memory.
	Vote
	// Decision lasts from the vote of a participant until the decision arrives.
	Decision
	// Durable lasts from a step until its log entries are on disk.
	Durable
	numStages
)

func (s Stage) String() string {
	return [numStages]string{"gateway", "lock_wait", "vote", "decision", "durable"}[s]
}

// New makes a node's metrics in a registry of their own.
func New(o Options) (*Node, error) {
	m := &Node{registry: prometheus.NewRegistry()}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "linchpin_node_info",
		Help:        "Identity of the node; always 1.",
		ConstLabels: prometheus.Labels{"node": o.Node.String(), "cluster": o.Cluster, "version": o.Version}})
	info.Set(1)
	clock := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "linchpin_node_clock_seconds",
		Help: "Unix time of the node's wall clock."}, func() float64 { return float64(time.Now().UnixNano()) / 1e9 })
	unread := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "linchpin_scans_stalled_total",
		Help: "Scans aborted because the client read too slowly."}, m.stalledScans)
	cs := []prometheus.Collector{info, clock, unread, &m.shards, &m.peers, &m.replicas, &m.sources, &m.contentions}
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

// WatchScans sets the source of the number of scans aborted because their clients read too
// slowly. f is called by any goroutine.
func (m *Node) WatchScans(f func() uint64) { m.unread.Store(&f) }

func (m *Node) stalledScans() float64 {
	f := m.unread.Load()
	if f == nil {
		return 0
	}
	return float64((*f)())
}

func (m *Node) newTransactions() []prometheus.Collector {
	txns := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "linchpin_transactions_total",
		Help: "Finished transactions, by kind and by outcome: OK or the error."}, []string{"kind", "outcome"})
	for k := range NumTxnKinds {
		for _, outcome := range kv.Kinds() {
			if outcome.IsClientOnly() {
				continue
			}
			m.transactions[k] = append(m.transactions[k], txns.WithLabelValues(k.String(), outcome.String()))
		}
	}
	retries := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "linchpin_transaction_retries_total",
		Help: "Aborted attempts that the gateway retried, by reason."}, []string{"reason"})
	for r := range len(msg.Reason_name) {
		m.retries = append(m.retries, retries.WithLabelValues(strings.TrimPrefix(msg.Reason(r).String(), "Reason")))
	}
	reads := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "linchpin_read_only_transactions_total",
		Help: "Finished read-only transactions, by plan: one-shard, parallel, hot-last, interactive, snapshot or locked."},
		[]string{"plan"})
	for p := range numReadPlans {
		m.reads[p] = reads.WithLabelValues(p.String())
	}
	return []prometheus.Collector{txns, retries, reads}
}

func (m *Node) newHistograms() []prometheus.Collector {
	stage := prometheus.NewDesc("linchpin_stage_duration_seconds",
		"Duration of the stages of transactions: gateway (request to response), lock_wait, vote (commit request to "+
			"last vote), decision (vote to decision), durable (processing to fsync).", []string{"stage"}, nil)
	for s := range numStages {
		m.stages[s] = newHistogram(stage, durationBounds, float64(time.Second), s.String())
	}
	took := prometheus.NewDesc("linchpin_transaction_duration_seconds",
		"Duration of transactions, with failures and the client's time between requests.",
		[]string{"kind"}, nil)
	for k := range NumTxnKinds {
		m.took[k] = newHistogram(took, durationBounds, float64(time.Second), k.String())
	}
	cs := []prometheus.Collector{histograms(m.stages[:]), histograms(m.took[:])}
	m.fsyncEntries = newHistogram(prometheus.NewDesc("linchpin_log_fsync_entries",
		"Log entries per fsync.", nil, nil), countBounds, 1)
	m.fsyncTime = newHistogram(prometheus.NewDesc("linchpin_log_fsync_duration_seconds",
		"Duration of fsyncs of the log.", nil, nil), durationBounds, float64(time.Second))
	m.readTime = newHistogram(prometheus.NewDesc("linchpin_store_read_duration_seconds",
		"Duration of store reads after cache misses.", nil, nil),
		durationBounds, float64(time.Second))
	return append(cs, m.fsyncEntries, m.fsyncTime, m.readTime)
}

// histograms are histograms with one description.
type histograms []*Histogram

func (hs histograms) Describe(to chan<- *prometheus.Desc) { hs[0].Describe(to) }

func (hs histograms) Collect(to chan<- prometheus.Metric) {
	for _, h := range hs {
		h.Collect(to)
	}
}

// Transaction counts a finished transaction and its duration.
func (m *Node) Transaction(k TxnKind, outcome kv.Kind, took time.Duration) {
	if int(outcome) < len(m.transactions[k]) {
		m.transactions[k][outcome].Inc()
	}
	m.took[k].Observe(took)
}

// Read counts a finished read-only transaction.
func (m *Node) Read(p ReadPlan) { m.reads[p].Inc() }

// Retry counts an attempt that is retried.
func (m *Node) Retry(r msg.Reason) {
	if r >= 0 && int(r) < len(m.retries) {
		m.retries[r].Inc()
	}
}

// Stage returns the histogram of a stage.
func (m *Node) Stage(s Stage) *Histogram { return m.stages[s] }

// StoreRead counts a read of the store and its duration.
func (m *Node) StoreRead(took time.Duration) { m.readTime.Observe(took) }

// Fsync counts a completed fsync: the entries it made durable, and its duration.
func (m *Node) Fsync(entries int, took time.Duration) {
	m.fsyncEntries.ObserveN(int64(entries))
	m.fsyncTime.Observe(took)
}

// Registry returns the registry, for further collectors.
func (m *Node) Registry() *prometheus.Registry { return m.registry }

func itoa[T ~uint16 | ~uint32](n T) string { return strconv.FormatUint(uint64(n), 10) }
