package node

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/trace"
)

// shardLoop runs one shard.
type shardLoop struct {
	n       *Node
	id      kv.ShardID
	inbox   *inbox
	metrics *metrics.Shard
	stages  [3]*metrics.Batch // lock wait, vote, decide
	// traces is nil without tracing. It is guarded by mu.
	traces *trace.Shard

	// mu is held for a step and until its output is submitted.
	mu sync.Mutex
	// m is the machine. Of a shard with several replicas it is nil unless this node leads, and gen counts the machines.
	m   *shard.Machine
	gen uint32
	// incarnation is that of the machine, 0 without one.
	incarnation atomic.Uint64
	// wakeAt is the time of the goroutine's timer, math.MaxInt64 for never. A step on another goroutine may
	// need an earlier one.
	wakeAt int64
	// stopped: no further steps.
	stopped bool
	// idOffset is the machine's IDOffset after the last step, noOffset if there is none.
	idOffset atomic.Int64
	// expiry is why the machine does not delete keys by the time of day (shard.Doubt).
	expiry atomic.Uint32

	leases leaseHorizon

	// log is the shard's log, with what waits for it. The committer and the releaser use it.
	log *groupcommit.Shard

	busy busyShare
	// lastDuration is the duration of the last step, portion the size of the next ones.
	lastDuration time.Duration
	portion      portion
}

// busyShare is the share of the time in which a shard executes steps, for the last whole period.
type busyShare struct {
	since, worked int64
	share         float64
}

// busyPeriod is the averaging period: that of load reports.
const busyPeriod = int64(kv.DefaultHeatInterval)

// current returns the share at time now.
func (b *busyShare) current(now int64) float64 {
	if d := now - b.since; d >= busyPeriod {
		b.share = float64(b.worked) / float64(d)
		b.since, b.worked = now, 0
	}
	return b.share
}

func newShardLoop(n *Node, id kv.ShardID) *shardLoop {
	l := &shardLoop{n: n, id: id, inbox: newInbox(), wakeAt: math.MaxInt64}
	l.idOffset.Store(noOffset)
	if n.opt.Metrics != nil {
		l.metrics = n.opt.Metrics.Shard(id)
		l.metrics.Watch(l.stats)
		for i, s := range []metrics.Stage{metrics.LockWait, metrics.Vote, metrics.Decision} {
			l.stages[i] = n.opt.Metrics.Stage(s).NewBatch()
		}
	}
	if n.opt.Tracer != nil {
		l.traces = n.opt.Tracer.Shard(id, id == n.opt.Router.HotShard())
	}
	return l
}

// setMachine sets the machine, nil for none.
func (l *shardLoop) setMachine(m *shard.Machine, wakeAt int64) {
	l.m, l.wakeAt = m, wakeAt
	l.gen++
	l.inbox.setGen(l.gen)
	if m == nil {
		l.incarnation.Store(0)
		return
	}
	l.incarnation.Store(uint64(m.Incarnation()))
	l.publishClockState()
}

// runs returns the incarnation of the machine, 0 without one.
func (l *shardLoop) runs() kv.Incarnation { return kv.Incarnation(l.incarnation.Load()) }

// receive takes messages for the shard: for its machine, or for its replica here.
func (l *shardLoop) receive(envs ...*msg.Envelope) {
	if l.n.past != nil {
		envs = l.n.past.Take(l.id, envs)
	}
	if len(envs) > 0 {
		l.inbox.push(envs...)
	}
}

// minSleep is the minimum duration of a timer, which is the machine's time resolution.
const minSleep = time.Millisecond

func (l *shardLoop) run() {
	defer l.n.wg.Done()
	next := l.wakeAt
	defer l.shutDown()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var msgs []*msg.Envelope
	var reads []entry.ReadResult
	for {
		if next != math.MaxInt64 {
			timer.Reset(max(time.Duration(next-l.n.opt.Clock.Now()), minSleep))
		} else {
			timer.Stop()
		}
		select {
		case <-l.n.stop:
			return
		case <-l.inbox.signal:
		case <-timer.C:
		}
		msgs, reads = l.inbox.take(msgs, reads)
		next = l.process(msgs, reads)
	}
}

// process handles the content of the inbox in steps of one portion each, and returns when the machine's
// next timer expires.
func (l *shardLoop) process(msgs []*msg.Envelope, reads []entry.ReadResult) (next int64) {
	for {
		n := min(l.portion.size(), len(msgs))
		m := min(l.portion.size(), len(reads))
		l.mu.Lock()
		out, submitted := l.step(msgs[:n], reads[:m])
		msgs, reads = msgs[n:], reads[m:]
		more := len(msgs)+len(reads) > 0
		l.portion.adapt(n+m, l.lastDuration)
		l.portion.hasRest = more
		l.wakeAt = out.Next
		l.mu.Unlock()
		if len(out.Urgent) > 0 {
			l.n.route(out.Urgent)
		}
		if submitted {
			l.n.committer.commit()
		}
		if !more {
			return out.Next
		}
	}
}

// shutDown ends the steps of the shard, and appends the entry of a clean shutdown if the machine allows it.
func (l *shardLoop) shutDown() {
	l.mu.Lock()
	l.stopped = true
	entries := l.m.Shutdown()
	if len(entries) > 0 {
		o := outputs.Get().(*groupcommit.Step)
		o.Shard, o.Out.Entries = l.log, append(o.Out.Entries, entries...)
		l.n.committer.submit(o)
	}
	l.mu.Unlock()
}

