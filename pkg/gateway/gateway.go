package gateway

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// Options are what a gateway is made with.
type Options struct {
	// Machine is the configuration of the machines.
	Machine txn.Config
	// Clock is the node's; its Wall makes ids.
	Clock *clock.Hybrid
	// Send takes the envelopes that the machines want sent; they are for
	// shards. It must not block, nor keep the slice.
	Send func([]*msg.Envelope)
	// SendAlone is Send for the only message of the only transaction that is
	// under way. It may take the caller's goroutine for longer than Send.
	// Default Send.
	SendAlone func(*msg.Envelope)
	// Stripes is the number of machines. Default 8.
	Stripes int
	// Gateways is how many there are in the cluster, this one included. Default 1.
	Gateways int
	// TickEvery is the grain of repeats and deadlines. Default 5 ms.
	TickEvery time.Duration
	// Observer hears of transactions that end. Default none.
	Observer Observer
	// HotMaps remembers which keys have been moved. Default none.
	HotMaps HotMaps
	// Tracer makes spans. Default none.
	Tracer *trace.Tracer
	// Down tells what cannot be had while a node is down, for errors. Default: its
	// number alone.
	Down func(kv.NodeID) *kv.Down
	// Answer answers what other nodes ask this one (AskNode). It is called by any
	// goroutine. Default: they get no answer.
	Answer func(question []byte) []byte
}

// HotMaps remembers over restarts which keys have been moved to the hot shard, so
// that a gateway need not find each of them by a redirect. It is a cache: it may
// forget, and what it says may be out of date. Of two epochs the greater is newer.
type HotMaps interface {
	// HotMap is what is remembered; epoch 0 if that is nothing.
	HotMap() (epoch uint64, keys [][]byte)
	// Moved hears what the hot shard tells, often more than once. It must not
	// block, nor change the keys, which it may keep.
	Moved(epoch uint64, keys [][]byte)
}

// Observer hears of transactions that end. Its methods must not block.
type Observer interface {
	// Ended: a transaction of a kind ended after so long.
	Ended(k Kind, r *Response, took time.Duration)
}

// Kind is how a client ran a transaction.
type Kind uint8

const (
	OneShot Kind = iota
	OneShotRead
	Interactive
	InteractiveRead
	ScanKind
	OutcomeQuery
)

func (k Kind) String() string {
	return [...]string{"one-shot", "one-shot read", "interactive", "interactive read", "scan", "outcome query"}[k]
}

// ReadsOnly reports whether it is one of read-only transactions.
func (k Kind) ReadsOnly() bool { return k == OneShotRead || k == InteractiveRead || k == ScanKind }

// Gateway runs transactions. Its methods may be called by any goroutine.
type Gateway struct {
	opt     Options
	stripes []*stripe
	// inFlight is the sum over the stripes when they were last flushed.
	inFlight atomic.Int64
	wake     chan struct{}
	stop     chan struct{}
	done     chan struct{}
	closed   atomic.Bool
	refused  atomic.Uint64
	open     atomic.Int64
	leaving  leaving

	// questions are those to other nodes that have no answer, by number; asked is
	// the number of the last. They begin anywhere, lest what answers a question of
	// the node's life before be taken for the answer to one of this life's: it may
	// have waited until now. A clock would not do, for it may be set back.
	// answering counts the questions of others that are being answered, each by one
	// of answers.
	questionsMu sync.Mutex
	questions   map[uint64]chan []byte
	asked       uint64
	answering   int
	answers     sync.WaitGroup
}

type stripe struct {
	mu sync.Mutex
	m  *txn.Gateway
	// counted is this stripe's part of inFlight.
	counted int
}

