package gateway

import (
	"cmp"
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

// tickInterval is the resolution of retries and deadlines.
const tickInterval = 5 * time.Millisecond

// Options are the parameters of a gateway.
type Options struct {
	// Machine is the configuration of the state machines.
	Machine txn.Config
	// Clock is the node's clock. Its Wall makes ids.
	Clock *clock.Hybrid
	// Send sends envelopes to shards and gateways. It must not block, nor retain the slice.
	Send func([]*msg.Envelope)
	// SendAlone sends the only message of the only transaction in flight. It may use the caller's goroutine
	// for longer than Send. Default: Send.
	SendAlone func(*msg.Envelope)
	// Stripes is the number of state machines. Default 8.
	Stripes int
	// Gateways is the number of gateways in the cluster, including this one. Default 1.
	Gateways int
	// Observer is notified of finished transactions. Default: none.
	Observer Observer
	// HotMaps stores which keys have been moved. Default: none.
	HotMaps HotMaps
	// Tracer makes spans. Default none.
	Tracer *trace.Tracer
	// DescribeDown describes what is unavailable while a node is down, for errors. Default: the node's number only.
	DescribeDown func(kv.NodeID) *kv.Down
	// ServeCall executes the calls of other nodes (AskNode). It is called concurrently. Default: calls get no
	// response.
	ServeCall func(question []byte) []byte
}

// HotMaps stores across restarts which keys have been moved to the hot shard, so that a gateway does not
// need a redirect for each of them. It is a cache: it may lose keys and be outdated. A higher epoch is
// newer.
type HotMaps interface {
	// HotMap returns the stored keys; epoch 0 if there are none.
	HotMap() (epoch uint64, keys [][]byte)
	// SetHotMap receives each list of the hot shard, often the same one again. It must not block, nor change the
	// keys, which it may retain.
	SetHotMap(epoch uint64, keys [][]byte)
}

// Observer is notified of finished transactions. Its methods must not block.
type Observer interface {
	// Ended is called when a transaction has ended, with its duration.
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

// ReadsOnly reports whether transactions of this kind are read-only.
func (k Kind) ReadsOnly() bool { return k == OneShotRead || k == InteractiveRead || k == ScanKind }

// Gateway runs transactions. Its methods are safe for concurrent use.
type Gateway struct {
	opt     Options
	stripes []*stripe
	// known is what the stripes know of the shards.
	known incarnations
	// inFlight is the sum over the stripes as of their last flush.
	inFlight  atomic.Int64
	wake      chan struct{}
	stop      chan struct{}
	done      chan struct{}
	closed    atomic.Bool
	refused   atomic.Uint64
	open      atomic.Int64
	drainAcks drainAcks
	ids       idClock
	calls     *nodeCalls
}

type stripe struct {
	mu sync.Mutex
	m  *txn.Gateway
	// inFlight is this stripe's part of Gateway.inFlight.
	inFlight int
}

// New makes a gateway and starts its ticker.
func New(opt Options) *Gateway {
	if opt.Stripes == 0 {
		opt.Stripes = 8
	}
	if opt.Machine.MaxInFlight == 0 {
		opt.Machine.MaxInFlight = kv.DefaultMaxInFlight
	}
	if opt.DescribeDown == nil {
		opt.DescribeDown = func(n kv.NodeID) *kv.Down { return &kv.Down{Node: n} }
	}
	if opt.SendAlone == nil {
		opt.SendAlone = func(env *msg.Envelope) { opt.Send([]*msg.Envelope{env}) }
	}
	g := &Gateway{opt: opt, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		ids: idClock{opt.Clock}, calls: newNodeCalls(&opt)}
	per := opt.Machine
	if per.RoundGap == 0 {
		per.RoundGap = kv.MinRoundPause(max(opt.Gateways, 1))
	}
	per.MaxInFlight = (opt.Machine.MaxInFlight + opt.Stripes - 1) / opt.Stripes
	per.Admission = per.Admission.Split(opt.Stripes)
	g.known = make(incarnations, per.Router.Shards())
	per.Incarnations = g.known
	for i := range opt.Stripes {
		per.Stripe, per.Stripes, per.Borrows = i, opt.Stripes, i > 0
		g.stripes = append(g.stripes, &stripe{m: txn.NewGateway(per)})
	}
	if opt.HotMaps != nil {
		epoch, keys := opt.HotMaps.HotMap()
		for _, s := range g.stripes {
			s.m.SetMovedKeys(epoch, keys)
		}
	}
	go g.tick()
	return g
}

// NewID makes a transaction id.
func (g *Gateway) NewID() kv.TxnID {
	return kv.TxnID{Time: g.opt.Clock.Wall(), Rand: rand.Uint64()}
}

func (g *Gateway) stripeOf(id kv.TxnID) *stripe {
	return g.stripes[txn.Affinity(id)%uint64(len(g.stripes))]
}

// callback is a pendingCall that is a function. now is the time of the event; it is passed on because
// reading the clock is a system call.
type callback func(d *txn.Done, now int64)

func (f callback) finish(d *txn.Done, now int64) { f(d, now) }

// pendingCall is the token of every call. finish is called when the call ends; d is valid only until finish
// returns.
type pendingCall interface{ finish(d *txn.Done, now int64) }

// run executes f on a stripe's state machine, and sends the output.
func (g *Gateway) run(s *stripe, f func(m *txn.Gateway, now int64)) {
	g.runAt(g.opt.Clock.Now(), s, false, f)
}

// runAll executes f on every state machine, in the order of stripes.
func (g *Gateway) runAll(f func(m *txn.Gateway, now int64)) {
	for _, s := range g.stripes {
		g.run(s, f)
	}
}

func (g *Gateway) runAt(now int64, s *stripe, alone bool, f func(m *txn.Gateway, now int64)) {
	s.mu.Lock()
	f(s.m, now)
	g.unlockAndSend(now, s, alone)
}

// unlockAndSend flushes a stripe's state machine, unlocks the stripe, sends the messages, and runs the
// callbacks. alone: the work was for one request that arrived alone.
func (g *Gateway) unlockAndSend(now int64, s *stripe, alone bool) {
	out := outputs.Get().(*txn.Output)
	s.m.FlushInto(out)
	n := s.m.InFlight()
	delta := n - s.inFlight
	s.inFlight = n
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
		out.Done[i].Handle.(pendingCall).finish(&out.Done[i], now)
	}
	if out.BorrowSnapshot {
		g.lendSnapshot(s)
	}
	for _, sh := range out.ExcludedShards {
		for _, other := range g.stripes {
			if other != s {
				g.run(other, func(m *txn.Gateway, now int64) { m.Shards().LeaveOut(now, sh) })
			}
		}
	}
	for _, name := range out.ReturnSnapshots {
		g.run(g.stripes[0], func(m *txn.Gateway, now int64) { m.ReturnSnapshot(now, name) })
	}
	clear(out.Send)
	clear(out.Done)
	outputs.Put(out)
}

// lendSnapshot makes the first stripe fix a snapshot on behalf of another one, so that stripes share
// rounds.
func (g *Gateway) lendSnapshot(to *stripe) {
	g.run(g.stripes[0], func(m *txn.Gateway, now int64) {
		m.LendSnapshot(now, callback(func(d *txn.Done, _ int64) {
			state, f := d.Snapshot, d.Failure
			g.run(to, func(m *txn.Gateway, now int64) { m.OnBorrowedSnapshot(now, state, f) })
		}))
	})
}

// outputs are recycled.
var outputs = sync.Pool{New: func() any { return new(txn.Output) }}

// Deliver handles messages for this gateway, and calls back the callers whose transactions end.
func (g *Gateway) Deliver(envs []*msg.Envelope) {
	for _, env := range envs {
		g.deliverBroadcast(env)
	}
	if g.closed.Load() {
		envs = dropErrands(envs)
	}
	if len(envs) == 1 {
		g.run(g.stripeOf(txn.Subject(envs[0])), func(m *txn.Gateway, now int64) { m.Deliver(now, envs[0]) })
		return
	}
	now := g.opt.Clock.Now()
	for _, s := range g.stripes {
		// Scanning the envelopes once per stripe is cheaper than sorting them.
		locked := false
		for _, env := range envs {
			if g.stripeOf(txn.Subject(env)) != s {
				continue
			}
			if !locked {
				s.mu.Lock()
				locked = true
			}
			s.m.Deliver(now, env)
		}
		if locked {
			g.unlockAndSend(now, s, false)
		}
	}
}

// deliverBroadcast handles a message that concerns no transaction.
func (g *Gateway) deliverBroadcast(env *msg.Envelope) {
	switch b := env.Body.(type) {
	case *msg.HeatMap:
		h := txn.NewHeat(b)
		g.runAll(func(m *txn.Gateway, now int64) { m.SetHeat(now, h) })
		if g.opt.HotMaps != nil {
			g.opt.HotMaps.SetHotMap(b.Epoch, b.Moved)
		}
	case *msg.Announcement:
		switch {
		case b.Call == nil:
			g.onAnnouncement(env)
		case b.Call.Requester != 0:
			if !g.closed.Load() {
				g.calls.onRequest(b.Call)
			}
		default:
			g.calls.onResponse(b.Call)
		}
	}
}

// tick runs the timers of the state machines while a transaction is in flight.
func (g *Gateway) tick() {
	defer close(g.done)
	t := time.NewTicker(tickInterval)
	defer t.Stop()
	for {
		if g.inFlight.Load() == 0 {
			t.Stop()
			select {
			case <-g.stop:
				return
			case <-g.wake:
				t.Reset(tickInterval)
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

// SetDown sets whether a node is unreachable; with kv.NoLeader, whether shards with several replicas have no leader.
func (g *Gateway) SetDown(n kv.NodeID, down bool, leaderless ...kv.ShardID) {
	g.runAll(func(m *txn.Gateway, now int64) { m.SetDown(now, n, down, leaderless...) })
}

// SetIncarnation sets the incarnation of a shard. If it is that of a new leader, requests that wait are retried.
func (g *Gateway) SetIncarnation(sh kv.ShardID, inc kv.Incarnation) {
	if int(sh) >= len(g.known) || inc <= g.known.Known(sh).Incarnation {
		return
	}
	g.SetAborts(sh, kv.KnownState{Incarnation: inc})
	if g.opt.Machine.Replicated {
		g.runAll(func(m *txn.Gateway, now int64) { m.Learn(now, sh, inc) })
	}
}

// SetAborts sets the incarnation of a shard and the number of attempts that it has aborted.
func (g *Gateway) SetAborts(sh kv.ShardID, k kv.KnownState) {
	if int(sh) < len(g.known) {
		g.known.Learn(sh, k)
	}
}

// InFlight is the number of transactions, scans and outcome queries in flight.
func (g *Gateway) InFlight() int { return int(g.inFlight.Load()) }

// OpenCount is the number of open interactive transactions.
func (g *Gateway) OpenCount() int { return int(g.open.Load()) }

// Stats are counters since the start of a gateway.
type Stats struct {
	// Rejected counts the requests that were rejected for lack of resources, Admission the rejected ones by
	// reason.
	Rejected  uint64
	Admission admission.Counters
	// Rounds counts the snapshot rounds that were started.
	Rounds uint64
}

// Stats returns the counters of all state machines.
func (g *Gateway) Stats() Stats {
	out := Stats{Rejected: g.refused.Load()}
	for _, s := range g.stripes {
		s.mu.Lock()
		st := s.m.Stats()
		s.mu.Unlock()
		out.Admission.Add(st.Admission)
		out.Rounds += st.Rounds
	}
	return out
}

// Close stops the ticker. Calls in flight get no response.
func (g *Gateway) Close() {
	g.closed.Store(true)
	close(g.stop)
	<-g.done
	g.calls.close()
}

// localDeadline converts a wall-clock deadline to the gateway's clock. For the zero time and for times beyond
// the maximum age of a transaction it returns no deadline: the state machine bounds the age itself, with an
// error that explains it.
func localDeadline(now int64, t time.Time) int64 {
	remaining := time.Until(t)
	if t.IsZero() || remaining >= kv.MaxTxnAge {
		return math.MaxInt64
	}
	return now + int64(remaining)
}

// response converts the end of a call to a Response.
func (g *Gateway) response(d *txn.Done) Response {
	r := Response{ID: d.Txn.TxnID, Attempts: int(d.Attempts), Results: d.Results, Contention: d.Contention,
		ResultsLost: d.ResultsLost, Aborts: d.AbortReasons,
		Plan: d.Plan, CSN: d.LastAgentCSN, At: d.ReadCSNs}
	if len(d.Snapshots) == 1 {
		r.Snapshot = &d.Snapshots[0]
	}
	if d.Failure != nil {
		r.Err, r.Results, r.Current = g.errorOf(d.Failure), nil, d.Failure.Current
		if r.Err.Kind == kv.KindResourceExhausted {
			g.refused.Add(1)
		}
	}
	return r
}

// errorOf converts a failure to the error for callers.
func (g *Gateway) errorOf(f *msg.Failure) *kv.Error {
	e := f.Error()
	if f.Down != 0 {
		e.Down = g.opt.DescribeDown(f.Down)
	}
	if e.Down != nil && e.Kind == kv.KindUnavailable {
		down := e.Down.Error()
		e.Hint = cmp.Or(e.Hint, down.Hint)
		if len(e.Key) > 0 { // of a key that was redirected; the text explains why
			e.Text += "; " + down.Text
		} else {
			e.Text = down.Text
		}
	}
	addHint(e)
	return e
}

// addHint adds what a client can do about an error, unless it has a hint.
func addHint(e *kv.Error) {
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
