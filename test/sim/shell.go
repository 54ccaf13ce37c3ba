package sim

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// shell runs one shard's machine.
type shell struct {
	w    *world
	n    *node
	disk *disk
	id   kv.ShardID
	m    *shard.Machine

	inbox []*msg.Envelope
	reads []entry.ReadResult
	// next is when a step is scheduled.
	next int64
	// last is the position of the newest entry.
	last engine.Position
	// alwaysBusy: it says that it has no time left. took counts the messages of
	// its steps.
	alwaysBusy bool
	took       int
	// notes are what the machine told of the step under way.
	notes []*note
	// wall and local are the node's clocks when the machine was made.
	wall, local int64
}

// start makes the machine from the log.
func (s *shell) start() {
	var rec shard.Recovered
	if err := s.disk.store.Recover(s.id, rec.Add); err != nil {
		s.w.fail("%v: recovery: %v", s.id, err)
		return
	}
	s.inbox, s.reads, s.notes, s.next = nil, nil, nil, math.MaxInt64
	s.last = s.disk.store.Durable()
	var out shard.Output
	s.wall, s.local = s.n.wall(), s.n.local(s.w.now)
	s.m, out = shard.New(s.config(), rec, s.local, s.wall)
	s.w.trace("%v starts in incarnation %d", s.id, s.m.Incarnation())
	s.do(out)
}

func (s *shell) deliver(env *msg.Envelope) {
	if !s.disk.up {
		return
	}
	s.inbox = append(s.inbox, env)
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
		if s.disk.up && s.disk.life == life && s.next == at {
			s.next = math.MaxInt64
			s.step()
		}
	})
}

// busy has shards say by turns that they have no time left.
func (s *shell) busy() float64 {
	if d := int64(s.w.opt.BusyFor); s.alwaysBusy || d > 0 && (s.w.now/d+int64(s.id))%2 == 0 {
		return 1
	}
	return 0
}

// step gives the machine all that has arrived, or some of it.
func (s *shell) step() {
	w := s.w
	in := shard.Input{Now: s.n.local(w.now), Wall: s.n.wall(), Messages: s.inbox, Reads: s.reads, Busy: s.busy(), Disk: s.disk.level}
	s.inbox, s.reads = nil, nil
	if n := len(in.Messages); n > 1 && w.rng.IntN(3) == 0 {
		n = 1 + w.rng.IntN(n)
		s.inbox = append(s.inbox, in.Messages[n:]...)
		in.Messages = in.Messages[:n]
		s.wake(w.now + 1)
	}
	w.sum.Steps++
	w.sum.Messages += len(in.Messages)
	s.took += len(in.Messages)
	for _, env := range in.Messages {
		w.traceEnv(s.id, "takes", env)
	}
	out := s.m.Step(in)
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
	if len(out.Entries) > 0 {
		s.last = s.disk.append(s.id, out.Entries)
	}
	for _, n := range s.notes {
		n.at = s.last
		if n.at > s.disk.store.Durable() {
			s.disk.fresh = append(s.disk.fresh, n)
		}
	}
	s.notes = nil
	for _, env := range out.Urgent {
		w.send(s.n, env)
	}
	s.asksDue(out.Send)
	s.disk.release(s.last, out.Send)
	for _, r := range out.Reads {
		s.read(r)
	}
	if out.Next != math.MaxInt64 {
		s.wake(max(s.n.global(out.Next), w.now+1))
	}
}

// read answers a cold read: it looks some time later, and the answer takes
// some time more.
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
		res := s.disk.store.Read(s.id, r)
		if !w.calm && w.chance(w.opt.ReadErrors) {
			res = entry.ReadResult{ID: r.ID, Kind: r.Kind, Err: errUnreadable}
		}
		w.after(tell, func() {
			if s.disk.life == life && s.disk.up {
				s.reads = append(s.reads, res)
				s.wake(w.now)
			}
		})
	})
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
	if txn = s.expiring(txn); e.Kind == entry.EffectDelete && e.Expires != 0 {
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
