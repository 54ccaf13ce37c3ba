package round

// The rules that tests break, each with its mutant.

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// awaitNext makes a transaction wait for a round that begins later, never for the one in flight:
//
//	round: s1 fixes CSN 7
//	client A commits on s1 at CSN 8, gets its response, and begins a read that joins the round
//	the snapshot has CSN 7 on s1: the read does not see A's own commit
func (r *Rounds) awaitNext(w Waiter, next *[]Waiter, inFlight *Round) {
	joins := inFlight == r.borrowing && r.env.Mutants.Has(mutant.BorrowedSnapshotTooOld) ||
		inFlight == r.current && r.env.Mutants.Has(mutant.SnapshotJoinedLate)
	if joins && inFlight != nil {
		inFlight.waiters, w.Membership().round = append(inFlight.waiters, w), inFlight
		return
	}
	*next = append(*next, w)
}

// setSnapshot gives a round the snapshot in the shards' responses, whose CSNs were fixed after its waiters had begun.
func (r *Rounds) setSnapshot(p *Round, name kv.TxnRef, replies []*msg.ReadResponse) {
	p.Name, p.Incarnations = name, make([]kv.Incarnation, r.env.Router.Shards())
	// Each shard retains what it fixes for the reader lease, from the arrival of its request on.
	p.keptUntil = slices.Repeat([]int64{p.begunAt + int64(r.env.Lease)*9/10}, len(p.Incarnations))
	for _, x := range replies {
		p.At.Raise(x.Reading.Shard, x.CSN)
		p.Incarnations[x.Reading.Shard] = x.Reading.Incarnation
		if x.Reading.Shard == r.env.Hot() {
			p.HotIncarnation, p.Fixed = x.Reading.Incarnation, x.Fixed
		}
	}
	if r.env.Mutants.Has(mutant.RoundBeforeReader) {
		fixed := p.Snapshot
		if r.previous != nil {
			p.Snapshot = *r.previous
		}
		r.previous = &fixed
	}
}

// delayNext delays the next round: each one holds all updates of the store for a moment.
func (r *Rounds) delayNext() {
	if r.env.RoundGap > 0 && !r.env.Mutants.Has(mutant.NoRoundGaps) {
		r.notBefore = r.env.Now + int64(r.env.RoundGap)
	}
}

// retainLent counts another state machine as a user. Otherwise the shards release the snapshot when the last
// transaction of this one ends.
func (r *Rounds) retainLent(p *Round) {
	if !r.env.Mutants.Has(mutant.SharedSnapshotDropped) {
		p.users++
	}
}
