package readers

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
)

// Receive handles a message, and reports whether it was for readers.
func (r *Readers) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.Read:
		r.onRead(b)
	case *msg.Registered:
		r.onRegisteredNotice(b)
	case *msg.Deregister:
		r.onDeregister(b)
	case *msg.RenewLease:
		r.onRenewLease(b)
	default:
		return false
	}
	return true
}

// onRead starts a read, or repeats its response.
//
// Requests of one reader are numbered, and the newest counts. The cases below, in this order:
//
//	the number is lower             a late copy: ignored
//	the same, in execution          wait report
//	a newer one, the old one runs   ignored: the gateway retries it
//	a longer lease than allowed     rejected
//	the same, with a response       the response is repeated, if the reader is still registered
//	otherwise                       a new read
func (r *Readers) onRead(q *msg.Read) {
	if q.Probe {
		r.onProbe(q)
		return
	}
	if isWithheld(r, q) {
		return
	}
	// A delayed copy of a request must not register an ended reader again: it would block updates until the
	// lease expires, and no message would release them.
	if r.HasLeft(q.Reader) || r.repeatFixed(q) {
		return // a late copy
	}
	x := r.touchReader(q.Reader)
	switch {
	// Superseded by a newer request of the reader.
	case q.Number < x.number:
		return
	// A retry of a request in execution is answered with a wait report.
	case q.Number == x.number && x.current != nil:
		r.part.ReportWait(&x.current.task, r.receipt(&x.current.piece))
		return
	// It may be registered. Its reads must not end while another read of the transaction relies on the registration.
	case x.current != nil && !x.current.task.Idle():
		return // one at a time; the gateway retries
	case q.LeaseNanos > int64(r.cfg.Lease): // a restarted shard would not wait for a longer lease
		f := msg.Fail(msg.ReasonRequest, kv.KindInvalid, "the requested lease is longer than that of the shard")
		r.sendUnstored(q, &msg.ReadResponse{Failure: f})
		return
	// The response was lost. It is repeated while the registration protects it; afterwards the read executes
	// again.
	case q.Number == x.number && x.reply != nil && r.queue.IsRegistered(x.id):
		r.sendReply(x)
		return
	}
	r.cancelRead(x)
	x.number, x.reply, x.answered = q.Number, nil, nil
	n := &readRequest{request: q}
	n.task = exec.Task{Kind: exec.Read, Txn: q.Reader, Gateway: q.Gateway, User: q.User, Ops: q.Ops, Owner: n}
	x.current = n
	r.OnStep(&n.task, r.exec.Begin(&n.task))
}

// repeatFixed handles a late copy of a request that has fixed a CSN, or of an older request. A reader that
// reads here last is not registered, and is forgotten with the response: the copy would fix another CSN for
// it, and release the one in the response.
//
//	the round's request fixes CSN 7; the response is lost
//	without this rule: the retry fixes CSN 9, and 7 is not retained any more
//	the first response arrives late: the gateway's snapshot has CSN 7, which cannot be read
func (r *Readers) repeatFixed(q *msg.Read) bool {
	k := r.store.Retention().Find(q.Reader)
	if q.RetainNanos == 0 || q.LeaseNanos > 0 || k == nil || k.Reply == nil || q.Number > k.Reply.Number {
		return false
	}
	if q.Number == k.Reply.Number {
		m := msg.ToGateway(q.Gateway)
		m.Body = k.Reply
		r.sendFor(q, m)
	}
	return true
}

// sendFor sends the response to a read. What a round has fixed need not be durable: it is valid in this
// incarnation only, and a read at it waits until its result is durable.
func (r *Readers) sendFor(q *msg.Read, m *msg.Envelope) {
	if r.isUrgent(q) {
		r.Urgent(m)
		return
	}
	r.Send(m)
}

// onProbe responds to a probe twice: immediately, and when the log is durable.
func (r *Readers) onProbe(q *msg.Read) {
	m := msg.ToGateway(q.Gateway)
	// The gateway compares the times of the two responses: the difference is the delay of the log.
	m.Body = &msg.ReadResponse{
		Reader: q.Reader, Number: q.Number, Reading: msg.Reading{Shard: r.ID, Incarnation: r.Inc}, Immediate: true,
	}
	r.Urgent(m)
	r.sendUnstored(q, &msg.ReadResponse{})
}

// sendUnstored sends a response that is not stored for retries.
//
// Such a response says that nothing was read, so it may differ when the request is repeated.
func (r *Readers) sendUnstored(q *msg.Read, x *msg.ReadResponse) {
	x.Reader, x.Number, x.Reading = q.Reader, q.Number, msg.Reading{Shard: r.ID, Incarnation: r.Inc}
	m := msg.ToGateway(q.Gateway)
	m.Body = x
	r.Send(m)
}

