package readers

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Settle registers the pieces whose keys have arrived in the snapshot-queues. It is called between
// transactions.
//
// Why not at once:
//
//	U becomes visible in this step: k1 = 1, then k2 = 1. The effect on k1 wakes a reader of k1 and k2,
//	which waited for k1 to be read from the log.
//	If it ran now, it would return the new k1 and the old k2.
func (r *Readers) Settle() {
	for i := 0; i < len(r.pendingEntry); i++ { // the loop may append more
		t := r.pendingEntry[i]
		if t.Done() { // cancelled meanwhile
			continue
		}
		switch x := t.Owner.(type) {
		case *snapshot:
			r.enterSnapshot(x)
		case *readRequest:
			if t.Err != nil {
				r.executeRead(x)
			} else {
				r.enterRead(x)
			}
		}
	}
	r.pendingEntry = step.Emptied(r.pendingEntry)
}

// OnQueueChanges acts on the registrations that have expired and on the reads that can proceed.
func (r *Readers) OnQueueChanges(c *snapshotqueue.Changes) {
	for _, e := range c.Expired {
		t := e.Tag.(*exec.Task)
		// A snapshot has waited for its updates for a whole lease. It registers again; nothing was returned.
		if t.Kind == exec.Snapshot {
			r.enterSnapshot(t.Owner.(*snapshot))
			continue
		}
		// The gateway of the reader sends nothing any more, or its renewals are lost. The updates that the reader
		// holds are released; a retry of the request registers again.
		n := t.Owner.(*readRequest)
		x := r.readers[t.Txn]
		if x != nil && x.current == n {
			delete(r.readers, t.Txn) // a retry starts again
		}
		r.dropPiece(&n.piece)
	}
	for _, e := range c.Ready {
		t, ok := e.Tag.(*exec.Task)
		if ok {
			r.onRegistered(t)
		}
	}
}

// enterRead registers a read whose keys are in memory, once the awaited notices have arrived.
//
// A reader that reads here last needs no registration: at the instant of this read, the other shards hold the
// registrations that their notices report, so all its values are of this instant. Hence it waits for all notices.
func (r *Readers) enterRead(n *readRequest) {
	t, q := &n.task, n.request
	x := r.readers[t.Txn]
	for _, s := range q.Await {
		if !r.hasNotice(x, s) {
			return
		}
	}
	lease := q.LeaseNanos
	n.registration = snapshotqueue.Read{
		Reader: t.Txn, Needs: r.snapshotNeeds(t), Lasting: lease > 0, UntilDone: t.Ranges(), WholeShard: q.RetainNanos > 0,
		Until: r.leaseUntil(int64(r.cfg.Lease)), SameProcess: q.Gateway != 0 && q.Gateway == r.cfg.Gateway, Tag: t,
	}
	if lease > 0 {
		n.registration.Until = r.leaseUntil(lease)
		n.granted = r.granted(lease, n.registration.Until)
	}
	r.enter(t)
}

// enter registers a read in the snapshot-queues. If the queues are closed, it is rejected.
//
// In one step: if the read waits, the shard requests unsealing for it after a while (snapshotqueue.Queue.Tick).
func (r *Readers) enter(t *exec.Task) {
	t.Register()
	e := &pieceOf(t).registration
	switch {
	// No sealed update conflicts with the read.
	case r.queue.Enter(r.Now, e):
		r.onRegistered(t)
	case e.Refused():
		r.rejectClosed(t)
	}
}

// rejectClosed rejects a read that would block an update which readers have blocked for too long
// (docs/protocol.md, section 5, starvation). The gateway reads at a snapshot instead. Nothing is stored, so a
// retry tries again.
func (r *Readers) rejectClosed(t *exec.Task) {
	f := msg.Fail(msg.ReasonClosed, kv.KindAborted, "readers have blocked an update of the key for too long")
	switch x := t.Owner.(type) {
	case *snapshot:
		r.last.NewResponse(x.request).Failure = f
		r.endSnapshot(x)
	case *readRequest:
		// Registrations for earlier reads of the reader stay: they protect what it has returned to its client.
		r.readers[t.Txn].current = nil
		if !r.queue.IsRegistered(t.Txn) {
			delete(r.readers, t.Txn)
		}
		r.dropPiece(&x.piece)
		r.sendUnstored(x.request, &msg.ReadResponse{Failure: f})
	}
}

// wholeShard is the need of a read that fixes the CSN of the shard.
var wholeShard = []snapshotqueue.Need{{Span: kv.Range(nil, nil), Mode: adt.ModeRead}}