// New makes a gateway and starts its ticker.
func New(opt Options) *Gateway {
	if opt.Stripes == 0 {
		opt.Stripes = 8
	}
	if opt.TickEvery == 0 {
		opt.TickEvery = 5 * time.Millisecond
	}
	if opt.Machine.MaxInFlight == 0 {
		opt.Machine.MaxInFlight = kv.DefaultMaxInFlight
	}
	if opt.Down == nil {
		opt.Down = func(n kv.NodeID) *kv.Down { return &kv.Down{Node: n} }
	}
	if opt.SendAlone == nil {
		opt.SendAlone = func(env *msg.Envelope) { opt.Send([]*msg.Envelope{env}) }
	}
	g := &Gateway{opt: opt, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), questions: map[uint64]chan []byte{}, asked: rand.Uint64()}
	per := opt.Machine
	if per.RoundGap == 0 {
		per.RoundGap = kv.RoundGap(max(opt.Gateways, 1))
	}
	per.MaxInFlight = (opt.Machine.MaxInFlight + opt.Stripes - 1) / opt.Stripes
	per.Admission = per.Admission.Split(opt.Stripes)
	for i := range opt.Stripes {
		per.Stripe, per.Stripes, per.Borrows = i, opt.Stripes, i > 0
		g.stripes = append(g.stripes, &stripe{m: txn.NewGateway(per)})
	}
	if opt.HotMaps != nil {
		epoch, keys := opt.HotMaps.HotMap()
		for _, s := range g.stripes {
			s.m.LearnMoved(epoch, keys)
		}
	}
	go g.tick()
	return g
}

// NewID makes a transaction id.
func (g *Gateway) NewID() kv.TxnID {
	return kv.TxnID{Time: g.opt.Clock.Wall(), Rand: rand.Uint64()}
}

// maxBehind is how far an id may be behind the time by which shards forget. What is
// farther behind might be too old for a shard before the transaction ends, and then
// nobody could tell what became of it; so it is not begun.
const maxBehind = kv.DefaultRetention / 2

// checkID refuses an id that no client has made whose clock goes by this node's.
// Nothing has been done for it then.
func (g *Gateway) checkID(id kv.TxnID, now int64) *kv.Error {
	if id.Time <= 0 || g.isAhead(id, now) {
		return g.wrongTime(id, now)
	}
	if least, ok := g.opt.Clock.Least(now); ok && id.Time < least-int64(maxBehind) {
		return g.wrongTime(id, now)
	}
	return nil
}

// isAhead reports whether an id is from the far future.
func (g *Gateway) isAhead(id kv.TxnID, now int64) bool {
	return id.Time > g.opt.Clock.WallAt(now)+int64(kv.MaxIDAhead)
}

func (g *Gateway) wrongTime(id kv.TxnID, now int64) *kv.Error {
	stamp := func(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339) }
	wall := g.opt.Clock.WallAt(now)
	return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: fmt.Sprintf("the time in the transaction id is %s, and the node's clock shows %s", stamp(id.Time), stamp(wall)),
		Hint: "create ids with the node's clock, which the welcome message contains, or let the node create them; check the clock of the client", ServerTime: wall}
}

func (g *Gateway) of(id kv.TxnID) *stripe {
	return g.stripes[txn.Affinity(id)%uint64(len(g.stripes))]
}

// callback is the token of every call: what to do with its Done, and when
// that was. Asking for the time is a system call, so that nobody does it
// twice for one event.
type callback func(d *txn.Done, now int64)

func (f callback) over(d *txn.Done, now int64) { f(d, now) }

// caller is the token of every call. What d points to is valid only until
// over returns.
type caller interface{ over(d *txn.Done, now int64) }

// run has f work on a stripe's machine and does what the machine wants.
func (g *Gateway) run(s *stripe, f func(m *txn.Gateway, now int64)) {
	g.runAt(g.opt.Clock.Now(), s, false, f)
}

func (g *Gateway) runAt(now int64, s *stripe, alone bool, f func(m *txn.Gateway, now int64)) {
	s.mu.Lock()
	f(s.m, now)
	g.settle(now, s, alone)
}

