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

	// arrived is what has not been pushed to the inbox.
	arrived []*msg.Envelope
	inbox   groupcommit.Inbox
	log     groupcommit.Shard
	// next is when a step is scheduled.
	next int64
	// alwaysBusy: it says that it has no time left. took counts the messages of
	// its steps.
	alwaysBusy bool
	took       int
	// notes are what the machine told of the step under way.
	notes []*note
	// leases are those of the incarnation granter.
	leases  int64
	granter kv.Incarnation
	// wall and local are the node's clocks when the machine was made.
	wall, local int64
	// fixed are the instants at which it has fixed its index, by its clock.
	fixed map[int64]int64
}

// start makes the machine from the log.
func (s *shell) start() {
	var rec shard.Recovered
	if err := s.disk.store.Recover(s.id, rec.Add); err != nil {
		s.w.fail("%v: recovery: %v", s.id, err)
		return
	}
	s.arrived, s.inbox, s.log = nil, groupcommit.Inbox{}, groupcommit.Shard{ID: s.id}
	s.notes, s.next = nil, math.MaxInt64
	var out shard.Output
	s.wall, s.local, s.fixed = timepiece{s.n}.Wall(), s.n.local(s.w.now), map[int64]int64{}
	if s.w.opt.SentOnce { // then nothing has to be looked up
		rec.State.Newest, rec.State.Ahead = -1, nil
	}
	if s.w.opt.KnownLeases {
		rec.Leases = shard.Leases{Known: s.granter == rec.State.Incarnation, Until: s.leases}
	}
	s.m, out = shard.New(s.config(), rec, s.local, s.wall)
	s.push()
	s.w.trace("%v starts in incarnation %d", s.id, s.m.Incarnation())
	s.do(out)
}

// deliver has the next step take a message. Now and then whoever brings one runs a
// step for it there and then, past all that waits, as a gateway does that has one
// transaction alone.
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
	life := s.disk.life
	s.w.at(at, func() {
		s.n.whenAwake(func() {
			if s.disk.up && s.disk.life == life && s.next == at {
				s.next = math.MaxInt64
				s.take()
			}
		})
	})
}

// busy has shards say by turns that they have no time left.
func (s *shell) busy() float64 {
	if d := int64(s.w.opt.BusyFor); s.alwaysBusy || d > 0 && (s.w.now/d+int64(s.id))%2 == 0 {
		return 1
	}
	return 0
}

// take runs a step for all that has arrived, or for some of it: then the rest comes
// later.
func (s *shell) take() {
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

// step runs a step.
func (s *shell) step(msgs []*msg.Envelope, reads []entry.ReadResult) {
	w := s.w
	in := shard.Input{Now: s.n.local(w.now), Wall: timepiece{s.n}.Wall(), IDTime: s.idTime(), Messages: msgs, Reads: reads, Busy: s.busy(), Disk: s.disk.level}
	w.sum.Steps++
	w.sum.Messages += len(in.Messages)
	s.took += len(in.Messages)
	for _, env := range in.Messages {
		w.traceEnv(s.id, "takes", env)
		s.noteArrival(env)
	}
	in.Peers = s.peers()
	out := s.m.Step(in)
	s.fixes(in.Now, out.Urgent)
	s.fixes(in.Now, out.Send)
	s.push()
	if !w.opt.Unchecked {
		if err := s.m.Check(); err != nil {
			w.fail("%v", err)
		}
	}
	s.do(out)
}

// do is what a shard asks of its caller.
func (s *shell) do(out shard.Output) {
	w := s.w
	s.leases, s.granter = s.m.LeasesUntil(), s.m.Incarnation()
	step := &groupcommit.Step{Shard: &s.log, Out: out}
	s.asksDue(out.Send)
	for _, env := range out.Urgent {
		w.send(s.n, env)
	}
	if !step.Empty() {
		s.disk.submit(step, s.notes)
	} else if len(s.notes) > 0 {
		w.fail("%v decides, and tells nobody", s.id)
	}
	s.notes = nil
	if out.Next != math.MaxInt64 {
		s.wake(max(s.n.global(out.Next), w.now+1))
	}
}

// read answers a cold read: it looks some time later, and the answer takes
// some time more. A range is read a few rows at a time, between which others write.
func (s *shell) read(r entry.Read) {
	w, life := s.w, s.disk.life
	look, tell := w.about(w.opt.ColdRead/2), w.about(w.opt.ColdRead/2)
	if w.rng.IntN(4) == 0 {
		look = 0
	}
	w.after(look, func() {
		if s.disk.life != life || !s.disk.up {
			return
		}
		s.look(r, life, func(res entry.ReadResult) {
			if !w.calm && w.chance(w.opt.ReadErrors) {
				res = entry.ReadResult{ID: r.ID, Kind: r.Kind, Err: errUnreadable}
			}
			w.after(tell, func() {
				if s.disk.life == life && s.disk.up {
					s.inbox.PushRead(res)
					s.wake(w.now)
				}
			})
		})
	})
}

// look reads: a range in turns.
func (s *shell) look(r entry.Read, life int, then func(entry.ReadResult)) {
	if r.Kind != entry.ReadRange {
		then(s.disk.store.Read(s.id, r))
		return
	}
	turns := engine.NewTurns(r, 1+int(r.ID%3))
	var turn func()
	turn = func() {
		switch {
		case s.disk.life != life || !s.disk.up:
		case turns.Add(s.disk.store.Read(s.id, turns.Next())):
			then(turns.Result())
		default:
			s.w.after(s.w.opt.ColdRead/16, turn)
		}
	}
	turn()
}

var errUnreadable = &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: "the simulator made a row unreadable"}

// committed is told by the machine; see shard.Trace.
func (s *shell) committed(txn kv.TxnRef) {
	if s.w.movers[txn.TxnID] {
		return
	}
	txn = s.expiring(txn)
	n := &note{decided: &decision{txn: txn, shard: s.id, at: s.w.now}}
	s.w.log.notes = append(s.w.log.notes, n)
	s.notes = append(s.notes, n)
	s.w.trace("%v COMMITS %v", s.id, name(txn))
}

func (s *shell) shown(txn kv.TxnRef, e *entry.Effect, v entry.Value, at kv.Index) {
	if isMove(e.Kind) {
		s.w.trace("%v SHOWS that %q moves, %v at %d", s.id, e.Key, v.Version, at)
		return
	}
	s.checkRoom(txn, e, &v)
	s.noteDeadline(txn, e, &v)
	txn = s.expiring(txn)
	if e.Kind == entry.EffectDelete && e.Expires != 0 {
		s.w.sum.Expired++
	}
	n := &note{shown: &shownEffect{txn: txn, shard: s.id, key: string(e.Key), kind: e.Kind, delta: e.Delta, value: v, index: at}}
	s.w.log.notes = append(s.w.log.notes, n)
	s.notes = append(s.notes, n)
	s.w.trace("%v SHOWS %v %v %q=%q %v at %d", s.id, name(txn), e.Kind, e.Key, v.Payload, v.Version, at)
}

// checkTables holds what should be empty in the end.
func (s *shell) checkTables() {
	var rec shard.Recovered
	if err := s.disk.store.Recover(s.id, rec.Add); err != nil {
		s.w.fail("%v: recovery: %v", s.id, err)
	}
	if len(rec.Prepared)+len(rec.Records) > 0 {
		s.w.fail("%v: the log is left with %d promises and %d records", s.id, len(rec.Prepared), len(rec.Records))
	}
	if err := s.disk.store.Check(); err != nil {
		s.w.fail("%v", err)
	}
}
