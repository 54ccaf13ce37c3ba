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
	// traces is nil if nothing is traced. It is guarded by mu.
	traces *trace.Shard

	// mu is held for a step and until its output is submitted.
	mu sync.Mutex
	m  *shard.Machine
	// wakeAt is when the goroutine's timer is set to go off, math.MaxInt64 for
	// never; a step by somebody else may want it earlier.
	wakeAt int64
	// stopped: no more steps.
	stopped bool
	// idOffset is the machine's IDOffset after the last step, noOffset if none.
	idOffset atomic.Int64
	// expiry is why the machine does not delete keys by the time of day (shard.Doubt).
	expiry atomic.Uint32

	leases leaseHorizon

	// log is only the committer's.
	log groupcommit.Shard

	last counted
	busy busyShare
	// took is how long the last step took, portion how much the next ones take.
	took    time.Duration
	portion portion
}

// busyShare is in which share of the time a shard works: of the last whole
// period.
type busyShare struct {
	since, worked int64
	share         float64
}

// busyPeriod is over which time the share is taken. Somewhat arbitrary: as often
// as hot keys are told of.
const busyPeriod = int64(kv.DefaultHeatEvery)

// at is the share as of now.
func (b *busyShare) at(now int64) float64 {
	if d := now - b.since; d >= busyPeriod {
		b.share = float64(b.worked) / float64(d)
		b.since, b.worked = now, 0
	}
	return b.share
}

// counted is what has been told to the metrics.
type counted struct{ marks, cold, full, crowded, noRoom uint64 }

func newShardLoop(n *Node, m *shard.Machine, wakeAt int64) *shardLoop {
	l := &shardLoop{n: n, id: m.ID(), inbox: newInbox(), log: groupcommit.Shard{ID: m.ID()}, m: m, wakeAt: wakeAt}
	if n.opt.Metrics != nil {
		l.metrics = n.opt.Metrics.Shard(m.ID())
		l.metrics.Watch(l.stats)
		for i, s := range []metrics.Stage{metrics.LockWait, metrics.Vote, metrics.Decision} {
			l.stages[i] = n.opt.Metrics.Stage(s).NewBatch()
		}
	}
	l.noteIDs()
	if n.opt.Tracer != nil {
		l.traces = n.opt.Tracer.Shard(m.ID(), m.ID() == n.opt.Router.HotShard())
	}
	return l
}

// minSleep is the least time that a shard sleeps before a timer: the
// machine's grain.
const minSleep = time.Millisecond

func (l *shardLoop) run() {
	defer l.n.wg.Done()
	next := l.wakeAt
	defer l.rest()
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
		next = l.work(msgs, reads)
	}
}

