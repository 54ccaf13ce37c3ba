package sim

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// shell runs one shard's machine, as a goroutine of package node does.
type shell struct {
	w    *world
	n    *node
	disk *disk
	id   kv.ShardID
	m    *shard.Machine

	// arrived are the messages that have not been pushed to the inbox.
	arrived []*msg.Envelope
	inbox   groupcommit.Inbox
	log     *groupcommit.Shard
	// next is the time of the next scheduled step.
	next int64
	// fullyLoaded: it always reports full load. messageCount counts the messages of its steps.
	fullyLoaded  bool
	messageCount int
	// events are those that the machine reported in the current step.
	events []*logEvent
	// leases is the expiry of the leases granted by the incarnation granter.
	leases  int64
	granter kv.Incarnation
	// wall and local are the times of the node's clocks when the machine was made.
	wall, local int64
	// fixed holds the instants at which the shard fixed its CSN, by its clock.
	fixed map[int64]int64
}

// start makes the machine from the log.
func (s *shell) start() {
	var rec shard.Recovered
	if err := s.disk.store.Recover(s.id, rec.Add); err != nil {
		s.w.fail("%v: recovery: %v", s.id, err)
		return
	}
	s.arrived, s.inbox, s.log = nil, groupcommit.Inbox{}, s.disk.group.NewShard(s.id)
	s.events, s.next = nil, math.MaxInt64
	var out shard.Output
	s.wall, s.local, s.fixed = adjustedClock{s.n}.Wall(), s.n.local(s.w.now), map[int64]int64{}
	if s.w.opt.SentOnce { // then no id has to be looked up
		rec.State.Newest, rec.State.Ahead = -1, nil
	}
	if s.w.opt.KnownLeases {
		rec.Leases = shard.Leases{Known: s.granter == rec.State.Incarnation, Until: s.leases}
	}
	s.m, out = shard.New(s.config(), rec, s.local, s.wall)
	s.raiseClock()
	s.w.trace("%v starts in incarnation %d", s.id, s.m.Incarnation())
	s.perform(out)
}

// deliver delivers a message to the next step. One message in 32 is executed in a step of its own at once, ahead of all
// others, as a gateway does that has a single transaction.
func (s *shell) deliver(env *msg.Envelope) {
	if !s.disk.up {
		return
	}
	if s.w.rng.IntN(32) == 0 {
		s.step([]*msg.Envelope{env}, nil)
		return
	}
	s.arrived = append(s.arrived, env)
	s.wake(s.w.now + int64(s.w.upTo(s.w.opt.Step)))
}

// wake schedules a step.
func (s *shell) wake(at int64) {
	if at >= s.next {
		return
	}
	s.next = at
	incarnation := s.disk.incarnation
	s.w.at(at, func() {
		s.n.whenAwake(func() {
			if s.disk.up && s.disk.incarnation == incarnation && s.next == at {
				s.next = math.MaxInt64
				s.runStep()
			}
		})
	})
}

// load returns the load that a shard reports: full and none by turns.
func (s *shell) load() float64 {
	if d := int64(s.w.opt.BusyFor); s.fullyLoaded || d > 0 && (s.w.now/d+int64(s.id))%2 == 0 {
		return 1
	}
	return 0
}

// runStep runs a step with all messages that have arrived, or with some of them; the others are in a later step.
func (s *shell) runStep() {
	n := len(s.arrived)
	if n > 1 && s.w.rng.IntN(3) == 0 {
		n = 1 + s.w.rng.IntN(n)
	}
	s.inbox.Push(s.arrived[:n]...)
	s.arrived = s.arrived[n:]
	if len(s.arrived) > 0 {
		s.wake(s.w.now + 1)
	}
	s.step(s.inbox.Take(nil, nil))
}

// step runs one step.
func (s *shell) step(msgs []*msg.Envelope, reads []entry.ReadResult) {
	w := s.w
	in := shard.Input{Now: s.n.local(w.now), Wall: adjustedClock{s.n}.Wall(), IDTime: s.idTime(), Messages: msgs,
		Reads: reads, Busy: s.load(), Disk: s.disk.level}
	w.sum.Steps++
	w.sum.Messages += len(in.Messages)
	s.messageCount += len(in.Messages)
	for _, env := range in.Messages {
		w.traceEnv(s.id, "takes", env)
		s.recordArrival(env)
	}
	in.Peers = s.peers()
	out := s.m.Step(in)
	s.recordFixing(in.Now, out.Urgent)
	s.recordFixing(in.Now, out.Send)
	s.raiseClock()
	if !w.opt.Unchecked {
		if err := s.m.Check(); err != nil {
			w.fail("%v", err)
		}
	}
	s.perform(out)
}