// settle unlocks a stripe and does what its machine wants. alone: what the
// machine has done was for one request that came alone.
func (g *Gateway) settle(now int64, s *stripe, alone bool) {
	out := outputs.Get().(*txn.Output)
	s.m.FlushInto(out)
	n := s.m.InFlight()
	delta := n - s.counted
	s.counted = n
	s.mu.Unlock()
	if delta != 0 && g.inFlight.Add(int64(delta)) == int64(delta) && delta > 0 {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
	if g.opt.Tracer != nil && len(out.Send) > 0 {
		g.opt.Tracer.Label(out.Send)
	}
	switch {
	case len(out.Send) == 1 && alone && g.InFlight() <= 1:
		g.opt.SendAlone(out.Send[0])
	case len(out.Send) > 0:
		g.opt.Send(out.Send)
	}
	for i := range out.Done {
		out.Done[i].Token.(caller).over(&out.Done[i], now)
	}
	if out.Borrow {
		g.lend(s)
	}
	for _, sh := range out.LeftOut {
		for _, other := range g.stripes {
			if other != s {
				g.run(other, func(m *txn.Gateway, now int64) { m.Shards().LeaveOut(now, sh) })
			}
		}
	}
	for _, name := range out.GiveBack {
		g.run(g.stripes[0], func(m *txn.Gateway, now int64) { m.GiveBack(now, name) })
	}
	clear(out.Send)
	clear(out.Done)
	outputs.Put(out)
}

// lend has the first machine fix a state for another one.
func (g *Gateway) lend(to *stripe) {
	g.run(g.stripes[0], func(m *txn.Gateway, now int64) {
		m.Lend(now, callback(func(d *txn.Done, _ int64) {
			state, f := d.State, d.Failure
			g.run(to, func(m *txn.Gateway, now int64) { m.Borrowed(now, state, f) })
		}))
	})
}

// outputs are used again.
var outputs = sync.Pool{New: func() any { return new(txn.Output) }}

// Deliver takes messages for this gateway. It calls back the callers whose
// transactions end with them.
func (g *Gateway) Deliver(envs []*msg.Envelope) {
	for _, env := range envs {
		g.deliverToAll(env)
	}
	if g.closed.Load() {
		envs = errands(envs)
	}
	if len(envs) == 1 {
		g.run(g.of(txn.Subject(envs[0])), func(m *txn.Gateway, now int64) { m.Deliver(now, envs[0]) })
		return
	}
	now := g.opt.Clock.Now()
	for _, s := range g.stripes {
		// To look at all of them once per stripe is cheaper than to sort them.
		locked := false
		for _, env := range envs {
			if g.of(txn.Subject(env)) != s {
				continue
			}
			if !locked {
				s.mu.Lock()
				locked = true
			}
			s.m.Deliver(now, env)
		}
		if locked {
			g.settle(now, s, false)
		}
	}
}

// deliverToAll takes a message that is about no transaction.
func (g *Gateway) deliverToAll(env *msg.Envelope) {
	switch b := env.Body.(type) {
	case *msg.HeatMap:
		g.setHeat(txn.NewHeat(b))
		if g.opt.HotMaps != nil {
			g.opt.HotMaps.Moved(b.Epoch, b.Moved)
		}
	case *msg.Announcement:
		switch {
		case b.Call == nil:
			g.announced(env)
		case b.Call.Asker != 0:
			g.onQuestion(b.Call)
		default:
			g.onAnswer(b.Call)
		}
	}
}

// tick runs the machines' timers while something is under way.
func (g *Gateway) tick() {
	defer close(g.done)
	t := time.NewTicker(g.opt.TickEvery)
	defer t.Stop()
	for {
		if g.inFlight.Load() == 0 {
			t.Stop()
			select {
			case <-g.stop:
				return
			case <-g.wake:
				t.Reset(g.opt.TickEvery)
			}
		}
		select {
		case <-g.stop:
			return
		case <-t.C:
		}
		now := g.opt.Clock.Now()
		for _, s := range g.stripes {
			g.runAt(now, s, false, func(m *txn.Gateway, now int64) { m.Tick(now) })
		}
	}
}

// SetDown says whether a node can be reached.
func (g *Gateway) SetDown(n kv.NodeID, down bool) {
	for _, s := range g.stripes {
		g.run(s, func(m *txn.Gateway, now int64) { m.SetDown(now, n, down) })
	}
}

// Learn says what a shard's incarnation is.
func (g *Gateway) Learn(sh kv.ShardID, inc kv.Incarnation) {
	for _, s := range g.stripes {
		g.run(s, func(m *txn.Gateway, _ int64) { m.Shards().Learn(sh, inc) })
	}
}

// LearnAborts says what a shard's incarnation is, and how many attempts it has aborted.
func (g *Gateway) LearnAborts(sh kv.ShardID, k kv.Known) {
	for _, s := range g.stripes {
		g.run(s, func(m *txn.Gateway, _ int64) { m.Shards().LearnAborts(sh, k) })
	}
}

func (g *Gateway) setHeat(h *txn.Heat) {
	for _, s := range g.stripes {
		g.run(s, func(m *txn.Gateway, now int64) { m.SetHeat(now, h) })
	}
}

// InFlight is the number of transactions, scans and enquiries under way.
func (g *Gateway) InFlight() int { return int(g.inFlight.Load()) }

// Open is the number of interactive transactions that are open.
func (g *Gateway) Open() int { return int(g.open.Load()) }

// Refused counts the requests that were refused for want of room.
func (g *Gateway) Refused() uint64 { return g.refused.Load() }

// Admission counts what was refused, and why.
func (g *Gateway) Admission() (n admission.Counters) {
	for _, s := range g.stripes {
		s.mu.Lock()
		n.Add(s.m.Stats().Admission)
		s.mu.Unlock()
	}
	return n
}

// Rounds counts the rounds that were begun to fix a state of the whole store.
func (g *Gateway) Rounds() (n uint64) {
	for _, s := range g.stripes {
		s.mu.Lock()
		n += s.m.Stats().Rounds
		s.mu.Unlock()
	}
	return n
}

// Close ends the ticker. Calls that are under way are not answered any more.
func (g *Gateway) Close() {
	g.closed.Store(true)
	close(g.stop)
	<-g.done
	g.endAnswers()
}

// deadline turns a time of day into the clock's. Beyond the maximum age of a transaction, and for the
// zero time, there is none: the state machine bounds the age itself, and its error says so.
func (g *Gateway) deadline(now int64, t time.Time) int64 {
	left := time.Until(t)
	if t.IsZero() || left >= kv.MaxTxnAge {
		return math.MaxInt64
	}
	return now + int64(left)
}

// response turns the end of a call into what callers get.
func (g *Gateway) response(d *txn.Done) Response {
	r := Response{ID: d.Txn.TxnID, Attempts: int(d.Attempts), Results: d.Results, Receipt: d.Receipt, Ended: d.Ended, ResultsLost: d.ResultsLost, Aborts: d.Aborts,
		Plan: d.Plan, Index: d.Index, At: d.At}
	if len(d.Pins) == 1 {
		r.Pin = &d.Pins[0]
	}
	if d.Failure != nil {
		r.Err, r.Results, r.Current = g.errorOf(d.Failure), nil, d.Failure.Current
		if r.Err.Kind == kv.KindResourceExhausted {
			g.refused.Add(1)
		}
	}
	return r
}

// errorOf is a failure as callers are told of it.
func (g *Gateway) errorOf(f *msg.Failure) *kv.Error {
	e := f.Error()
	if f.Down != 0 {
		e.Down = g.opt.Down(f.Down)
	}
	if e.Down != nil && e.Kind == kv.KindUnavailable {
		told := e.Down.Error()
		e.Hint = cmp.Or(e.Hint, told.Hint)
		if len(e.Key) > 0 { // one that lives elsewhere, and the text says why
			e.Text += "; " + told.Text
		} else {
			e.Text = told.Text
		}
	}
	hint(e)
	return e
}

// hint says what a client can do about an error that has no hint yet.
func hint(e *kv.Error) {
	if e.Hint != "" {
		return
	}
	switch e.Kind {
	case kv.KindAborted:
		e.Hint = "retry the transaction with the same id, so that it keeps its age"
	case kv.KindUnavailable, kv.KindResourceExhausted:
		e.Hint = "retry after a short delay"
	case kv.KindDeadlineExceeded:
		e.Hint = "use a longer timeout; the receipt shows what the transaction waited for"
	case kv.KindOutcomeUnknown:
		e.Hint = "query the outcome by the transaction id"
	}
}
