package groups

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// replica runs the replica of a shard on this node. It takes turns:
//
//	take what has arrived: ends of writes and applications, messages of replicas, messages for the machine
//	read the clock                                    after the messages are taken (R3.6)
//	pass all of it to the replica; steps of the machine, if it leads and has the lease; one proposal
//	do what the replica wants: write, apply, release, begin or end the machine
//	collect what is to be sent                        package comment of turns
//
// Except in, all that changes is guarded by the lock of Shard.
type replica struct {
	set   *Set
	shard kv.ShardID
	Shard
	in inbox
	// state and begins are those of turns: its machine may begin in the next one. timer wakes the replica.
	state  turnState
	begins atomic.Bool
	timer  *time.Timer
	// id is the number of the replica, and rep the replica; zero and nil if the node has none at present. log is open in
	// any case.
	id  consensus.ReplicaID
	rep *replication.Replica
	log *raftlog.Log
	// homes are the nodes of the group's replicas, as messages and the configuration show them.
	homes map[consensus.ReplicaID]kv.NodeID
	past  past

	// staged are the rows of Raft snapshots that have arrived, by their positions. installing: one is being swapped in.
	// Writes that follow it are held until then.
	staged     map[consensus.Position]engine.ShardWriter
	installing bool
	held       []*consensus.Write
	// applied are positions in the store and in the group, not flushed up to there; flushed is the last flushed one, and
	// appliedTo the last applied one.
	applied            []appliedAt
	flushed, appliedTo consensus.Position
	// truncateAt is when the log is to be truncated next. fills are those for which it is kept.
	truncateAt int64
	fills      fills
	// memberAt is when the replicas of the group are checked next.
	memberAt int64
	condition

	// handover: the leader is about to transfer leadership.
	handover handover

	// wakeAt is when the machine has something to do.
	wakeAt int64
	out    outgoing
}

// condition says whether the replica can go on.
type condition struct {
	// making: a replica is being made here. unfit: this one is to be replaced.
	making, unfit bool
	// failed is why the replica has ended, or cannot be made or replaced; "" if all is well.
	failed string
	// makeAt is when it is tried again to make one.
	makeAt int64
}

// outgoing is what turns send when they have unlocked their shards.
type outgoing struct {
	envelopes []*msg.Envelope
	forwarded []*msg.Envelope
	replicas  map[kv.NodeID][]consensus.Message
}

// appliedAt says that rows up to a position of the group are in the store at a position of it.
type appliedAt struct {
	at   engine.Position
	last consensus.Position
}

// maxPause is the longest time between two turns of a replica.
const maxPause = time.Second

// minSleep is the least duration of a timer, which is the machines' resolution of time.
const minSleep = time.Millisecond

// leaseRetry is when a machine without a lease tries its step again.
const leaseRetry = 10 * time.Millisecond

// wake has the replica take a turn soon.
func (r *replica) wake() { r.set.turns.add(r) }

// turn takes a turn, and adds what is to be sent to out.
func (r *replica) turn(out *outgoing) {
	r.Lock()
	messages, ends := r.in.take()
	now := r.set.opt.Clock.Now()
	if r.rep != nil {
		r.inform(now)
	}
	for _, end := range ends {
		end(now)
	}
	for i := range messages {
		r.receive(now, &messages[i])
	}
	if r.rep != nil {
		r.tick(now)
		now = r.step(now)
		r.truncate(now)
		change{r}.step(now)
	}
	r.redirect()
	r.begins.Store(isElected(r))
	r.timer.Reset(max(time.Duration(r.nextTurn(now)-now), minSleep))
	out.take(&r.out)
	forwarded := r.out.forwarded
	r.out = outgoing{}
	r.Unlock()
	if len(forwarded) > 0 {
		r.set.opt.Forward(r.shard, forwarded)
	}
}

// isElected reports whether the replica is the leader of its group and its machine has not begun.
func isElected(r *replica) bool {
	if r.rep == nil || r.Machine() != nil {
		return false
	}
	lead, _ := r.rep.Group().Leader()
	return lead == r.id
}