// perform executes the output of a step.
func (s *shell) perform(out shard.Output) {
	w := s.w
	s.leases, s.granter = s.m.LeaseHorizon(), s.m.Incarnation()
	step := &groupcommit.Step{Shard: s.log, Out: out}
	s.recordExpiries(out.Send)
	for _, env := range out.Urgent {
		w.send(s.n, env)
	}
	if !step.Empty() {
		s.disk.submit(step, s.events)
	} else if len(s.events) > 0 {
		w.fail("%v reported events, but its step is empty", s.id)
	}
	s.events = nil
	if out.Next != math.MaxInt64 {
		s.wake(max(s.n.global(out.Next), w.now+1))
	}
}

// startRead executes a read from disk: the read happens some time later, and its result arrives some time after that. A
// range is read a few rows at a time, with other writes in between.
func (s *shell) startRead(r entry.Read) {
	w, incarnation := s.w, s.disk.incarnation
	delay, reply := w.about(w.opt.DiskRead/2), w.about(w.opt.DiskRead/2)
	if w.rng.IntN(4) == 0 {
		delay = 0
	}
	w.after(delay, func() {
		if s.disk.incarnation != incarnation || !s.disk.up {
			return
		}
		s.readRows(r, incarnation, func(res entry.ReadResult) {
			if !w.calm && w.chance(w.opt.ReadErrors) {
				res = entry.ReadResult{ID: r.ID, Kind: r.Kind, Err: errUnreadable}
			}
			w.after(reply, func() {
				if s.disk.incarnation == incarnation && s.disk.up {
					s.inbox.PushRead(res)
					s.wake(w.now)
				}
			})
		})
	})
}

// readRows reads; a range in several turns.
func (s *shell) readRows(r entry.Read, incarnation int, then func(entry.ReadResult)) {
	if r.Kind != entry.ReadRange {
		then(s.disk.store.Read(s.id, r))
		return
	}
	turns := engine.NewTurns(r, 1+int(r.ID%3))
	var turn func()
	turn = func() {
		switch {
		case s.disk.incarnation != incarnation || !s.disk.up:
		case turns.Add(s.disk.store.Read(s.id, turns.Next())):
			then(turns.Result())
		default:
			s.w.after(s.w.opt.DiskRead/16, turn)
		}
	}
	turn()
}

var errUnreadable = &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: "the simulator made a row unreadable"}

// onCommitted and onVisible are called by the machine; see shard.Trace.
func (s *shell) onCommitted(txn kv.TxnRef) {
	if s.w.movers[txn.TxnID] {
		return
	}
	txn = s.expiryRef(txn)
	n := &logEvent{decided: &decision{txn: txn, shard: s.id, at: s.w.now}}
	s.w.log.events = append(s.w.log.events, n)
	s.events = append(s.events, n)
	s.w.trace("%v COMMITS %v", s.id, name(txn))
}

func (s *shell) onVisible(txn kv.TxnRef, e *entry.Effect, v entry.Value, at kv.CSN) {
	if isMove(e.Kind) {
		s.w.trace("%v makes VISIBLE that %q moves, %v at %d", s.id, e.Key, v.Version, at)
		return
	}
	s.checkSpace(txn, e, &v)
	s.recordDeadline(txn, e, &v)
	txn = s.expiryRef(txn)
	if e.Kind == entry.EffectDelete && e.Expires != 0 {
		s.w.sum.Expired++
	}
	n := &logEvent{visible: &visibleEffect{txn: txn, shard: s.id, key: string(e.Key), kind: e.Kind, delta: e.Delta,
		value: v, index: at}}
	s.w.log.events = append(s.w.log.events, n)
	s.events = append(s.events, n)
	s.w.trace("%v makes VISIBLE %v %v %q=%q %v at %d", s.id, name(txn), e.Kind, e.Key, v.Payload, v.Version, at)
}

// checkTables fails if the log still has prepared updates or records of decisions at the end.
func (s *shell) checkTables() {
	var rec shard.Recovered
	if err := s.disk.store.Recover(s.id, rec.Add); err != nil {
		s.w.fail("%v: recovery: %v", s.id, err)
	}
	if len(rec.Prepared)+len(rec.Records) > 0 {
		s.w.fail("%v: %d prepared updates and %d records are left in the log", s.id, len(rec.Prepared), len(rec.Records))
	}
	if err := s.disk.store.Check(); err != nil {
		s.w.fail("%v", err)
	}
}
