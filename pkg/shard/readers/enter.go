package readers

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Settle has pieces whose keys have come into memory enter the snapshot-queues.
func (r *Readers) Settle() {
	for i := 0; i < len(r.loaded); i++ { // there may be more while it lasts
		t := r.loaded[i]
		if t.Done() { // given up meanwhile
			continue
		}
		switch x := t.Owner.(type) {
		case *snapshot:
			r.enterSnapshot(x)
		case *reading:
			if t.Err != nil {
				r.replyRead(x)
			} else {
				r.enterRead(x)
			}
		}
	}
	r.loaded = step.Emptied(r.loaded)
}

// Changed acts on what has become possible in the snapshot-queues.
func (r *Readers) Changed(c *snapshotqueue.Changes) {
	for _, e := range c.Lapsed {
		t := e.Tag.(*exec.Task)
		if t.Kind == exec.Snapshot {
			r.enterSnapshot(t.Owner.(*snapshot))
			continue
		}
		n := t.Owner.(*reading)
		x := r.readers[t.Txn]
		if x != nil && x.reading == n {
			delete(r.readers, t.Txn) // a repeat begins anew
		}
		r.drop(&n.piece)
	}
	for _, e := range c.Ready {
		t, ok := e.Tag.(*exec.Task)
		if ok {
			r.ready(t)
		}
	}
}

// enterRead: the keys are in memory. When the notices are there too, the reader enters the
// snapshot-queues.
func (r *Readers) enterRead(n *reading) {
	t, q := &n.task, n.q
	x := r.readers[t.Txn]
	for _, s := range q.Await {
		_, told := x.notices[s]
		if !told && !r.Mutants.Has(mutant.NoticesNotAwaited) {
			return
		}
	}
	lease := q.LeaseNanos
	n.entered = snapshotqueue.Read{Reader: t.Txn, Needs: r.needs(t), Lasting: lease > 0, Stays: t.Ranges(), Whole: q.KeepNanos > 0,
		Until: r.Now + int64(r.cfg.Lease), EndsHere: q.Gateway != 0 && q.Gateway == r.cfg.Gateway, Tag: t}
	if lease > 0 {
		n.entered.Until = r.Now + lease
	}
	r.enter(t)
}

// enter has a reader enter the snapshot-queues, or refuses it where they are closed.
func (r *Readers) enter(t *exec.Task) {
	t.Register()
	e := &pieceOf(t).entered
	switch {
	case r.queue.Enter(r.Now, e):
		r.ready(t)
	case e.Refused():
		r.turnAway(t)
	}
}

// turnAway: a reader would hold an update that readers have held for long. It reads at a kept snapshot
// instead. Nothing is kept of it: a repeat tries again.
func (r *Readers) turnAway(t *exec.Task) {
	f := msg.Fail(msg.ReasonClosed, kv.KindAborted, "readers have blocked an update of the key for too long")
	switch x := t.Owner.(type) {
	case *snapshot:
		r.last.AnswerPark(x.park).Failure = f
		r.endSnapshot(x)
	case *reading:
		r.readers[t.Txn].reading = nil
		if !r.queue.Registered(t.Txn) {
			delete(r.readers, t.Txn)
		}
		r.drop(&x.piece)
		r.reply(x.q, &msg.ReadResponse{Failure: f})
	}
}

// everything is what a reader sees that fixes the shard's index.
var everything = []snapshotqueue.Need{{Span: kv.Range(nil, nil), Mode: adt.ModeRead}}

// needs is what a piece sees.
func (r *Readers) needs(t *exec.Task) []snapshotqueue.Need {
	n, ok := t.Owner.(*reading)
	if ok && n.q.KeepNanos > 0 {
		return everything
	}
	out := make([]snapshotqueue.Need, 0, len(t.Request.Needs))
	for _, n := range t.Request.Needs {
		if !r.overlooks(n.Mode) {
			out = append(out, snapshotqueue.Need{Span: n.Span, Mode: n.Mode, Methods: n.Methods})
		}
	}
	return out
}

// overlooks reports whether a mutant does not register readers for a mode.
func (r *Readers) overlooks(mode adt.Mode) bool {
	_, typed := mode.Type()
	return typed && mode.OfPart() && r.Mutants.Has(mutant.PartUnregistered) ||
		typed && !mode.OfPart() && r.Mutants.Has(mutant.WholeUnregistered)
}

// ready: the newest visible values are the reader's.
func (r *Readers) ready(t *exec.Task) {
	e := &pieceOf(t).entered
	waited := r.Now - e.Since()
	if waited > 0 {
		r.stats.Waits++
		r.stats.WaitNanos += uint64(waited)
		_, key, holder := e.Waited()
		if key != nil {
			r.heat.Waited(key, hotshard.ReadWait, holder, waited)
		}
	}
	r.Went(t, r.exec.ReadRanges(t))
}

// replyRead reads and answers.
func (r *Readers) replyRead(n *reading) {
	t, q := &n.task, n.q
	reply := &msg.ReadResponse{Reader: q.Reader, Number: q.Number, Index: r.store.Index(),
		Reading: msg.Reading{Shard: r.ID, Incarnation: r.Inc, Number: r.NextReading()}}
	if q.KeepNanos > 0 && t.Err == nil {
		kept := r.store.Kept()
		kept.Keep(q.Reader, r.store.Index(), q.KeepNanos).Reply = reply
		kept.Fix(r.store.Index())
		reply.Fixed = r.Now
	} else {
		e, step := r.exec.Run(t)
		switch step {
		case exec.Waiting: // for pages; it registers again
			r.leaveQueues(&n.piece)
			return
		case exec.Refused:
			reply.Failure = t.Failure
		default:
			reply.Results, reply.Failure = e.Results, e.Failure
			if e.Failure == nil {
				reply.Failure = msg.ReplyTooLarge(e.Results)
			}
			if reply.Failure != nil {
				reply.Results = nil
			}
		}
	}
	x := r.readers[t.Txn]
	for _, s := range q.Await {
		on, told := x.notices[s]
		if told {
			reply.Relied = append(reply.Relied, on)
		}
	}
	reply.Receipt = r.receipt(&n.piece)
	parked, age := r.queue.Passes(r.Now, n.entered.Needs)
	reply.Parked, reply.Busy = parked || r.last.Undecided(), r.heat.Spare()
	if q.LeaseNanos > 0 {
		reply.HeldNanos = age
	}
	x.reading, x.replied, x.reply = nil, q, reply
	r.stats.Reads++
	r.drop(&n.piece)
	r.sendReply(x)
	if q.LeaseNanos == 0 {
		delete(r.readers, x.id) // if it asks again, others report again
	}
}

// sendReply answers a reader, and notifies the shard that it reads last.
func (r *Readers) sendReply(x *reader) {
	m := msg.ToGateway(x.replied.Gateway)
	m.Body = x.reply
	r.sendFor(x.replied, m)
	if x.replied.Notify && x.reply.Failure == nil {
		m := msg.ToShard(x.replied.Last)
		m.Body = &msg.Registered{Reader: x.id, Reading: x.reply.Reading}
		r.sendFor(x.replied, m)
	}
}