// nextTurn returns when the replica or its machine has something to do.
func (r *replica) nextTurn(now int64) int64 {
	next := now + int64(maxPause)
	if r.rep == nil {
		return next
	}
	if r.Machine() != nil {
		return min(next, r.wakeAt) // the rest is due with the next heartbeat
	}
	return min(next, r.rep.Group().Next())
}

func (s *Set) send(out *outgoing) {
	for to, msgs := range out.replicas {
		s.opt.Send.SendReplica(to, msgs)
	}
	if len(out.envelopes) > 0 {
		s.opt.Route(out.envelopes)
	}
}

// take adds what another one has, except messages that are forwarded.
func (o *outgoing) take(from *outgoing) {
	o.envelopes = append(o.envelopes, from.envelopes...)
	for to, msgs := range from.replicas {
		o.post(to, msgs...)
	}
}

// post adds messages to those for a node.
func (o *outgoing) post(to kv.NodeID, msgs ...consensus.Message) {
	if o.replicas == nil {
		o.replicas = map[kv.NodeID][]consensus.Message{}
	}
	o.replicas[to] = append(o.replicas[to], msgs...)
}

// receive passes a message to the replica, which the first message of a leader makes (R7.17).
func (r *replica) receive(now int64, x *received) {
	m := x.message
	if r.rep == nil || r.unfit && m.To > r.id {
		r.makeFor(now, m)
		discard(x.rows)
		return
	}
	r.homes[m.From] = x.from
	r.set.clocks.observe(now, x)
	if x.rows != nil {
		at := consensus.Position(m.Raft.Snapshot.Metadata.Index)
		discard(r.staged[at])
		r.staged[at] = x.rows
	}
	r.rep.Group().Step(now, m)
}

func discard(w engine.ShardWriter) {
	if w != nil {
		_ = w.Close()
	}
}

// perform does what the replica wants to be done.
func (r *replica) perform(now int64) {
	for r.rep != nil {
		rd, err := r.rep.Ready()
		if err != nil {
			r.fail(err)
			return
		}
		if rd.Empty() {
			break
		}
		r.handle(now, &rd)
	}
	if r.rep != nil {
		r.learnLeader()
		r.dropStaged()
	}
}

func (r *replica) handle(now int64, rd *replication.Ready) {
	for i := range rd.Send {
		r.post(&rd.Send[i])
	}
	if rd.Write != nil {
		r.write(rd.Write)
		if r.rep == nil {
			return // it has failed
		}
	}
	for _, to := range rd.Snapshots {
		r.sendSnapshot(to)
	}
	if rd.Apply != nil {
		r.apply(rd.Apply)
	}
	if rd.Ended {
		r.end(r.lossCause(now))
	}
	if rd.Transfer != 0 {
		r.transferLater(causeDisk, r.home(rd.Transfer))
	}
	r.out.envelopes = append(r.out.envelopes, rd.Release...)
	for i := range rd.Reads {
		r.StartReads(&rd.Reads[i])
	}
	if rd.Begin != nil {
		r.begin(now, rd.Begin)
	}
	if rd.Unfit {
		r.unfit = true
		r.set.opt.Log.Error("rows or entries of a replica are damaged: it is replaced by a new one; check the disk", "shard",
			r.shard.String(), "replica", uint64(r.id))
	}
	if rd.Stopped {
		r.set.opt.Log.Error("the replicas of a shard have different rows, and no majority has the same: the shard stops; "+
			"restore a backup", "shard", r.shard.String())
	}
	if rd.Gone {
		r.destroy()
	}
}

// post adds a message to another replica to those that the turn sends.
func (r *replica) post(m *consensus.Message) {
	to := r.home(m.To)
	if to == 0 || to == r.set.opt.ID {
		return
	}
	r.out.post(to, *m)
}