// work takes what was in the inbox in as many steps as its portions need, and returns when
// the machine wants to be woken.
func (l *shardLoop) work(msgs []*msg.Envelope, reads []entry.ReadResult) (next int64) {
	for {
		n := min(l.portion.size(), len(msgs))
		m := min(l.portion.size(), len(reads))
		l.mu.Lock()
		out, submitted := l.step(msgs[:n], reads[:m])
		msgs, reads = msgs[n:], reads[m:]
		more := len(msgs)+len(reads) > 0
		l.portion.took(n+m, l.took)
		l.portion.left = more
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

// rest ends the shard's steps, and has the log say so if it may.
func (l *shardLoop) rest() {
	l.mu.Lock()
	l.stopped = true
	entries := l.m.Rest()
	if len(entries) > 0 {
		o := outputs.Get().(*groupcommit.Step)
		o.Shard, o.Out.Entries = &l.log, append(o.Out.Entries, entries...)
		l.n.committer.submit(o)
	}
	l.mu.Unlock()
}

// stepHere has the calling goroutine run a step for one message, to its
// entries' being appended, if nobody else runs one now. It reports whether it
// did. For a message that is alone that is quicker than to wake others.
func (l *shardLoop) stepHere(env *msg.Envelope) bool {
	if !l.mu.TryLock() {
		return false
	}
	if l.stopped || l.portion.left {
		l.mu.Unlock()
		return false
	}
	out, submitted := l.step([]*msg.Envelope{env}, nil)
	early := out.Next < l.wakeAt
	l.mu.Unlock()
	if early {
		l.inbox.poke() // to have the timer set
	}
	if len(out.Urgent) > 0 {
		l.n.route(out.Urgent)
	}
	if submitted {
		l.n.committer.commitNow()
	}
	return true
}

// noOffset: the shard has not forgotten by any time yet.
const noOffset = math.MinInt64

// noteIDs takes note of the time by which the shard forgets.
func (l *shardLoop) noteIDs() {
	offset, ok := l.m.IDOffset()
	if !ok {
		offset = noOffset
	}
	l.idOffset.Store(offset)
	l.expiry.Store(uint32(l.m.ExpirySuspended()))
}

// step runs a step and submits its output, and reports whether there is any.
// l.mu is held.
func (l *shardLoop) step(msgs []*msg.Envelope, reads []entry.ReadResult) (out shard.Output, submitted bool) {
	begin := time.Now()
	if l.traces != nil {
		l.traces.Received(msgs)
	}
	o := outputs.Get().(*groupcommit.Step)
	now := l.n.opt.Clock.Now()
	disk := l.n.Room()
	out = l.m.Step(shard.Input{Now: now, Wall: l.n.clock.TimeOfDay(), IDTime: l.n.clock.Agreed(now),
		Peers: shard.Peers(l.n.clock.peers.Load()), Messages: msgs, Reads: reads, Busy: l.busy.at(now),
		Disk: disk.Level, DiskText: disk.text, Room: o.Out})
	l.took = time.Since(begin)
	l.busy.worked += int64(l.took)
	l.noteIDs()
	err := l.leases.advance(l.m, now)
	if err != nil {
		l.n.opt.OnFatal(fmt.Errorf("the leases of shard %v cannot be saved: %w", l.id, err))
	}
	if l.traces != nil {
		l.traces.Sent(out.Send)
		l.traces.Sent(out.Urgent)
	}
	if l.metrics != nil {
		l.measure(len(msgs), len(out.Entries), time.Since(begin))
	}
	o.Shard, o.Out = &l.log, out
	if o.Empty() {
		free(o)
		return out, false
	}
	l.n.committer.submit(o)
	return out, true
}

// outputs are used again, for the room in their slices.
var outputs = sync.Pool{New: func() any { return new(groupcommit.Step) }}

// maxRoom bounds the entries, and the messages, for which a free output keeps
// room.
const maxRoom = 4096

// free gives an output up: its entries are appended and its messages are in
// other hands.
func free(o *groupcommit.Step) {
	clear(o.Out.Entries)
	clear(o.Out.Send)
	room := shard.Output{Entries: o.Out.Entries[:0], Send: o.Out.Send[:0]}
	if cap(room.Entries) > maxRoom {
		room.Entries = nil
	}
	if cap(room.Send) > maxRoom {
		room.Send = nil
	}
	*o = groupcommit.Step{Out: room}
	outputs.Put(o)
}

func (l *shardLoop) measure(inputs, entries int, took time.Duration) {
	l.metrics.Step(inputs, entries, took)
	lv := l.m.Levels()
	l.metrics.SetLevels(metrics.Levels{Queue: l.inbox.len(), Waiting: lv.Waiting, Intents: lv.Prepared, Records: lv.Records, Keys: lv.Keys,
		Readers: lv.Readers, Held: lv.Held, ColdReading: lv.ColdReading})
	t := l.m.TakeTimes()
	for i, times := range [][]int64{t.LockWait, t.ParkToReady, t.VoteToDecide} {
		for _, d := range times {
			l.stages[i].Observe(time.Duration(d))
		}
		if len(times) > 0 {
			l.stages[i].Flush()
		}
	}
	if len(t.LockWait) > 0 {
		sum := int64(0)
		for _, w := range t.LockWait {
			sum += w
		}
		l.metrics.Waited(len(t.LockWait), time.Duration(sum))
	}
	now := counted{marks: lv.Marks, cold: lv.ColdReads, full: lv.Full + lv.Crowded + lv.NoRoom, crowded: lv.Crowded, noRoom: lv.NoRoom}
	l.metrics.Wounded(int(now.marks - l.last.marks))
	l.metrics.ColdRead(int(now.cold - l.last.cold))
	l.metrics.Refused(int(now.full-l.last.full), int(now.crowded-l.last.crowded))
	l.metrics.RefusedForRoom(int(now.noRoom - l.last.noRoom))
	l.last = now
}
