package workload

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Runner runs a workload once.
type Runner struct {
	store Store
	plan  *plan
}

// New makes a runner of o, whose defaults are filled in. Its error lists
// everything that is wrong with o. An application has a store of its own, and
// store may be nil.
func New(store Store, o Options) (*Runner, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Locality > 0 && o.Homes == nil {
		return nil, errors.New("locality is asked for, and it is not known where keys live")
	}
	tag := NewRunTag()
	if o.FreshKeys {
		o.Prefix += tag + "/"
	}
	p, err := newPlan(o, tag)
	if err != nil {
		return nil, err
	}
	return &Runner{store: store, plan: p}, nil
}

// NewRunTag names a run in what it writes: six characters, not from the
// seed, so that a run which is repeated on the same store writes new values.
func NewRunTag() string {
	const sixDigits = 36 * 36 * 36 * 36 * 36 * 36
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails; it ends the program instead
	tag := strconv.FormatUint(binary.BigEndian.Uint64(b[:])%sixDigits+sixDigits, 36)
	return tag[1:]
}

// ErrNothingCommitted is the error of a run whose result is complete and shows
// that not one transaction of the measured part committed.
var ErrNothingCommitted = errors.New("no transaction of the measured part committed")

// Run runs the workload. When ctx ends before the run, no more transactions
// are started, those in flight are waited for (each has its deadline), and the
// result is that of the run up to then, marked as interrupted.
//
// The result is never nil. The error is nil or ErrNothingCommitted.
func (r *Runner) Run(ctx context.Context) (*Result, error) {
	begun := time.Now()
	s := newRun(r, begun)
	// Started before the clients, so that it sees the first transactions.
	stopProgress := s.progress(begun)
	stopWatching := s.meter.cut.watch(ctx)
	stopScanners := s.startScanners(ctx)
	var wg sync.WaitGroup
	for i := range r.plan.Clients {
		wg.Go(func() { s.client(ctx, i) })
	}
	wg.Wait()
	stopWatching()
	stopScanners()
	stopProgress()
	result := s.result()
	if result.All.Committed == 0 {
		return result, ErrNothingCommitted
	}
	return result, nil
}

// run is the state of Run.
type run struct {
	*Runner
	begun    time.Time
	window   window
	schedule schedule
	meter    *meter
	scans    scanMeter
	// stopped is when the last client stopped asking for more.
	mu      sync.Mutex // guards stopped
	stopped time.Time
}

func newRun(r *Runner, begun time.Time) *run {
	s := &run{Runner: r, begun: begun}
	s.window.begin = begun.Add(r.plan.Warmup)
	if d := r.plan.Duration; d > 0 {
		s.window.end = s.window.begin.Add(d)
	}
	if r.plan.Rate > 0 {
		s.schedule = newOpenLoop(s.window, begun, r.plan.Rate, r.plan.Count)
	} else {
		s.schedule = newClosedLoop(s.window, r.plan.Clients, r.plan.Count)
	}
	s.meter = newMeter(s.window, r.plan.Clients, r.plan.kindsOfRun())
	return s
}

// client is the life of one client.
func (s *run) client(ctx context.Context, number int) {
	g, store := s.plan.generator(number), s.store
	if g.home != nil {
		store, _ = s.plan.Homes.Client(number)
	}
	failures := 0
	for {
		intended, measured, ok := s.schedule.next(ctx, number)
		if !ok {
			break
		}
		if s.once(ctx, store, g, intended, measured) {
			failures = 0
			continue
		}
		failures++
		if s.plan.Rate == 0 {
			// A store that refuses at once would otherwise be asked a
			// million times a second.
			Sleep(ctx, backoff(failures))
		}
	}
	s.meter.cut.seen(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.stopped) {
		s.stopped = now
	}
}

// backoff is 1 ms after the first failure in a row, doubled by each further
// one, up to 128 ms.
func backoff(failures int) time.Duration {
	return time.Millisecond << min(failures-1, 7)
}

// once draws and runs one transaction and reports whether it committed.
func (s *run) once(ctx context.Context, store Store, g *generator, intended time.Time, measured bool) bool {
	if s.plan.App != nil {
		return s.use(ctx, g.client, intended, measured)
	}
	txn := g.next(s.moves(intended))
	// What has begun is ended properly even if the run is interrupted: a
	// transaction that was cut off would have no known outcome.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.plan.Timeout)
	defer cancel()
	var recorded func(Reply, Outcome)
	if s.plan.Recorder != nil {
		recorded = s.plan.Recorder.Begin(txn)
	}
	sm := sample{kind: txn.Kind, measured: measured, intended: intended, sent: time.Now(), keys: txn.Keys, near: txn.Near}
	if s.plan.Interactive || txn.Kind == InteractiveRead {
		sm.reply, sm.err = store.Transact(ctx, txn.Ops)
	} else {
		sm.reply, sm.err = store.Execute(ctx, txn.Ops)
	}
	sm.ended = time.Now()
	if sm.err == nil {
		sm.err = checkResults(sm.reply, txn.Ops)
	}
	sm.outcome = OutcomeOf(sm.err)
	sm.lost = sm.outcome == Committed && len(sm.reply.Results) == 0 && slices.ContainsFunc(txn.Ops, Op.IsRead)
	if sm.outcome == Unknown && ReadOnlyOps(txn.Ops) {
		sm.outcome = Failed // whatever became of it, it changed nothing
	}
	if recorded != nil {
		recorded(sm.reply, sm.outcome)
	}
	s.meter.add(g.client, sm)
	return sm.outcome == Committed
}

// checkResults is the error of a store that says that ops committed and gives
// another number of results: which read saw what is then unknown. None
// at all is an answer (Reply.Results), and counted apart.
func checkResults(reply Reply, ops []Op) error {
	if n := len(reply.Results); n != 0 && n != len(ops) {
		return kv.Errorf(kv.KindInternal, "%d results for %d operations", n, len(ops))
	}
	return nil
}

// use has a client of the application do something.
func (s *run) use(ctx context.Context, client int, intended time.Time, measured bool) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.plan.Timeout)
	defer cancel()
	sm := sample{measured: measured, intended: intended, sent: time.Now()}
	done := s.plan.App.Do(ctx, client)
	sm.ended = time.Now()
	sm.kind, sm.reply, sm.err, sm.outcome = done.Kind, done.Reply, done.Err, OutcomeOf(done.Err)
	if sm.outcome == Unknown && s.meter.kinds[sm.kind].Reads {
		sm.outcome = Failed
	}
	s.meter.add(client, sm)
	return sm.outcome == Committed
}

// moves is how often the hot spot has moved by the time t.
func (s *run) moves(t time.Time) uint64 {
	if s.plan.MoveHotEvery <= 0 || t.Before(s.begun) {
		return 0
	}
	return uint64(t.Sub(s.begun) / s.plan.MoveHotEvery)
}

// seconds is d in seconds, rounded to microseconds as all times in reports.
func seconds(d time.Duration) float64 { return d.Round(time.Microsecond).Seconds() }

// perSecond is a rate, 0 for no time at all.
func perSecond(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return math.Round(float64(n)/d.Seconds()*100) / 100
}

// kindCounts gives counts by kind of error with their names as keys.
func kindCounts(m map[kv.Kind]uint64) map[string]uint64 {
	named := make(map[string]uint64, len(m))
	for k, n := range m {
		named[k.String()] = n
	}
	return named
}
