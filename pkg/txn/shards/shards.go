// Package shards is what a gateway knows about the shards and the nodes that they are on:
// incarnations, load, which cannot be used now, and which are slow.
//
// # Guarantees
//
// None of it is needed for safety: a shard refuses a message that names an earlier
// incarnation, and a transaction that needs a node that is down waits, or runs into its
// deadline. It saves an attempt after a restart, and it gives a clear error at once in the
// place of a late one.
//
// # Hazards
//
// A shard of which it was said that it leaves may be back in a later incarnation. The gateway
// learns that from any message; it never refuses for longer than until the first.
package shards

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Shards is the gateway's view of all shards.
type Shards struct {
	env   *env.Env
	shard []shard
	// down says since when nodes have been known to be down.
	down map[kv.NodeID]int64
	// leaving are the shards that are about to stop; leavings counts how many there have been.
	leaving  map[kv.ShardID]leaving
	leavings uint64
	// out are the shards that did not answer a round in time.
	out map[kv.ShardID]*leftOut
}

// shard is what is known of one shard.
type shard struct {
	// known is its incarnation, and how many attempts it has aborted in that.
	known kv.Known
	// parked: updates waited there when it last answered a reader; busy: it was saturated.
	parked, busy bool
	// late counts the probes in a row after which its log was late; penalty is for how long it decided
	// nothing last because it was slow, until slowUntil.
	late               int
	penalty, slowUntil int64
	// undecidedUntil is until when no round waits for it, as long as a node is down.
	undecidedUntil int64
}

// leaving is an incarnation of a shard that is about to stop, and the number of the report.
type leaving struct {
	inc    kv.Incarnation
	number uint64
}

// New makes a view in which no shard is known yet, and updates wait on all.
func New(e *env.Env) *Shards {
	s := &Shards{
		env:     e,
		shard:   make([]shard, e.Router.Shards()),
		down:    map[kv.NodeID]int64{},
		leaving: map[kv.ShardID]leaving{},
		out:     map[kv.ShardID]*leftOut{},
	}
	for i := range s.shard {
		s.shard[i].parked = true
	}
	return s
}

// Incarnation is the newest that is known of a shard, 0 for none.
func (s *Shards) Incarnation(of kv.ShardID) kv.Incarnation { return s.shard[of].known.Incarnation }

// Learn takes a shard's incarnation from one of its messages. It saves the first attempt.
func (s *Shards) Learn(of kv.ShardID, inc kv.Incarnation) {
	s.LearnAborts(of, kv.Known{Incarnation: inc})
}

// LearnAborts takes a shard's incarnation, and how many attempts it has aborted in it: a
// commit that does not name that number may lose one attempt.
func (s *Shards) LearnAborts(of kv.ShardID, k kv.Known) {
	if int(of) >= len(s.shard) {
		return
	}
	known := &s.shard[of].known
	switch {
	case k.Incarnation < known.Incarnation:
	case k.Incarnation > known.Incarnation:
		*known = k
		s.restarted(of)
	default:
		known.Aborts = max(known.Aborts, k.Aborts)
	}
}

// Known is what a commit names of its last agent, of which it relies on an incarnation.
func (s *Shards) Known(of kv.ShardID, inc kv.Incarnation) kv.Known {
	known := s.shard[of].known
	if inc != known.Incarnation {
		return kv.Known{Incarnation: inc}
	}
	return known
}

// NoteLoad takes what a shard reports with its answer to a reader: whether updates wait
// there, and whether it is saturated.
func (s *Shards) NoteLoad(of kv.ShardID, parked, busy bool) {
	s.shard[of].parked, s.shard[of].busy = parked, busy
}

// UpdatesWait reports whether updates waited on a shard when it last answered a reader.
func (s *Shards) UpdatesWait(on kv.ShardID) bool { return s.shard[on].parked }

// Busy reports whether a shard was saturated when it last answered a reader.
func (s *Shards) Busy(is kv.ShardID) bool { return s.shard[is].busy }

// SetDown says whether a node is known to be down, and reports whether that is news of one
// that is.
func (s *Shards) SetDown(n kv.NodeID, down bool) bool {
	_, was := s.down[n]
	if !down {
		delete(s.down, n)
		return false
	}
	if !was {
		s.down[n] = s.env.Now
	}
	return !was
}