// home returns the node of a replica, 0 if it is not known.
func (r *replica) home(id consensus.ReplicaID) kv.NodeID {
	if n := r.homes[id]; n != 0 {
		return n
	}
	state := r.rep.Group().State()
	for _, m := range state.Members {
		if m.ID == id {
			r.homes[id] = nodeOfPlace(m.Place)
		}
	}
	return r.homes[id]
}

// apply has committed rows set in the store.
func (r *replica) apply(a *replication.Apply) {
	rep := r.rep
	job := rowJob{replica: r, apply: a, done: func(at engine.Position) {
		r.in.end(func(now int64) {
			if r.rep != rep {
				return
			}
			r.applied, r.appliedTo = append(r.applied, appliedAt{at, a.Last}), a.Last
			rep.Applied(now, a)
		})
	}}
	if a.Check {
		job.check = func(view engine.ShardReader, err error) { r.check(rep, a.Last, view, err) }
	}
	r.set.rows.jobs.add(job)
}

// endLater has a turn call a function.
func (r *replica) endLater(f func(now int64)) {
	r.in.end(f)
	r.wake()
}

// learnLeader has the node know the leader of the group, and logs a new one.
func (r *replica) learnLeader() {
	lead, term := r.rep.Group().Leader()
	if lead == 0 || lead == r.past.led && term == r.past.term {
		return
	}
	home := r.home(lead)
	if lead == r.id {
		home = r.set.opt.ID
	}
	if home == 0 {
		return
	}
	previous, _ := r.set.Leader(r.shard)
	r.past.led, r.past.term = lead, term
	r.set.LearnLeader(r.shard, term, home)
	args := []any{"shard", r.shard.String(), "leader", home, "term", uint64(term)}
	if previous != 0 && previous != home {
		args = append(args, "previous", previous)
	}
	r.set.opt.Log.Info("shard has a leader", args...)
}

// begin begins the machine of a leader.
func (r *replica) begin(now int64, b *replication.Begin) {
	out, err := r.Begin(now, b)
	if err != nil {
		if kv.KindOf(err) != kv.KindCorrupt || !r.rep.SetUnfit(now) {
			r.fail(err)
		}
		return
	}
	r.set.opt.Log.Info("this node leads the shard", "shard", r.shard.String(), "term", uint64(b.Incarnation),
		"reason", electionCause(r.rep.Group()), "recovered_in", time.Duration(r.set.opt.Clock.Now()-now))
	r.past.onBegin(now)
	r.wakeAt, r.handover = out.Next, handover{}
	if r.set.declines.Load() {
		r.transferLater(causeDrain, 0)
	}
	r.submit(&out)
	r.propose(now)
	r.set.LearnLeader(r.shard, consensus.Term(b.Incarnation), r.set.opt.ID)
}

// end drops the machine: it sends nothing any more (R2.5).
func (r *replica) end(why string) {
	if r.Machine() != nil {
		r.End(why)
	}
	r.wakeAt, r.handover = math.MaxInt64, handover{}
}

// step lets the machine take steps with what has arrived, while it has the lease (R3.6). Without it, the messages wait.
// It returns the time after the last step, or now.
func (r *replica) step(now int64) int64 {
	clk := r.set.opt.Clock
	if r.Machine() == nil {
		return now
	}
	if r.rep.LeaseEnd(now) == 0 {
		r.wakeAt = min(r.wakeAt, now+int64(leaseRetry))
		return now
	}
	msgs, reads := r.Take()
	now = clk.Now() // after the messages were taken
	if r.findDamage(now, reads) {
		return now
	}
	more := len(msgs)+len(reads) > 0 || now >= r.wakeAt
	for more && r.Machine() != nil {
		n, m := min(r.Portion(), len(msgs)), min(r.Portion(), len(reads))
		end := r.rep.LeaseEnd(now)
		if end == 0 { // it has ended meanwhile
			r.PutBack(msgs, reads)
			r.wakeAt = now + int64(leaseRetry)
			r.propose(now)
			return now
		}
		r.stepOnce(shard.Input{Now: now, Messages: msgs[:n], Reads: reads[:m],
			LeaseEnd: transfer{r}.registrationsEnd(now, end), Transferring: r.handover.withholds,
			ReadersWithheld: r.handover.readersBy != 0})
		msgs, reads = msgs[n:], reads[m:]
		more = len(msgs)+len(reads) > 0
		now = clk.Now()
	}
	transfer{r}.try(now)
	r.propose(now)
	return now
}

