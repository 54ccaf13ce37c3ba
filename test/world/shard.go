package world

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Shard runs one shard's machine, as a goroutine of package node does.
type Shard struct {
	w    *World
	Node *Node
	Disk *Disk
	ID   kv.ShardID
	// M is the machine; a restart makes a new one. Of a shard with replicas it is nil on nodes that do not lead.
	M *shard.Machine
	// replica is the replica of the shard on this node, nil for none, or if shards are not replicated. greatest is the
	// greatest number of a replica that the disk has had.
	replica  *Replica
	greatest consensus.ReplicaID
	// epoch counts the beginnings and ends of machines; events that an earlier one scheduled are dropped.
	epoch int

	// arrived are the messages that have not been pushed to the inbox.
	arrived []*msg.Envelope
	inbox   groupcommit.Inbox
	log     *groupcommit.Shard
	// next is the time of the next scheduled step.
	next int64
	// busyUntil is when the work of the last step ends.
	busyUntil int64
	// transferTo is the node to which the machine is about to transfer leadership, at transferBy at the latest.
	transferTo *Node
	transferBy int64
	// notes are those of the current step.
	notes []*Note
}

// Attach attaches a note to the current step. The machine's callbacks call it (shard.Trace).
func (s *Shard) Attach(n *Note) { s.notes = append(s.notes, n) }

// begin makes the machine of a leader.
func (s *Shard) begin(b *replication.Begin) {
	s.w.Counts.Leaders++
	g := s.w.groups[s.ID]
	if b.Incarnation >= g.began { // a leader whose process was stopped may begin when a later one has
		s.w.Shards[s.ID], g.began = s, b.Incarnation
	}
	s.recover(shard.Recovered{Incarnation: b.Incarnation, Replica: &shard.Replica{Wait: b.Wait, CSN: b.CSN}})
}

// end drops the machine of a leader.
func (s *Shard) end() {
	s.M, s.arrived, s.epoch, s.next, s.transferTo = nil, nil, s.epoch+1, math.MaxInt64, nil
}

// start makes the machine from the log.
func (s *Shard) start() { s.recover(shard.Recovered{}) }

// recover makes the machine from the rows of the store, and what else is known.
func (s *Shard) recover(rec shard.Recovered) {
	if err := s.Disk.Store.Recover(s.ID, rec.Add); err != nil {
		s.w.Fail("%v: recovery: %v", s.ID, err)
		return
	}
	s.arrived, s.inbox, s.log = nil, groupcommit.Inbox{}, s.Disk.group.NewShard(s.ID)
	s.notes, s.next, s.epoch = nil, math.MaxInt64, s.epoch+1
	s.w.user.OnRecovered(s, &rec)
	var out shard.Output
	s.M, out = shard.New(s.w.user.ShardConfig(s), rec, s.Node.Local(), s.Node.WallClock())
	s.w.Trace("%v starts in incarnation %d", s.ID, s.M.Incarnation())
	s.perform(out)
}

// deliver delivers a message to the next step. One message in 32, or each, is executed in a step of its own at once,
// ahead of all others, as a gateway does that has a single transaction.
func (s *Shard) deliver(env *msg.Envelope) {
	if !s.Disk.Up {
		return
	}
	if (s.w.OneByOne || s.w.OneIn(32)) && s.busyUntil <= s.w.now && s.hasLease() {
		s.step([]*msg.Envelope{env}, nil)
		return
	}
	s.arrived = append(s.arrived, env)
	s.wake(s.w.now + int64(s.w.UpTo(s.w.Step)))
}

// wake schedules a step.
func (s *Shard) wake(at int64) {
	at = max(at, s.busyUntil)
	if at >= s.next {
		return
	}
	s.next = at
	epoch := s.epoch
	s.w.At(at, func() {
		before := s.w.Mutants.Has(mutant.ClockBeforeInbox) && s.M != nil && s.hasLease()
		s.Node.WhenAwake(func() {
			if s.Disk.Up && s.epoch == epoch && s.next == at {
				s.next = math.MaxInt64
				if s.busyUntil > s.w.now {
					s.wake(s.busyUntil)
					return
				}
				s.runStep(before || s.hasLease())
			}
		})
	})
}

// runStep runs a step with all messages that have arrived, or with some of them; the others are in a later step. With
// replicas it needs the lease.
func (s *Shard) runStep(leads bool) {
	if !leads {
		s.wake(s.w.now + int64(s.w.Hold/50))
		return
	}
	n := len(s.arrived)
	if n > 1 && s.w.OneIn(3) {
		n = 1 + s.w.Rng.IntN(n)
	}
	s.inbox.Push(s.arrived[:n]...)
	s.arrived = s.arrived[n:]
	if len(s.arrived) > 0 {
		s.wake(s.w.now + 1)
	}
	s.step(s.inbox.Take(nil, nil))
}

