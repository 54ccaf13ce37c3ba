package workload

import (
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// meter collects what clients measured. It takes the same memory however long
// the run: histograms of fixed size, and counts by small sets of names. It is
// split into parts with a lock each, so that clients rarely meet; more parts
// than processors would only cost memory.
type meter struct {
	window
	// cut ends the window before its time.
	cut   interruption
	kinds []AppKind
	parts []*part
}

type part struct {
	mu sync.Mutex // guards what follows
	totals
}

// totals are the numbers of a run, or of a part of it.
type totals struct {
	// kinds are by Kind; spec says which they are.
	kinds []kindTotals
	spec  []AppKind
	// lag is how much later than intended transactions were sent.
	lag *hdrhistogram.Histogram
	// answered counts the commits answered inside the window, by whatever
	// they began; done all transactions that ended, the warm-up included.
	answered, done uint64
	// lost counts those that committed, read, and got no results.
	lost uint64
	// keys counts the keys that transactions had, and near those of them that
	// live on their client's node.
	keys, near uint64
	// aborts are the reasons of all attempts that were given up, readAborts
	// those of read-only transactions.
	aborts, readAborts map[string]uint64
	errors             map[kv.Kind]uint64
	// faults are those that do not come of contention.
	faults faults
}

func newTotals(spec []AppKind) totals {
	return totals{kinds: make([]kindTotals, len(spec)), spec: spec, aborts: map[string]uint64{},
		readAborts: map[string]uint64{}, errors: map[kv.Kind]uint64{}, faults: newFaults()}
}

type kindTotals struct {
	committed, failed, unknown, retries uint64
	answered                            uint64
	// latency is of committed transactions, in microseconds; nil until the
	// first. max is the exact maximum.
	latency *hdrhistogram.Histogram
	max     time.Duration
}

// maxReasons bounds the names in each of the counts of reasons.
const maxReasons = 32

// newHistogram has three digits from 1 us to MaxTimeout: 170 kB.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, MaxTimeout.Microseconds(), 3)
}

func newMeter(w window, clients int, spec []AppKind) *meter {
	m := &meter{window: w, kinds: spec}
	const most = 8
	for range min(clients, most, runtime.GOMAXPROCS(0)) {
		m.parts = append(m.parts, &part{totals: newTotals(spec)})
	}
	return m
}

// sample is one transaction that ended.
type sample struct {
	kind     Kind
	measured bool
	// intended is when it was meant to start, sent when it did.
	intended, sent, ended time.Time
	outcome               Outcome
	err                   error
	reply                 Reply
	// keys and near are those of the transaction.
	keys, near int
	// lost: it committed and read, and its results are lost.
	lost bool
}

// add counts s.
func (m *meter) add(client int, s sample) {
	p := m.parts[client%len(m.parts)]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	k := &p.kinds[s.kind]
	if s.outcome == Committed && !s.ended.Before(m.begin) && !m.over(s.ended) && !m.cut.before(s.ended) {
		p.answered++
		k.answered++
	}
	if !s.measured {
		return
	}
	p.keys += uint64(s.keys)
	p.near += uint64(s.near)
	record(&p.lag, s.sent.Sub(s.intended))
	switch s.outcome {
	case Committed:
		k.committed++
		if s.lost {
			p.lost++
		}
		latency := s.ended.Sub(s.intended)
		record(&k.latency, latency)
		k.max = max(k.max, latency)
	case Failed:
		k.failed++
	case Unknown:
		k.unknown++
	}
	if s.err != nil {
		p.errors[kv.KindOf(s.err)]++
		p.faults.add(s.err)
	}
	if retries := max(s.reply.Attempts, 1) - 1; retries > 0 {
		k.retries += uint64(retries)
		addAborts(p.aborts, s.reply.Aborts, retries)
		if p.spec[s.kind].Reads {
			addAborts(p.readAborts, s.reply.Aborts, retries)
		}
	}
}

// addAborts counts the reasons of the attempts that were given up.
func addAborts(counts map[string]uint64, reasons []string, retries int) {
	for _, r := range reasons[:min(len(reasons), retries)] {
		addAbort(counts, r, 1)
	}
	if rest := retries - len(reasons); rest > 0 {
		addAbort(counts, NotReported, uint64(rest))
	}
}

func addAbort(counts map[string]uint64, reason string, n uint64) {
	if _, known := counts[reason]; !known && len(counts) >= maxReasons {
		reason = OtherReasons
	}
	counts[reason] += n
}

// record adds d to a histogram, which is made with the first. A negative d, of
// a transaction that was not late, counts as nought.
func record(h **hdrhistogram.Histogram, d time.Duration) {
	if *h == nil {
		*h = newHistogram()
	}
	// Within the range of the histogram there is no error.
	_ = (*h).RecordValue(min(max(d.Microseconds(), 0), MaxTimeout.Microseconds()))
}

// sum adds up the parts.
func (m *meter) sum() *totals {
	all := newTotals(m.kinds)
	for _, p := range m.parts {
		p.mu.Lock()
		all.merge(&p.totals)
		p.mu.Unlock()
	}
	return &all
}

func (t *totals) merge(o *totals) {
	for k := range t.kinds {
		t.kinds[k].merge(&o.kinds[k])
	}
	mergeInto(&t.lag, o.lag)
	t.answered += o.answered
	t.done += o.done
	t.lost += o.lost
	t.keys += o.keys
	t.near += o.near
	for r, n := range o.aborts {
		addAbort(t.aborts, r, n)
	}
	for r, n := range o.readAborts {
		addAbort(t.readAborts, r, n)
	}
	for k, n := range o.errors {
		t.errors[k] += n
	}
	t.faults.merge(&o.faults)
}

func (t *kindTotals) merge(o *kindTotals) {
	t.committed += o.committed
	t.failed += o.failed
	t.unknown += o.unknown
	t.retries += o.retries
	t.answered += o.answered
	t.max = max(t.max, o.max)
	mergeInto(&t.latency, o.latency)
}

func mergeInto(h **hdrhistogram.Histogram, o *hdrhistogram.Histogram) {
	if o == nil {
		return
	}
	if *h == nil {
		*h = newHistogram()
	}
	(*h).Merge(o)
}

// all is the sum over the kinds.
func (t *totals) all() *kindTotals { return t.of(func(AppKind) bool { return true }) }

// updates is the sum over the kinds that change something.
func (t *totals) updates() *kindTotals { return t.of(func(k AppKind) bool { return !k.Reads }) }

func (t *totals) of(wanted func(AppKind) bool) *kindTotals {
	var sum kindTotals
	for k := range t.kinds {
		if wanted(t.spec[k]) {
			sum.merge(&t.kinds[k])
		}
	}
	return &sum
}
