package readers

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
)

// Receive takes a message, and reports whether it was for readers.
func (r *Readers) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.Read:
		r.onRead(b)
	case *msg.Registered:
		r.onNotice(b)
	case *msg.Deregister:
		r.onLeave(b)
	case *msg.RenewLease:
		r.onRenew(b)
	default:
		return false
	}
	return true
}

// onRead begins a read, or answers it again.
func (r *Readers) onRead(q *msg.Read) {
	if q.Probe {
		r.onProbe(q)
		return
	}
	if r.Left(q.Reader) || r.fixedAlready(q) {
		return // a late duplicate
	}
	x := r.readerOf(q.Reader)
	switch {
	case q.Number < x.number:
		return
	case q.Number == x.number && x.reading != nil:
		r.part.ReportWait(&x.reading.task, r.receipt(&x.reading.piece))
		return
	case x.reading != nil && !x.reading.task.Idle():
		return // one after the other; it will be repeated
	case q.LeaseNanos > int64(r.cfg.Lease): // a restarted shard would not wait for a longer lease
		r.reply(q, &msg.ReadResponse{Failure: msg.Fail(msg.ReasonRequest, kv.KindInvalid, "the requested lease is longer than that of the shard")})
		return
	case q.Number == x.number && x.reply != nil && r.queue.Registered(x.id):
		r.sendReply(x)
		return
	}
	r.stop(x)
	x.number, x.reply, x.replied = q.Number, nil, nil
	n := &reading{q: q}
	n.task = exec.Task{Kind: exec.Read, Txn: q.Reader, Gateway: q.Gateway, User: q.User, Ops: q.Ops, Owner: n}
	x.reading = n
	r.Went(&n.task, r.exec.Begin(&n.task))
}

// fixedAlready answers a copy of a request that has fixed an index, or of an older one. A reader that
// reads here last is not registered, and forgotten with the answer: the copy would fix another index
// for it, and give up the one that it was answered.
func (r *Readers) fixedAlready(q *msg.Read) bool {
	k := r.store.Kept().Of(q.Reader)
	if q.KeepNanos == 0 || q.LeaseNanos > 0 || k == nil || k.Reply == nil || q.Number > k.Reply.Number {
		return false
	}
	if q.Number == k.Reply.Number {
		m := msg.ToGateway(q.Gateway)
		m.Body = k.Reply
		r.sendFor(q, m)
	}
	return true
}

// sendFor sends what a read has come to. What a round has fixed need not be durable: it holds for
// this incarnation alone, and a read at it waits until its result is durable.
func (r *Readers) sendFor(q *msg.Read, m *msg.Envelope) {
	if q.KeepNanos > 0 && !r.Mutants.Has(mutant.RoundsAnsweredDurable) {
		r.Urgent(m)
		return
	}
	r.Send(m)
}

// onProbe answers a probe twice: at once, and when the log is durable.
func (r *Readers) onProbe(q *msg.Read) {
	m := msg.ToGateway(q.Gateway)
	m.Body = &msg.ReadResponse{Reader: q.Reader, Number: q.Number, Reading: msg.Reading{Shard: r.ID, Incarnation: r.Inc}, AtOnce: true}
	r.Urgent(m)
	r.reply(q, &msg.ReadResponse{})
}

// reply sends an answer that is not kept.
func (r *Readers) reply(q *msg.Read, x *msg.ReadResponse) {
	x.Reader, x.Number, x.Reading = q.Reader, q.Number, msg.Reading{Shard: r.ID, Incarnation: r.Inc}
	m := msg.ToGateway(q.Gateway)
	m.Body = x
	r.Send(m)
}

// stop gives up the read that is under way.
func (r *Readers) stop(x *reader) {
	n := x.reading
	if n != nil {
		x.reading = nil
		r.drop(&n.piece)
	}
}

// drop ends a piece, and its registration for it.
func (r *Readers) drop(p *piece) {
	r.leaveQueues(p)
	r.exec.Drop(&p.task)
}

// leaveQueues ends the registration of a piece, if it has one.
func (r *Readers) leaveQueues(p *piece) {
	if p.entered.Tag != nil {
		r.queue.Done(r.Now, &p.entered)
		p.entered.Tag = nil
	}
}

// receipt is the longest wait of a piece: for the updates in its way.
func (r *Readers) receipt(p *piece) msg.Receipt {
	out := r.exec.Receipt(&p.task)
	if p.entered.Tag != nil {
		out = msg.Worst(out, p.entered.Receipt(r.Now))
	}
	return out
}

// onNotice: another shard has read for a reader that reads here last.
func (r *Readers) onNotice(n *msg.Registered) {
	if r.Left(n.Reader) {
		return
	}
	x := r.readerOf(n.Reader)
	if x.notices == nil {
		x.notices = map[kv.ShardID]msg.Reading{}
	}
	x.notices[n.Reading.Shard] = n.Reading
	if x.reading != nil && x.reading.task.Loaded() {
		r.enterRead(x.reading)
	}
}

// onLeave: the reader has ended. If it is a round whose state is complete, the index is kept for longer.
func (r *Readers) onLeave(l *msg.Deregister) {
	r.left.Add(r.Now, l.Reader, nil)
	x := r.readers[l.Reader]
	if x != nil {
		r.stop(x)
		delete(r.readers, l.Reader)
	}
	r.queue.Leave(r.Now, l.Reader)
	kept := r.store.Kept()
	k := kept.Of(l.Reader)
	switch {
	case k == nil:
	case l.KeepNanos == 0:
		kept.Drop(l.Reader)
	default:
		kept.Keep(l.Reader, k.Index, l.KeepNanos)
	}
}

func (r *Readers) onRenew(q *msg.RenewLease) {
	ok := q.Incarnation == r.Inc && q.LeaseNanos <= int64(r.cfg.Lease) && r.queue.Renew(r.Now, q.Reader, r.Now+q.LeaseNanos)
	if ok {
		r.readerOf(q.Reader)
	}
	ok = ok || q.Incarnation != r.Inc && r.Mutants.Has(mutant.RenewedElsewhere)
	m := msg.ToGateway(q.Gateway)
	m.Body = &msg.RenewLeaseResponse{Reader: q.Reader, Number: q.Number, Shard: r.ID, Ok: ok}
	r.Send(m)
}

// Went acts on the step that a piece has reached.
func (r *Readers) Went(t *exec.Task, s exec.Step) {
	switch {
	case s == exec.Loaded:
		// A transaction may just be being shown, key by key, and a reader has no lock to keep it
		// from seeing a half of that.
		r.loaded = append(r.loaded, t)
	case s == exec.Ready && t.Kind == exec.Read:
		r.replyRead(t.Owner.(*reading))
	case s == exec.Ready:
		r.runSnapshot(t.Owner.(*snapshot))
	}
}