// hasLease reports whether a step may happen now. It is asked when the messages of the step have arrived (R3.6).
func (s *Shard) hasLease() bool {
	return s.replica == nil || s.replica.rep.LeaseEnd(s.Node.Local()) != 0
}

// checkTerm checks that no later leader has begun (R3.11). Without leases that shows only when the messages leave.
func (s *Shard) checkTerm() {
	if began := s.w.groups[s.ID].began; s.M.Incarnation() < began && !s.w.NoLeases {
		s.w.Fail("%v takes a step in term %d on %v, although term %d has begun", s.ID, s.M.Incarnation(), s.Node.ID, began)
	}
}

// step runs one step.
func (s *Shard) step(msgs []*msg.Envelope, reads []entry.ReadResult) {
	w := s.w
	in := shard.Input{Now: s.Node.Local(), Wall: s.Node.WallClock(), Messages: msgs, Reads: reads, Disk: s.Disk.Level}
	if s.replica != nil {
		in.LeaseEnd = s.replica.rep.LeaseEnd(in.Now)
		in.Transferring = s.transferTo != nil
		in.ReadersWithheld = s.transferTo != nil
		s.checkTerm()
	}
	s.busyUntil = w.now + int64(w.StepCost)*int64(len(msgs))
	w.Counts.Steps++
	w.Counts.Messages += len(in.Messages)
	for _, env := range in.Messages {
		w.traceEnv(s.ID, "takes", env)
	}
	w.user.OnInput(s, &in)
	out := s.M.Step(in)
	if !w.Unchecked {
		if err := s.M.Check(); err != nil {
			w.Fail("%v", err)
		}
	}
	if out.Deposed != 0 {
		s.replica.stepDown(out.Deposed)
		return
	}
	s.perform(out)
	if s.transferTo != nil && s.M != nil && (w.now >= s.transferBy || !s.M.HasLockHolders() && !s.M.HasOpenReaders()) {
		s.replica.transfer(s.transferTo)
	}
}

// perform executes the output of a step.
func (s *Shard) perform(out shard.Output) {
	w := s.w
	w.user.OnOutput(s, &out)
	step := &groupcommit.Step{Shard: s.log, Out: out}
	for _, env := range out.Urgent {
		w.Send(Source{s.Node, true}, env)
	}
	if !step.Empty() && s.replica != nil {
		defer s.replica.submit(&out, s.notes)
	} else if !step.Empty() {
		s.Disk.submit(step, s.notes)
	} else if len(s.notes) > 0 {
		w.Fail("%v reported events, but its step is empty", s.ID)
	}
	s.notes = nil
	if out.Next != math.MaxInt64 {
		s.wake(max(s.Node.instant(out.Next), w.now+1))
	}
}

// startRead executes a read from disk: the read happens some time later, and its result arrives some time after that. A
// range is read a few rows at a time, with other writes in between.
func (s *Shard) startRead(r entry.Read) {
	w, epoch := s.w, s.epoch
	delay, reply := w.About(w.DiskRead/2), w.About(w.DiskRead/2)
	if w.OneIn(4) {
		delay = 0
	}
	w.After(delay, func() {
		if s.epoch != epoch || !s.Disk.Up {
			return
		}
		s.readRows(r, epoch, func(res entry.ReadResult) {
			if s.failsRead() {
				res = entry.ReadResult{ID: r.ID, Kind: r.Kind, Err: ErrUnreadable}
			}
			if s.replica != nil && kv.KindOf(res.Err) == kv.KindCorrupt {
				s.replica.onUnreadable()
				return
			}
			w.After(reply, func() {
				if s.epoch == epoch && s.Disk.Up {
					s.inbox.PushRead(res)
					s.wake(w.now)
				}
			})
		})
	})
}

// readRows reads; a range in several turns.
func (s *Shard) readRows(r entry.Read, epoch int, then func(entry.ReadResult)) {
	if r.Kind != entry.ReadRange {
		then(s.Disk.Store.Read(s.ID, r))
		return
	}
	turns := engine.NewTurns(r, 1+int(r.ID%3))
	var turn func()
	turn = func() {
		switch {
		case s.epoch != epoch || !s.Disk.Up:
		case turns.Add(s.Disk.Store.Read(s.ID, turns.Next())):
			then(turns.Result())
		default:
			s.w.After(s.w.DiskRead/16, turn)
		}
	}
	turn()
}

// ErrUnreadable is the error of a read from disk that fails because of Config.ReadErrors.
var ErrUnreadable = &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: "the simulator made a row unreadable"}
