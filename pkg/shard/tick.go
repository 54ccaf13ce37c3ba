package shard

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// timers says when the next round of repeats is due. One number is enough:
// a round looks at everything that could be due, and there is at most one
// every tickEvery.
type timers struct {
	next int64
	// housekeeping happens once a second.
	house int64
}

const (
	// tickEvery is the least time between two rounds of repeats. Somewhat
	// arbitrary: a tenth of the first repeat.
	tickEvery = 5 * time.Millisecond
	// readersEvery is the same for readers and what they wait for. A node's
	// timers are coarser; but when much is going on, steps are frequent.
	readersEvery = leastPatience
	houseEvery   = time.Second
	// idlePush is after how many liveness times a silent holder's gateway is
	// asked, although nobody waits for it.
	idlePush = 5
)

func (t *timers) init(now int64) { t.next, t.house = never, now+int64(houseEvery) }

// at has a round happen at a time, or soon after.
func (t *timers) at(when int64) { t.next = min(t.next, when) }

func (m *Machine) nextTick() int64 {
	next := min(m.timers.next, m.locks.NextTick(), m.heat.next)
	if m.busy() {
		next = min(next, m.timers.house)
	}
	next = max(next, m.now+int64(tickEvery))
	next = min(next, max(min(m.nextPins(), m.nextDeadline()), m.now+int64(tickEvery)))
	return min(next, max(m.queue.NextTick(), m.now+int64(readersEvery)))
}

// busy reports whether housekeeping has anything to do.
func (m *Machine) busy() bool {
	return m.garbage.Len() > 0 || m.sweepsLeft() || m.expectsPins() || len(m.attempts) > 0 || m.recs.Len() > 0 || len(m.keeps) > 0 ||
		len(m.unread)+len(m.readers) > 0 || m.stats.Committed+m.stats.Applied != m.floorCount
}

func (m *Machine) tick() {
	if m.garbage.Fresh() >= m.cfg.GarbageBatch && m.now >= m.collected+int64(tickEvery) && m.floorIndex() > m.collectedTo {
		m.collect()
	}
	if m.now >= m.locks.NextTick() {
		for _, txn := range m.locks.Tick(m.now) {
			m.push(txn)
		}
	}
	if m.now >= m.queue.NextTick() {
		for _, q := range m.queue.Tick(m.now) {
			m.askUnseal(q)
		}
	}
	if m.now >= m.timers.next {
		m.timers.next = never
		m.repeatVotes()
		m.repeatQuestions()
	}
	m.tickPins()
	m.tickHeat()
	m.tickDeadlines()
	if m.now >= m.timers.house {
		m.timers.house = m.now + int64(houseEvery)
		m.housekeeping()
	}
}

// repeatVotes votes again where no decision has come.
func (m *Machine) repeatVotes() {
	for _, a := range m.sortedAttempts() {
		pr := a.prepared
		if pr == nil {
			continue
		}
		if m.now >= pr.nextVote {
			pr.wait = min(2*pr.wait, int64(m.cfg.Liveness))
			m.vote(a, true)
		} else {
			m.timers.at(pr.nextVote)
		}
	}
}

// repeatQuestions asks for missing votes and acknowledgements.
func (m *Machine) repeatQuestions() {
	for _, rec := range m.recs.All() {
		if m.now < rec.NextAsk {
			m.timers.at(rec.NextAsk)
			continue
		}
		if rec.State == record.Heard && (rec.No() != nil || len(rec.Silent()) == 0) {
			// A yes that somebody stands by would have been repeated.
			m.abort(rec, failure(msg.ReasonTombstone, kv.KindAborted, "the transaction was not parked"))
			continue
		}
		rec.NextAsk = m.now + int64(m.cfg.Liveness)
		m.timers.at(rec.NextAsk)
		switch rec.State {
		case record.Heard, record.Parked:
			if m.cfg.Mutants.Has(mutant.NoAskVote) {
				continue
			}
			for _, s := range rec.Silent() {
				env := msg.ToShard(s)
				env.AskVote = &msg.AskVote{Txn: rec.Txn, Last: m.cfg.ID, LastIncarnation: m.inc, LastAborts: rec.Known.Aborts, Gateway: rec.Gateway, User: rec.User}
				m.send(env)
			}
		case record.Committed:
			m.tellAll(rec.Txn, rec.Known, rec.Missing, true)
		}
	}
}

// push asks a holder's gateway whether it still knows the attempt; if it has
// not answered the last time, the lock is broken.
func (m *Machine) push(txn kv.TxnRef) {
	a := m.attempts[txn]
	if a == nil || a.prepared != nil || m.cfg.Mutants.Has(mutant.NoPush) {
		return
	}
	if a.pushed != 0 && m.now >= a.pushed+int64(m.cfg.Liveness)/2 {
		m.breakLocks(a)
		return
	}
	if a.pushed == 0 {
		a.pushed = m.now
	}
	env := msg.ToGateway(a.gateway)
	env.Push = &msg.Push{Txn: txn, Shard: m.cfg.ID}
	m.urgent(env)
}

func (m *Machine) onPushReply(r *msg.PushReply) {
	a := m.attempts[r.Txn]
	if a == nil || a.prepared != nil {
		return
	}
	if r.Known {
		a.touched, a.pushed = m.now, 0
		return
	}
	m.breakLocks(a)
}

// breakLocks ends an attempt whose gateway is gone. What has not prepared may
// always be broken; a Prepare that waits here is voted down.
func (m *Machine) breakLocks(a *attempt) {
	m.stats.Broken++
	if t := a.preparing; t != nil {
		m.voteNo(t, failure(msg.ReasonRefused, kv.KindAborted, "the transaction's gateway does not know it any more"))
		return
	}
	m.end(a)
	m.ended.add(m.now, a.txn, nil)
}

// sendMark sends a mark to where the holder can die of it.
func (m *Machine) sendMark(mk lock.Mark) {
	a := m.attempts[mk.Holder]
	if a == nil {
		return
	}
	m.stats.MarksSent++
	env := msg.ToGateway(a.gateway)
	if a.prepared != nil {
		env = msg.ToShard(a.prepared.row.Last)
	}
	env.Mark = &msg.Mark{Txn: mk.Holder, By: mk.By, Conflict: &mk.Conflict}
	m.urgent(env)
}

func (m *Machine) housekeeping() {
	m.collect()
	for name, k := range m.keeps {
		if m.now >= k.expires {
			delete(m.keeps, name)
		}
	}
	m.tickSweeps()
	m.expirePins()
	m.askForGarbage()
	m.readAgain()
	m.forgetReaders()
	for _, a := range m.sortedAttempts() {
		if a.prepared == nil && m.now-a.touched > idlePush*int64(m.cfg.Liveness) {
			m.push(a.txn)
		}
	}
	m.raiseFloor()
}

// readAgain asks once more for the keys of promises that could not be read,
// unless they have been given up meanwhile.
func (m *Machine) readAgain() {
	unread := m.unread
	m.unread = nil
	for _, pr := range unread {
		if !m.stands(pr) {
			continue
		}
		for _, it := range pr.items {
			if !it.Loaded && !slices.Contains(it.Waiting, any(pr)) {
				m.await(it, pr)
			}
		}
		m.ready(pr)
	}
}
