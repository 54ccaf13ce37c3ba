package workload

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Scanners run beside the clients, from the end of the warm-up until the last
// client has stopped, or the measured part is over or interrupted. Each scans all registers
// from the first to the last, and begins again; where the mix has increments,
// it scans the counters in the proportion in which reads look at them. With a
// pace, a scanner takes that many pairs a second, so that one scan can last
// for minutes of writes. A scan in flight at the end is cut short; its
// pairs are still those of one snapshot.

const (
	// MaxScanners bounds the scanners. Each may hold a page of pairs.
	MaxScanners = 64
	// maxPage is the pairs of a page, and at a slow pace a page is pagesPerS
	// of a second's pairs, so that what was sent and not looked at is little.
	maxPage   = 1000
	pagesPerS = 10
	// maxScanRecord bounds the bytes of pairs that are kept for the recorder;
	// a checker accepts the beginning of a scan.
	maxScanRecord = 64 << 20
	// emptyPause follows a scan that found nothing: one that is over at once
	// would lock its range a thousand times a second.
	emptyPause = 100 * time.Millisecond
)

// scanMeter collects what scanners did.
type scanMeter struct {
	pairs atomic.Uint64

	mu                    sync.Mutex // guards what follows
	complete, cut, failed uint64
	errors                map[kv.Kind]uint64
	faults                faults
	latency               *hdrhistogram.Histogram // of complete scans
	max                   time.Duration
}

// end counts a scan.
func (m *scanMeter) end(took time.Duration, cut bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case cut:
		m.cut++
	case err != nil:
		m.failed++
		if m.errors == nil {
			m.errors, m.faults = map[kv.Kind]uint64{}, newFaults()
		}
		m.errors[kv.KindOf(err)]++
		m.faults.add(err)
	default:
		m.complete++
		record(&m.latency, took)
		m.max = max(m.max, took)
	}
}

func (m *scanMeter) result(elapsed time.Duration) ScanResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	pairs := m.pairs.Load()
	return ScanResult{Complete: m.complete, CutShort: m.cut, Failed: m.failed, Pairs: pairs,
		PairsPer: perSecond(pairs, elapsed),
		Errors:   kindCounts(m.errors), Faults: kindCounts(m.faults.kinds), Latency: latencyOf(m.latency, m.max)}
}

// addDown adds the nodes that scans found down to those that transactions did.
func (m *scanMeter) addDown(to *faults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to.mergeDown(&m.faults)
}

// startScanners gives the function that ends them and waits until they have.
func (s *run) startScanners(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	endTimer := func() bool { return true }
	if !s.window.end.IsZero() {
		// Not a deadline: a client gives up a little before that, and it
		// would look as if the scan had failed.
		endTimer = time.AfterFunc(time.Until(s.window.end), cancel).Stop
	}
	var wg sync.WaitGroup
	for i := range s.plan.Scanners {
		wg.Go(func() { s.scanner(ctx, s.plan.Clients+i) })
	}
	return func() {
		endTimer()
		cancel()
		wg.Wait()
	}
}

// scanner is the life of a scanner, which is numbered after the clients.
func (s *run) scanner(ctx context.Context, number int) {
	r := rand.New(rand.NewPCG(s.plan.Seed, uint64(number)))
	more, failures := Sleep(ctx, time.Until(s.window.begin)), 0
	for count := uint64(1); more; count++ {
		table := byte('r')
		if part := s.plan.Mix.counterReads(); part > 0 && r.Float64() < part {
			table = 'c'
		}
		pairs, err := s.scan(ctx, Txn{Kind: LongScan, Client: number, Number: count, Ops: []Op{s.plan.rangeOf(table)}})
		var pause time.Duration
		switch {
		case err != nil:
			failures++
			pause = backoff(failures)
		case pairs == 0:
			failures, pause = 0, emptyPause
		default:
			failures = 0
		}
		more = Sleep(ctx, pause)
	}
}

// rangeOf is the range of all registers ('r') or all counters ('c').
func (p *plan) rangeOf(table byte) Op {
	return Op{Kind: ScanRange, Key: append([]byte(p.Prefix), table, '/'), End: append([]byte(p.Prefix), table, '/'+1)}
}

// page is how many pairs to ask for at a time.
func (o Options) page() int {
	if o.ScanPace == 0 {
		return 0
	}
	return int(min(max(o.ScanPace/pagesPerS, 1), maxPage))
}

// scan scans once, until ctx ends at the latest, which is no failure. It gives
// the number of pairs.
func (s *run) scan(ctx context.Context, txn Txn) (pairs int, err error) {
	var recorded func(Reply, Outcome)
	if s.plan.Recorder != nil {
		recorded = s.plan.Recorder.Begin(txn)
	}
	var reply Reply
	kept, cut := 0, false
	p := pacer{perS: s.plan.ScanPace}
	begun := time.Now()
	err = s.store.Scan(ctx, Range{Start: txn.Ops[0].Key, End: txn.Ops[0].End, Page: s.plan.page()}, func(pair Pair) bool {
		cut = !p.wait(ctx)
		if cut {
			return false
		}
		pairs++
		s.scans.pairs.Add(1)
		if recorded != nil && kept < maxScanRecord {
			kept += len(pair.Key) + len(pair.Value)
			reply.Pairs = append(reply.Pairs, pair)
		}
		return true
	})
	if err != nil && ctx.Err() != nil {
		cut, err = true, nil
	}
	s.scans.end(time.Since(begun), cut, err)
	if recorded != nil {
		reply.More = cut || len(reply.Pairs) < pairs
		outcome := Committed
		if err != nil {
			outcome = Failed
		}
		recorded(reply, outcome)
	}
	return pairs, err
}

// due is when the next pair is due.
func (p *pacer) due() time.Time { return nth(p.begun, p.count, p.perS) }

// pacer lets pairs through at a rate; 0 is as they come.
type pacer struct {
	perS  float64
	begun time.Time
	count uint64
}

// wait waits until the next pair is due; it is false when ctx has ended.
func (p *pacer) wait(ctx context.Context) bool {
	if p.perS == 0 {
		return ctx.Err() == nil
	}
	if p.count == 0 {
		p.begun = time.Now()
	}
	due := p.due()
	p.count++
	// A timer for less would take longer than that.
	if left := time.Until(due); left >= time.Millisecond {
		return Sleep(ctx, left)
	}
	return ctx.Err() == nil
}
