package shard

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// reader is what a read-only transaction has on this shard: the read under way
// or its answer, and the notices that have come for it. Its registration is in
// the snapshot-queues.
type reader struct {
	id kv.TxnRef
	// number is that of its newest request.
	number uint32
	// reading is under way; replied is the answer to number, which a repeat
	// gets again while the reader is registered.
	reading *task
	replied *msg.Read
	reply   *msg.ReadReply
	// notices are the newest readings that other shards told of.
	notices map[kv.ShardID]msg.Reading
	// expires is when it is forgotten if nothing more is heard of it.
	expires int64
}

func (m *Machine) readerOf(id kv.TxnRef) *reader {
	r := m.readers[id]
	if r == nil {
		r = &reader{id: id}
		m.readers[id] = r
	}
	r.expires = m.now + int64(m.cfg.Lease)
	m.timers.at(r.expires)
	return r
}

// onRead begins a read, or answers it again.
func (m *Machine) onRead(q *msg.Read) {
	if _, left := m.left.get(q.Reader); left {
		return // a late duplicate
	}
	if isPast(q) {
		m.onReadPast(q)
		return
	}
	if m.fixedAlready(q) {
		return
	}
	r := m.readerOf(q.Reader)
	switch {
	case q.Number < r.number:
		return
	case q.Number == r.number && r.reading != nil:
		m.tellWait(r.reading)
		return
	case r.reading != nil && r.reading.stage != stageLoading && r.reading.stage != stageLoaded:
		return // one after the other; it will be repeated
	case q.LeaseNanos > int64(m.cfg.Lease):
		m.refuseRead(q)
		return
	case q.Number == r.number && r.reply != nil && m.queue.Registered(r.id):
		m.sendReply(r)
		return
	}
	m.stopReading(r)
	r.number, r.reply, r.replied = q.Number, nil, nil
	r.reading = &task{kind: taskRead, txn: q.Reader, gateway: q.Gateway, ops: q.Ops, read: q}
	m.begin(r.reading)
}

// refuseRead: a restarted shard would not wait for a longer lease.
func (m *Machine) refuseRead(q *msg.Read) {
	env := msg.ToGateway(q.Gateway)
	env.ReadReply = &msg.ReadReply{Reader: q.Reader, Number: q.Number, Reading: msg.Reading{Shard: m.cfg.ID, Incarnation: m.inc},
		Failure: failure(msg.ReasonRequest, kv.KindInvalid, "the lease is longer than the shard's")}
	m.send(env)
}

// stopReading gives up the read that is under way.
func (m *Machine) stopReading(r *reader) {
	if t := r.reading; t != nil {
		r.reading = nil
		m.drop(t)
	}
}

// onNotice: another shard has read for a reader that reads here last.
func (m *Machine) onNotice(n *msg.Notice) {
	if _, left := m.left.get(n.Reader); left {
		return
	}
	r := m.readerOf(n.Reader)
	if r.notices == nil {
		r.notices = map[kv.ShardID]msg.Reading{}
	}
	r.notices[n.Reading.Shard] = n.Reading
	if t := r.reading; t != nil && t.stage == stageLoaded {
		m.enterRead(t)
	}
}

// onLeave: the reader has ended.
func (m *Machine) onLeave(l *msg.Leave) {
	m.left.add(m.now, l.Reader, nil)
	if r := m.readers[l.Reader]; r != nil {
		m.stopReading(r)
		delete(m.readers, l.Reader)
	}
	m.queue.Leave(m.now, l.Reader)
}

func (m *Machine) onRenew(r *msg.Renew) {
	ok := r.Incarnation == m.inc && r.LeaseNanos <= int64(m.cfg.Lease) && m.queue.Renew(m.now, r.Reader, m.now+r.LeaseNanos)
	if ok {
		m.readerOf(r.Reader)
	}
	ok = ok || r.Incarnation != m.inc && m.cfg.Mutants.Has(mutant.RenewedElsewhere)
	env := msg.ToGateway(r.Gateway)
	env.RenewReply = &msg.RenewReply{Reader: r.Reader, Number: r.Number, Shard: m.cfg.ID, Ok: ok}
	m.send(env)
}

// enterRead: the keys are in memory. When the notices are there too, the
// reader enters the snapshot-queues.
func (m *Machine) enterRead(t *task) {
	r := m.readers[t.txn]
	for _, s := range t.read.Await {
		if _, told := r.notices[s]; !told && !m.cfg.Mutants.Has(mutant.NoticesNotAwaited) {
			return
		}
	}
	lease := t.read.LeaseNanos
	t.entered = snapshotqueue.Read{Reader: t.txn, Needs: m.readNeeds(t), Lasting: lease > 0, Stays: t.ranges, Whole: t.read.KeepNanos > 0,
		Until: m.now + max(lease, int64(m.cfg.Lease)), Patience: m.patience(), Tag: t}
	if lease > 0 {
		t.entered.Until = m.now + lease
	}
	m.enter(t)
}