// snapshotNeeds returns what a piece reads, as the snapshot-queues compare it with changes.
//
// A round needs the whole shard: the reads at its snapshot are not known yet.
func (r *Readers) snapshotNeeds(t *exec.Task) []snapshotqueue.Need {
	n, ok := t.Owner.(*readRequest)
	if ok && n.request.RetainNanos > 0 {
		return wholeShard
	}
	return r.registered(t.Request.Needs)
}

// onRegistered advances a read whose conflicting updates are decided or held: it may read the newest visible
// values.
func (r *Readers) onRegistered(t *exec.Task) {
	e := &pieceOf(t).registration
	waited := r.Now - e.Since()
	if waited > 0 {
		r.stats.Waits++
		r.stats.WaitNanos += uint64(waited)
		_, key, holder := e.Waited()
		// The wait counts as contention of the key: it may be moved to the hot shard.
		if key != nil {
			r.heat.RecordWait(key, hotshard.ReadWait, holder, waited)
		}
	}
	r.OnStep(t, r.exec.ReadRanges(t))
}

// executeRead executes a read and responds. A read of a round fixes the CSN instead.
//
// The response to a reader that reads here last lists the readings of other shards on which it relies. The
// gateway accepts it only if it holds the values of exactly these readings. Example:
//
//	A executes reading 1, and its response is lost
//	A's notice of reading 1 arrives here: the last read executes, and relies on A:1
//	the registration on A expires; a retry executes reading 2 on A, with newer values
//	the gateway has A:2, and the response here relies on A:1: it repeats the last read
func (r *Readers) executeRead(n *readRequest) {
	t, q := &n.task, n.request
	reply := &msg.ReadResponse{Reader: q.Reader, Number: q.Number, CSN: r.store.CSN(),
		Reading: msg.Reading{Shard: r.ID, Incarnation: r.Inc, Number: r.NextReading()}}
	if q.RetainNanos > 0 && t.Err == nil {
		// The response is stored with the CSN, for late copies of the request (repeatFixed).
		retention := r.store.Retention()
		retention.Retain(q.Reader, r.store.CSN(), q.RetainNanos).Reply = reply
		// From now on the snapshot may be retained by the registry: the rows that it sees are not overwritten.
		retention.SetFixed(r.store.CSN())
		reply.Fixed = r.Now
	} else {
		e, step := r.exec.Run(t)
		switch step {
		// History: the reader is registered and ready, and a page is absent. If it kept its registration while the page is
		// read, it would block updates for a disk read; so it deregisters, has read nothing, and enters again.
		case exec.Waiting: // for pages; it registers again
			r.deregisterPiece(&n.piece)
			return
		case exec.Refused:
			reply.Failure = t.Failure
		default:
			reply.Results, reply.Failure = e.Results, e.Failure
			if e.Failure == nil {
				reply.Failure = msg.MessageTooLarge(e.Results)
			}
			if reply.Failure != nil {
				reply.Results = nil
			}
		}
	}
	x := r.readers[t.Txn]
	for _, s := range q.Await {
		on, received := x.notices[s]
		if received {
			reply.Awaited = append(reply.Awaited, on)
		}
	}
	reply.Receipt = r.receipt(&n.piece)
	blocking, age := r.queue.CheckUndecided(r.Now, n.registration.Needs)
	reply.UpdatesWait, reply.Busy = blocking || r.last.HasRecords(), r.heat.IsOverloaded()
	if q.LeaseNanos > 0 {
		// The gateway of an open reader requests a round when the updates that it blocks have waited for long.
		reply.HeldNanos, reply.LeaseNanos = age, n.granted
	}
	x.current, x.answered, x.reply = nil, q, reply
	r.stats.Reads++
	r.dropPiece(&n.piece)
	r.sendReply(x)
	// A reader that reads here last is not registered: it ends with the response.
	if q.LeaseNanos == 0 {
		delete(r.readers, x.id) // a retry executes again; the other shards repeat their notices
	}
}

// sendReply sends the response to a read, and the notice to the shard that the reader reads last.
//
// A notice says that the reader is registered, so that the last shard can read. It is sent with each copy of the
// response, since either may be lost.
func (r *Readers) sendReply(x *reader) {
	m := msg.ToGateway(x.answered.Gateway)
	m.Body = x.reply
	r.sendFor(x.answered, m)
	// A failed read sends no notice: its reader ends or starts again, and the last read is not needed.
	if x.answered.Notify && x.reply.Failure == nil {
		m := msg.ToShard(x.answered.Last)
		m.Body = &msg.Registered{Reader: x.id, Reading: x.reply.Reading}
		r.sendFor(x.answered, m)
	}
}
