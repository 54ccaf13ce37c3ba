package replication

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shardlog"
)

// Replica is one replica of a shard. Its methods are called by one goroutine at a time, with times of the node's
// clock in nanoseconds, which must not decrease. After each call, Ready returns what is to be done.
type Replica struct {
	shard    kv.ShardID
	rules    rules
	noLeases bool
	group    *consensus.Replica
	// csn is the shard's CSN after the entries that Ready has returned.
	csn kv.CSN
	// machine is what belongs to the machine of this replica, nil without one.
	machine *machine
	ended   bool
}

// machine is what waits for the entries of the machine of one term.
type machine struct {
	term consensus.Term
	log  Log
	shardlog.Releaser
}

// New returns a replica that has started at a time. row is the row of entry.TableReplica in its store.
func New(cfg consensus.Config, row []byte, now int64) (*Replica, error) {
	state, csn, err := decodeState(row)
	if err != nil {
		return nil, fmt.Errorf("replica %d of shard %d: %w", cfg.ID, cfg.Group, err)
	}
	cfg.State = state
	g, err := consensus.New(cfg, now)
	if err != nil {
		return nil, err
	}
	return &Replica{shard: cfg.Group, rules: rules{cfg.Mutants}, noLeases: cfg.NoLeases, group: g, csn: csn}, nil
}

// Group is the replica of the shard's log. The caller passes it messages, time, and the ends of writes. It must not
// call Group.Ready, Propose and Applied.
func (r *Replica) Group() *consensus.Replica { return r.group }

// Submit takes the output of a step of the machine: its entries are part of the next proposal, its messages and
// reads wait for them. csn is the shard's CSN after the step. A step without entries waits for those of earlier
// steps, which it may report. Without leases its messages, which may report the present, also wait until a majority has
// acknowledged a heartbeat that was sent after the step (R3.14). The commit of an entry that was proposed after the
// step says the same.
func (r *Replica) Submit(out *shard.Output, csn kv.CSN) {
	m := r.machine
	if m == nil {
		return
	}
	m.log.csn = csn
	at := m.log.last
	switch {
	case len(out.Entries) > 0:
		at = m.log.Append(out.Entries)
	case len(out.Send) > 0 && r.noLeases:
		at = m.log.appendUnconfirmed()
	}
	m.Hold(at, out.Send)
	m.HoldReads(at, shardlog.Reads{Start: out.Reads, Drop: out.Dropped})
}

// Propose proposes what has been submitted as one entry of the group. Its position is zero if there is nothing to
// propose. If it returns an error, the machine has ended (R2.2). If messages wait for a heartbeat, it is sent now: one
// for all that has been submitted.
func (r *Replica) Propose(now int64) (consensus.Position, error) {
	m := r.machine
	switch {
	case m == nil:
		return 0, nil
	case len(m.log.pending) == 0 && m.log.unconfirmed:
		m.log.onPoint(r.group.Leadership().Point())
		r.group.Leadership().Beat(now)
		return 0, nil
	case len(m.log.pending) == 0:
		return 0, nil
	}
	at, err := r.group.Propose(m.log.pending)
	if err != nil {
		r.end()
		return 0, err
	}
	m.log.onProposed(at)
	return at, nil
}

// Machine returns the term of the machine that runs on this replica, zero without one.
func (r *Replica) Machine() consensus.Term {
	if r.machine == nil {
		return 0
	}
	return r.machine.term
}

// LeaseEnd returns when the lease of the leader ends on which a step at a time relies, and zero if the machine must
// not take a step then: there is none, it has no lease, or too much of what it has written is not committed (R2.6).
func (r *Replica) LeaseEnd(now int64) int64 {
	if r.machine == nil || r.machine.term != r.group.Leads() || r.machine.log.isFull() {
		return 0
	}
	return r.group.LeaseEnd(now)
}

// Appended and Durable are positions in the machine's log: that of the last step that was submitted, and the last one
// whose messages may leave. Both are zero without a machine.
func (r *Replica) Appended() shardlog.Position { return r.position((*Log).Last) }

// Durable is described at Appended.
func (r *Replica) Durable() shardlog.Position { return r.position((*Log).Durable) }

func (r *Replica) position(of func(*Log) shardlog.Position) shardlog.Position {
	if r.machine == nil {
		return 0
	}
	return of(&r.machine.log)
}

// SetUnfit declares the replica unfit, as a read of its rows has returned kv.KindCorrupt: a read of its machine, of a
// client at a follower, of Recover or of ReadShard (R6.15). If it returns true, the machine has ended without the
// result. If it returns false, no other replica can serve, and the read fails, as with one replica.
func (r *Replica) SetUnfit(now int64) bool {
	if !r.group.Damage().SetUnfit(now) {
		return false
	}
	if r.machine != nil {
		r.end()
	}
	return true
}

func (r *Replica) end() { r.machine, r.ended = nil, true }