// tryStep runs a step for one message on the calling goroutine, including the append, unless another step
// is running. It reports whether it did. For a single message this is faster than waking other goroutines.
func (l *shardLoop) tryStep(env *msg.Envelope) bool {
	if l.n.groups != nil || !l.mu.TryLock() {
		return false
	}
	if l.stopped || l.portion.hasRest {
		l.mu.Unlock()
		return false
	}
	out, submitted := l.step([]*msg.Envelope{env}, nil)
	early := out.Next < l.wakeAt
	l.mu.Unlock()
	if early {
		l.inbox.wake() // the goroutine sets its timer
	}
	if len(out.Urgent) > 0 {
		l.n.route(out.Urgent)
	}
	if submitted {
		l.n.committer.commitNow()
	}
	return true
}

// noOffset: the shard has not collected garbage by time yet.
const noOffset = math.MinInt64

// publishClockState publishes the time by which the shard collects garbage, and why it does not delete
// expired keys.
func (l *shardLoop) publishClockState() {
	offset, ok := l.m.IDOffset()
	if !ok {
		offset = noOffset
	}
	l.idOffset.Store(offset)
	l.expiry.Store(uint32(l.m.ExpirySuspended()))
}

// execute runs a step of the machine. in has its messages and reads, the time, and what only replicas know. The caller
// holds l.mu.
func (l *shardLoop) execute(in shard.Input) shard.Output {
	begin := time.Now()
	if l.traces != nil {
		l.traces.Received(in.Messages)
	}
	in.Wall, in.IDTime = l.n.clock.TimeOfDay(), l.n.clock.GCTime(in.Now)
	in.Peers, in.Busy = shard.Peers(l.n.clock.peers.Load()), l.busy.current(in.Now)
	out := l.m.Step(in)
	l.lastDuration = time.Since(begin)
	l.busy.worked += int64(l.lastDuration)
	l.publishClockState()
	if l.traces != nil {
		l.traces.Sent(out.Send)
		l.traces.Sent(out.Urgent)
	}
	if l.metrics != nil {
		l.recordMetrics(len(in.Messages), len(out.Entries), time.Since(begin))
	}
	return out
}

// step runs a step and submits its output, and reports whether there is any. The caller holds l.mu.
func (l *shardLoop) step(msgs []*msg.Envelope, reads []entry.ReadResult) (out shard.Output, submitted bool) {
	o := outputs.Get().(*groupcommit.Step)
	now := l.n.opt.Clock.Now()
	disk := l.n.DiskSpace()
	out = l.execute(shard.Input{Now: now, Messages: msgs, Reads: reads, Buffers: o.Out, Disk: disk.Level,
		DiskText: disk.reason})
	err := l.leases.advance(l.m, now)
	if err != nil {
		l.n.opt.OnFatal(fmt.Errorf("the leases of shard %v cannot be saved: %w", l.id, err))
	}
	o.Shard, o.Out = l.log, out
	if o.Empty() {
		recycle(o)
		return out, false
	}
	l.n.committer.submit(o)
	return out, true
}

// outputs recycles steps with the capacity of their slices.
var outputs = sync.Pool{New: func() any { return new(groupcommit.Step) }}

// maxRecycledCap bounds the capacity that a recycled step keeps, in entries and in messages.
const maxRecycledCap = 4096

// recycle returns a step to the pool. Its entries are appended, and its messages have been passed on.
func recycle(o *groupcommit.Step) {
	*o = groupcommit.Step{Out: buffersOf(&o.Out)}
	outputs.Put(o)
}

// buffersOf returns the slices of an output for that of a later step.
func buffersOf(o *shard.Output) shard.Output {
	clear(o.Entries)
	clear(o.Send)
	out := shard.Output{Entries: o.Entries[:0], Send: o.Send[:0]}
	if cap(out.Entries) > maxRecycledCap {
		out.Entries = nil
	}
	if cap(out.Send) > maxRecycledCap {
		out.Send = nil
	}
	return out
}

func (l *shardLoop) recordMetrics(inputs, entries int, took time.Duration) {
	l.metrics.Step(inputs, entries, took)
	t := l.m.TakeTimes()
	for i, times := range [][]int64{t.LockWait, t.RequestToReady, t.VoteToDecision} {
		for _, d := range times {
			l.stages[i].Observe(time.Duration(d))
		}
		if len(times) > 0 {
			l.stages[i].Flush()
		}
	}
}

// config is the configuration of the shard's machines.
func (l *shardLoop) config() shard.Config {
	n := l.n
	cfg := n.opt.Shard
	cfg.ID = l.id
	// The gateway of the node that serves the hot shard makes its snapshots and moves.
	cfg.Snapshots.Hot, cfg.Snapshots.Node = n.opt.Router.HotShard(), n.opt.ID
	cfg.Heat.Hot, cfg.Heat.Nodes, cfg.Heat.Node = cfg.Snapshots.Hot, n.opt.Router.Nodes(), n.opt.ID
	cfg.Nodes = cfg.Heat.Nodes
	cfg.CacheBytes /= max(len(n.ids), 1)
	cfg.Node, cfg.Gateway = n.opt.ID, n.opt.ID
	if l.id == cfg.Heat.Hot {
		cfg.Home = n.opt.Router.Shard
	}
	return cfg
}