// findDamage declares the replica unfit if a block of its rows could not be read (R6.15). Then another one serves, if
// there is one.
func (r *replica) findDamage(now int64, reads []entry.ReadResult) bool {
	for i := range reads {
		if err := reads[i].Err; err != nil && kv.KindOf(err) == kv.KindCorrupt {
			r.set.opt.Log.Error("a row of a replica cannot be read", "shard", r.shard.String(), "error", err)
			if r.rep.SetUnfit(now) {
				r.perform(now)
				return true
			}
		}
	}
	return false
}

// OnDamage is called when a row of this node's replica of a shard cannot be read for another reader than its machine.
func (s *Set) OnDamage(id kv.ShardID, err error) {
	r := s.replicas[id]
	r.endLater(func(now int64) {
		if r.rep != nil && !r.unfit {
			r.findDamage(now, []entry.ReadResult{{Err: err}})
		}
	})
}

// Replica returns the number of this node's replica of a shard; 0, and why, if it has none whose rows may be read.
func (s *Set) Replica(id kv.ShardID) (number consensus.ReplicaID, why string) {
	r := s.replicas[id]
	r.Lock()
	defer r.Unlock()
	if r.rep == nil {
		return 0, "this node has no replica of it"
	}
	state := r.rep.Group().State()
	switch {
	case state.Stopped:
		return 0, "its replicas have different rows, and no majority has the same"
	case r.unfit || slices.Contains(state.Unfit, r.id):
		return 0, "the replica on this node is damaged"
	}
	return r.id, ""
}

func (r *replica) stepOnce(in shard.Input) {
	in.Disk, in.DiskText = r.diskSpace(in.Now)
	out := r.Step(in)
	if out.Deposed != 0 { // R3.7
		r.rep.Group().StepDown(in.Now, consensus.Term(out.Deposed))
		r.perform(in.Now)
		return
	}
	r.wakeAt = out.Next
	r.submit(&out)
}

// submit takes the output of a step. Its urgent messages leave with the turn (R14.8).
func (r *replica) submit(out *shard.Output) {
	r.out.envelopes = append(r.out.envelopes, out.Urgent...)
	r.rep.Submit(out, r.Machine().CSN())
}

// propose proposes what the steps of a turn have written, as one entry.
func (r *replica) propose(now int64) {
	if r.rep == nil || r.Machine() == nil {
		return
	}
	if _, err := r.rep.Propose(r.set.opt.Clock.Now()); err != nil {
		r.set.opt.Log.Info("an entry was not proposed", "shard", r.shard.String(), "error", err)
	}
	r.perform(now)
}

// redirect has the turn send what is for the machine to the leader, if this node has no machine and does not lead.
func (r *replica) redirect() {
	if r.Machine() != nil {
		return
	}
	if to, _ := r.set.Leader(r.shard); to == r.set.opt.ID {
		return // its machine is about to begin
	}
	msgs, _ := r.Take()
	r.out.forwarded = append(r.out.forwarded, msgs...)
}

// draw draws a number below n, for the times of campaigns.
func draw(n int64) int64 { return rand.Int64N(n) }

// fail ends a replica that cannot go on. The others serve the shard.
func (r *replica) fail(err error) {
	r.set.opt.Log.Error("a replica has failed, and takes no part in its group any more: empty the node's store and "+
		"start it again", "shard", r.shard.String(), "error", err)
	r.end("its replica has failed")
	r.rep, r.failed = nil, err.Error()
}

// stop ends the machine without a word: the node stops.
func (r *replica) stop() {
	r.timer.Stop()
	r.Lock()
	defer r.Unlock()
	r.end("the node stops")
	for _, w := range r.staged {
		discard(w)
	}
	r.rep = nil
}