// enter has a reader enter the snapshot-queues, or refuses it where they are closed.
func (m *Machine) enter(t *task) {
	t.stage = stageWaiting
	switch {
	case m.queue.Enter(m.now, &t.entered):
		m.readReady(t)
	case t.entered.Refused():
		m.turnAway(t)
	}
}

// turnAway: a reader would hold an update that readers have held for long. It is told
// to read at a pin. Nothing is kept of it: a repeat tries again.
func (m *Machine) turnAway(t *task) {
	f := failure(msg.ReasonClosed, kv.KindAborted, "readers have held an update of the key for long")
	if t.kind == taskPark {
		t.rec.State = record.Aborted
		m.drop(t)
		m.recs.Remove(t.rec)
		m.answerAbort(recorder(t.rec), f)
		return
	}
	m.readers[t.txn].reading = nil
	if !m.queue.Registered(t.txn) {
		delete(m.readers, t.txn)
	}
	m.drop(t)
	env := msg.ToGateway(t.gateway)
	env.ReadReply = &msg.ReadReply{Reader: t.txn, Number: t.read.Number, Reading: msg.Reading{Shard: m.cfg.ID, Incarnation: m.inc}, Failure: f}
	m.send(env)
}

// enterSnapshot begins the read of a transaction that is on this shard alone.
func (m *Machine) enterSnapshot(t *task) {
	t.stage = stageWaiting
	if m.queue.Len() == 0 && !t.ranges {
		m.run(t)
		return
	}
	t.entered = snapshotqueue.Read{Reader: t.txn, Needs: m.readNeeds(t), Stays: t.ranges, Until: m.now + int64(m.cfg.Lease), Patience: m.patience(), Tag: t}
	m.enter(t)
}

// everything is what a reader sees that fixes the shard's index.
var everything = []snapshotqueue.Need{{Span: kv.Range(nil, nil), Mode: adt.ModeRead}}

func (m *Machine) readNeeds(t *task) []snapshotqueue.Need {
	if t.read != nil && t.read.KeepNanos > 0 {
		return everything
	}
	out := make([]snapshotqueue.Need, 0, len(t.req.Needs))
	for _, n := range t.req.Needs {
		if !m.overlooks(n.Mode) {
			out = append(out, snapshotqueue.Need{Span: n.Span, Mode: n.Mode, Methods: n.Methods})
		}
	}
	return out
}

// overlooks reports whether a mutant does not register readers for a mode.
func (m *Machine) overlooks(mode adt.Mode) bool {
	_, typed := mode.Type()
	return typed && mode.OfPart() && m.cfg.Mutants.Has(mutant.PartUnregistered) ||
		typed && !mode.OfPart() && m.cfg.Mutants.Has(mutant.WholeUnregistered)
}

// readReady: the newest visible values are the reader's.
func (m *Machine) readReady(t *task) {
	if waited := m.now - t.entered.Since(); waited > 0 {
		m.stats.ReadWaits++
		m.stats.ReadWaitNanos += uint64(waited)
		if _, key, holder := t.entered.Waited(); key != nil {
			m.waited(key, hotshard.ReadWait, holder, waited)
		}
	}
	m.readRanges(t)
}

// replyRead reads and answers.
func (m *Machine) replyRead(t *task) {
	q := t.read
	m.readings++
	reply := &msg.ReadReply{Reader: q.Reader, Number: q.Number, Index: m.index,
		Reading: msg.Reading{Shard: m.cfg.ID, Incarnation: m.inc, Number: m.readings}}
	switch {
	case t.err != nil:
		reply.Failure = failureOf(t.err)
	case q.KeepNanos > 0:
		m.keep(q.Reader, m.index, q.KeepNanos)
		m.keeps[keepName{q.Reader}].reply = reply
		m.pins.fixed = max(m.pins.fixed, m.index)
		reply.Fixed = m.now
	default:
		x := m.exec(t)
		if m.lacksPages(t, &x) {
			return
		}
		reply.Results, reply.Failure = x.Results, x.Failure
	}
	r := m.readers[t.txn]
	for _, s := range q.Await {
		if on, told := r.notices[s]; told {
			reply.Relied = append(reply.Relied, on)
		}
	}
	reply.Receipt = m.receipt(t)
	parked, age := m.queue.Passes(m.now, t.entered.Needs)
	reply.Parked, reply.Busy = parked || m.recs.Len() > 0, m.heat.spare
	if q.LeaseNanos > 0 {
		reply.HeldNanos = age
	}
	r.reading, r.replied, r.reply = nil, q, reply
	m.stats.Reads++
	m.drop(t)
	m.sendReply(r)
	if q.LeaseNanos == 0 {
		delete(m.readers, r.id) // if it asks again, others tell of it again
	}
}