// Ready is what a node is to do.
type Ready struct {
	// Send are messages to other replicas of the group, Write is for the node's log (consensus.Ready).
	Send  []consensus.Message
	Write *consensus.Write
	// Apply is to be set in the store as one batch, and then reported by Applied. It is nil if there is nothing.
	Apply *Apply
	// Ended: the machine has ended. It takes no more steps, its messages and reads are dropped.
	Ended bool
	// Begin: a machine is to be made from the rows of the store.
	Begin *Begin
	// Release are messages of the machine that may leave, Reads its reads that may start.
	Release []*msg.Envelope
	Reads   []shardlog.Reads
	// Transfer is the replica to which the machine's node is to transfer leadership, zero without one (consensus.Ready).
	Transfer consensus.ReplicaID
	// Snapshots are replicas that need a Raft snapshot, Gone: this replica may be destroyed, Unfit: it is to be replaced
	// (consensus.Ready). An unfit replica goes on: it acknowledges entries and votes.
	// Stopped: no replica may serve any more.
	Snapshots            []consensus.ReplicaID
	Gone, Unfit, Stopped bool
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return len(r.Send)+len(r.Release)+len(r.Reads)+len(r.Snapshots) == 0 && r.Write == nil && r.Apply == nil &&
		r.Begin == nil && r.Transfer == 0 && !r.Ended && !r.Gone && !r.Unfit && !r.Stopped
}

// Begin is the beginning of a machine on this replica.
type Begin struct {
	// Incarnation is that of the machine: the term of the leader.
	Incarnation kv.Incarnation
	// Wait and CSN are those of shard.Replica.
	Wait int64
	CSN  kv.CSN
}

// Apply is a batch of committed rows.
type Apply struct {
	// Group is what has been committed, with the row of entry.TableReplica at its end.
	Group entry.Group
	// Last is the last position of the batch. Entries are the positions in it with their terms, for checks.
	Last    consensus.Position
	Entries []consensus.Entry
	// Check: the rows are to be checked as they are after this batch, and before the next one: the node takes a view of
	// them (engine.ReadShard), computes its checksum in the background (engine.Checksum), and reports it with Last to
	// consensus.Damage.Checked (R6.14).
	Check bool
	apply *consensus.Apply
}

// Ready returns what is to be done since the last call. After an error, which says that an entry cannot be decoded, the
// replica must not go on.
func (r *Replica) Ready() (Ready, error) {
	g := r.group.Ready()
	out := Ready{Send: g.Send, Write: g.Write, Snapshots: g.Snapshots, Gone: g.Gone, Unfit: g.Unfit, Stopped: g.Stopped,
		Transfer: g.Transfer}
	if g.Apply != nil {
		a, err := r.decode(g.Apply)
		if err != nil {
			return Ready{}, err
		}
		out.Apply = a
	}
	if m := r.machine; m != nil && (m.term != r.group.Leads() || g.Unfit) {
		r.end()
	}
	out.Ended, r.ended = r.ended, false
	if g.Begin != nil && g.Begin.Term == r.group.Leads() {
		m := &machine{term: g.Begin.Term}
		m.Releaser.Log = &m.log
		r.machine = m
		out.Begin = &Begin{Incarnation: kv.Incarnation(g.Begin.Term), Wait: g.Begin.Wait, CSN: r.csn}
	}
	if m := r.machine; m != nil {
		m.log.onCommitted(r.rules.mayLeave(r.group.Committed()), r.group.Leadership().IsConfirmed)
		m.log.onApplied(r.rules.mayRead(m.log.stored))
		out.Release, out.Reads = m.Sends(nil), m.Releaser.Reads(nil)
	}
	return out, nil
}

// decode makes the batch of committed entries.
func (r *Replica) decode(a *consensus.Apply) (*Apply, error) {
	out := &Apply{Group: entry.Group{Shard: r.shard}, Last: a.State.Position, Entries: a.Entries, Check: a.Check,
		apply: a}
	for i := range a.Entries {
		csn, entries, err := entry.DecodeGroup(a.Entries[i].Data, out.Group.Entries)
		if err != nil {
			return nil, fmt.Errorf("shard %d, position %d: %w", r.shard, a.Entries[i].Position, err)
		}
		out.Group.Entries, r.csn = entries, csn
	}
	row, err := encodeState(&a.State, r.csn)
	if err != nil {
		return nil, err
	}
	out.Group.Entries = append(out.Group.Entries, entry.Entry{Table: entry.TableReplica, Value: row})
	return out, nil
}

// Snapshot returns the message that goes before the rows of a Raft snapshot to a replica. row is that of
// entry.TableReplica among these rows.
func (r *Replica) Snapshot(now int64, to consensus.ReplicaID, row []byte) (consensus.Message, error) {
	state, _, err := decodeState(row)
	if err != nil {
		return consensus.Message{}, err
	}
	return r.group.Snapshots().Message(now, to, &state)
}

// Restored takes over the row of entry.TableReplica of a Raft snapshot whose rows are in the store. It is called before
// Written of the Write with the snapshot.
func (r *Replica) Restored(row []byte) error {
	_, csn, err := decodeState(row)
	r.csn = csn
	return err
}

// Applied reports that a batch is in the store. Batches are reported in their order.
func (r *Replica) Applied(now int64, a *Apply) {
	if r.machine != nil {
		r.machine.log.stored = a.Last
	}
	r.group.Applied(now, a.apply)
}