// cancelRead cancels the current request of a reader.
//
// Its registration for this read ends; one that lasts stays until the reader deregisters.
func (r *Readers) cancelRead(x *reader) {
	n := x.current
	if n != nil {
		x.current = nil
		r.dropPiece(&n.piece)
	}
}

// dropPiece ends a piece and its registration.
// The registration of an open reader stays: it protects the reads before this one. It ends by Deregister, or its lease.
func (r *Readers) dropPiece(p *piece) {
	r.deregisterPiece(p)
	r.exec.Drop(&p.task)
}

// deregisterPiece ends the registration of a piece, if it has one.
//
// A reader that waits in the queues for a page holds updates for a disk read otherwise; see executeRead.
func (r *Readers) deregisterPiece(p *piece) {
	if p.registration.Tag != nil {
		r.queue.Done(r.Now, &p.registration)
		p.registration.Tag = nil
	}
}

// receipt describes the longest wait of a piece for conflicting updates.
func (r *Readers) receipt(p *piece) msg.Receipt {
	out := r.exec.Receipt(&p.task)
	if p.registration.Tag != nil {
		out = msg.Worst(out, p.registration.Receipt(r.Now))
	}
	return out
}

// onRegisteredNotice handles the notice that another shard has read for a reader that reads here last.
//
// A later notice of a shard replaces its earlier one: after an expired registration the reader has read there again.
func (r *Readers) onRegisteredNotice(n *msg.Registered) {
	if r.HasLeft(n.Reader) {
		return
	}
	x := r.touchReader(n.Reader)
	// The notice may arrive before the request of the reader itself.
	if x.notices == nil {
		x.notices = map[kv.ShardID]msg.Reading{}
	}
	x.notices[n.Reading.Shard] = n.Reading
	// The read waits for its notices if its keys are in memory; otherwise it checks them when these arrive.
	if x.current != nil && x.current.task.Loaded() {
		r.enterRead(x.current)
	}
}

// onDeregister ends a reader. If it is a round and its snapshot is complete, the CSN is retained for longer.
//
// Unlike an expiry this is final: the name of a reading is never used again, so late copies of its requests are
// recognized (HasLeft) as long as they are remembered; afterwards they register for one lease at most.
func (r *Readers) onDeregister(l *msg.Deregister) {
	// The message may overtake a copy of a request of this reader, which must not register it again.
	r.ended.Add(r.Now, l.Reader, nil)
	x := r.readers[l.Reader]
	if x != nil {
		r.cancelRead(x)
		delete(r.readers, l.Reader)
	}
	// Updates that the reader held seal now, and vote again.
	r.queue.Deregister(r.Now, l.Reader)
	retention := r.store.Retention()
	k := retention.Find(l.Reader)
	switch {
	case k == nil:
	// The snapshot is incomplete or not used: no gateway reads at this CSN.
	case l.RetainNanos == 0:
		retention.Release(l.Reader)
	default:
		retention.Retain(l.Reader, k.CSN, l.RetainNanos)
	}
}

// onRenewLease extends the registration of a reader. A registration of an earlier incarnation is lost and
// cannot be extended.
func (r *Readers) onRenewLease(q *msg.RenewLease) {
	until := r.leaseUntil(q.LeaseNanos)
	ok := r.renew(q, until)
	if ok {
		r.touchReader(q.Reader)
	}
	m := msg.ToGateway(q.Gateway)
	m.Body = &msg.RenewLeaseResponse{Reader: q.Reader, Number: q.Number, Shard: r.ID, Ok: ok,
		LeaseNanos: r.granted(q.LeaseNanos, until)}
	r.Send(m)
}

// granted returns the duration to state for a lease that begins now: 0 if it is the requested one.
func (r *Readers) granted(requested, until int64) int64 {
	if until == r.Now+requested {
		return 0
	}
	return max(until-r.Now, 1) // 0 would state more
}

// OnStep acts on the step that a piece has reached.
//
// A step Waiting needs nothing: keys, pages and rows arrive by the store, registrations by OnQueueChanges.
func (r *Readers) OnStep(t *exec.Task, s exec.Step) {
	switch {
	case s == exec.Loaded:
		// A transaction may be becoming visible, key by key, and a reader has no lock: it registers at Settle.
		r.pendingEntry = append(r.pendingEntry, t)
	case s == exec.Ready && t.Kind == exec.Read:
		r.executeRead(t.Owner.(*readRequest))
	case s == exec.Ready:
		r.runSnapshot(t.Owner.(*snapshot))
	}
}