// DownSince is since when a node has been known to be down, and whether it is.
func (s *Shards) DownSince(n kv.NodeID) (int64, bool) {
	since, is := s.down[n]
	return since, is
}

// AnyDown reports whether some node is known to be down.
func (s *Shards) AnyDown() bool { return len(s.down) > 0 }

// SetLeaving says that a shard's node is about to stop, as of an incarnation. New
// transactions that need the shard are refused until it is in a later one; what has begun
// there goes on.
func (s *Shards) SetLeaving(of kv.ShardID, inc kv.Incarnation) {
	if int(of) >= len(s.shard) || inc < s.Incarnation(of) {
		return
	}
	s.Learn(of, inc)
	if s.leaving[of].inc != inc {
		s.leavings++
		s.leaving[of] = leaving{inc: inc, number: s.leavings}
	}
}

// IsLeaving reports whether nothing new is begun on a shard because its node is about to stop.
func (s *Shards) IsLeaving(of kv.ShardID) bool {
	return s.LeavingBefore([]kv.ShardID{of}, s.leavings) != nil
}

// Leavings counts the reports of shards that are about to stop.
func (s *Shards) Leavings() uint64 { return s.leavings }

// AllThere reports whether no node is known to be down and no shard about to stop.
func (s *Shards) AllThere() bool { return len(s.down)+len(s.leaving) == 0 }

// Refusing says why a new transaction should not begin on these shards, nil if it can:
// their node is down, or about to stop.
func (s *Shards) Refusing(need []kv.ShardID) *msg.Failure {
	f := s.Unreachable(need...)
	if f != nil {
		return f
	}
	return s.LeavingBefore(need, s.leavings)
}

// IsDown reports whether a shard's node is known to be down.
func (s *Shards) IsDown(is kv.ShardID) bool {
	_, down := s.down[s.env.Router.Node(is)]
	return down
}

// NoFullRound says why no state of all shards can be fixed now, nil if one can.
func (s *Shards) NoFullRound() *msg.Failure {
	if s.AllThere() {
		return nil
	}
	return s.Refusing(s.env.EveryShard())
}

// NoRound says why no state can be fixed now, nil if one can. It needs no shard whose node is
// down, but each one that is about to stop: views that have begun there read on.
func (s *Shards) NoRound() *msg.Failure {
	if s.AllThere() {
		return nil
	}
	var up []kv.ShardID
	for _, sh := range s.env.EveryShard() {
		if !s.IsDown(sh) {
			up = append(up, sh)
		}
	}
	if len(up) == 0 {
		return s.NoFullRound()
	}
	return s.LeavingBefore(up, s.leavings)
}

// IsNoRound reports whether a round failed because it needs a shard that is not there, or
// is about to stop.
func IsNoRound(f *msg.Failure) bool {
	return f.Reason == msg.ReasonExhausted && kv.Kind(f.Kind) == kv.KindUnavailable
}

// Unreachable says which of these shards is on a node that is known to be down, nil for none.
func (s *Shards) Unreachable(need ...kv.ShardID) *msg.Failure {
	if len(s.down) == 0 {
		return nil
	}
	for _, sh := range need {
		n := s.env.Router.Node(sh)
		_, is := s.down[n]
		if is {
			text := "shard " + sh.String() + " is on node " + n.String() + ", which is down"
			f := env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text)
			f.Down = n
			return f
		}
	}
	return nil
}

// LeavingBefore says why a transaction that began when so many leavings had been reported
// should not begin on these shards, nil if it can.
func (s *Shards) LeavingBefore(need []kv.ShardID, heard uint64) *msg.Failure {
	for _, sh := range need {
		l, ok := s.leaving[sh]
		switch {
		case !ok || l.number > heard:
		case l.inc < s.Incarnation(sh):
			delete(s.leaving, sh) // it is back
		default:
			text := "shard " + sh.String() + " is on node " + s.env.Router.Node(sh).String() + ", which is draining"
			f := env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text)
			f.Hint = "nothing was applied; retry when the node is back"
			return f
		}
	}
	return nil
}