// sendReply answers a reader, and tells the shard that it reads last.
func (m *Machine) sendReply(r *reader) {
	env := msg.ToGateway(r.replied.Gateway)
	env.ReadReply = r.reply
	m.send(env)
	if r.replied.Notify && r.reply.Failure == nil {
		env := msg.ToShard(r.replied.Last)
		env.Notice = &msg.Notice{Reader: r.id, Reading: r.reply.Reading}
		m.send(env)
	}
}

// settleReaders acts on what has become possible in the snapshot-queues.
func (m *Machine) settleReaders() {
	for i := 0; i < len(m.loadedReads); i++ { // there may be more while it lasts
		switch t := m.loadedReads[i]; {
		case t.stage == stageDone: // given up meanwhile
		case t.kind == taskPark:
			m.tryDecide(t.rec)
		case t.err != nil:
			m.replyRead(t)
		default:
			m.enterRead(t)
		}
	}
	m.loadedReads = emptied(m.loadedReads)
	for c := m.queue.Changes(); !c.Empty(); c = m.queue.Changes() {
		for _, r := range c.Lapsed {
			t := r.Tag.(*task)
			if t.kind == taskPark {
				m.enterSnapshot(t)
				continue
			}
			if rd := m.readers[t.txn]; rd != nil && rd.reading == t {
				delete(m.readers, t.txn) // a repeat begins anew
			}
			m.drop(t)
		}
		for _, r := range c.Ready {
			if t, ok := r.Tag.(*task); ok {
				m.readReady(t)
			}
		}
		for _, txn := range c.Sealed {
			if a := m.attempts[txn]; a != nil && a.prepared != nil {
				m.vote(a, false)
			}
		}
		for i := range c.Free {
			m.unheld(&c.Free[i])
		}
	}
}

// changesOf lists what effects change, as others see it.
func (m *Machine) changesOf(effects []entry.Effect) []snapshotqueue.Need {
	if m.cfg.Mutants.Has(mutant.MovesIgnoreReaders) && len(effects) > 0 && isMove(&effects[0]) {
		return nil
	}
	out := make([]snapshotqueue.Need, 0, len(effects))
	for i := range effects {
		modes, methods := m.changeModes(&effects[i])
		for _, mode := range modes {
			out = append(out, snapshotqueue.Need{Span: kv.Point(effects[i].Key), Mode: mode, Methods: methods})
		}
	}
	return out
}

// heldByReaders reports whether a piece that could be decided now must wait
// for readers to leave. It waits without having executed, and without locks, and
// unheld goes on: then it reads its ranges anew.
func (m *Machine) heldByReaders(t *task, x *mvcc.Execution) bool {
	if m.queue.Open(m.now) {
		return false
	}
	changes, others := m.changesOf(x.Effects), t.rec.Park.Participants
	if len(changes) == 0 && len(others) > 0 && !slices.Contains(others, m.cfg.ID) {
		changes = onlyIndex
	}
	if !m.queue.Hold(m.now, t.txn, changes) {
		return false
	}
	t.stage = stageHeld
	m.loosen(t)
	return true
}

// onlyIndex is what a piece changes that writes elsewhere alone: this shard's index,
// which is its token. Who fixes the index sees it, with everything else, or the state
// that it fixes would have the update and not the token.
var onlyIndex = []snapshotqueue.Need{{Span: kv.Point(nil), Mode: adt.ModeWrite}}

// promised lists what a prepared update changes here, as others see it. Its last agent
// is a participant too where all prepare in parallel.
func (m *Machine) promised(row *entry.Prepared) []snapshotqueue.Need {
	if len(row.Effects) == 0 && row.Last == m.cfg.ID {
		return onlyIndex
	}
	return m.changesOf(row.Effects)
}

// loosen has a piece that is to wait give back the locks that it took, and what it
// read under them.
func (m *Machine) loosen(t *task) {
	m.locks.GiveBack(&t.req)
	t.rows = nil
	t.round++ // reads under way are for nothing
}

// unheld: no reader stands in the way of a piece any more.
func (m *Machine) unheld(f *snapshotqueue.Freed) {
	if f.Key != nil {
		m.waited(f.Key, hotshard.Held, f.Txn, f.Nanos)
	}
	rec := m.recs.Get(f.Txn)
	if rec == nil {
		return
	}
	t := taskOf(rec)
	if t == nil || t.stage != stageHeld {
		return
	}
	if t.held == nil || t.held.Nanos < f.Nanos {
		t.held = f
	}
	m.acquire(t)
}

// forgetReaders drops what is left of readers that nothing was heard of for
// long. What has entered the snapshot-queues lapses there.
func (m *Machine) forgetReaders() {
	var gone []kv.TxnRef
	for id, r := range m.readers {
		if idle := r.reading == nil || r.reading.stage == stageLoaded; m.now >= r.expires && idle && !m.queue.Registered(id) {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, kv.TxnRef.CompareAge)
	for _, id := range gone {
		m.stopReading(m.readers[id])
		delete(m.readers, id)
	}
}
