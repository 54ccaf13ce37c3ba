package snapshotqueue

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Enter begins a read. It registers the reader if necessary and reports whether the newest visible values may be read
// at once. Otherwise the read is Refused, or waits: Changes then reports it as ready. Call Done after reading.
//
//	conflicting update is            the read
//	sealed or recovered              waits until it is decided or unsealed
//	held                             does not wait: the update waits for the reader instead
//	blocked for too long             is refused, if it would register; a round is never refused
func (q *Queue) Enter(now int64, r *Read) bool {
	q.now = max(q.now, now)
	q.counters.Reads++
	r.since = q.now
	if rd := q.readers[r.Reader]; rd != nil && rd.until <= q.now {
		// Tick has not been called since the lease ended. On other shards the registration may have expired as well, and
		// updates that it held there may be decided: the reader would combine values from before and after them.
		q.expire(rd) // this read must not revive the expired lease
	}
	// A held update does not delay the read: the reader holds it as well. But if readers have blocked it for too long,
	// another registration would prolong that, so the read is refused:
	//
	//	R registers on k; A writes k, held by R
	//	S registers on k; R deregisters: A is held by S
	//	T registers on k; S deregisters: A is held by T ...
	conflicting := q.conflictingUpdates(r.Needs)
	sealed := slices.ContainsFunc(conflicting, (*update).isDecidable)
	if (r.Lasting || r.UntilDone || sealed) && !r.WholeShard && slices.ContainsFunc(conflicting, q.isClosing) {
		q.counters.Refusals++
		r.state = readRefused
		return false
	}
	return q.admit(r, slices.DeleteFunc(conflicting, func(u *update) bool { return !u.isDecidable() }))
}

// admit registers the reader and collects the sealed updates to wait for, in one step: an update that is prepared
// later is held by the registration, so it does not prolong the wait.
func (q *Queue) admit(r *Read, sealed []*update) bool {
	r.waits = q.waitsOf(r, sealed)
	wait := len(r.waits) > 0
	if q.needsRegistration(r, wait) {
		q.register(r)
	}
	// A read that neither waits nor lasts needs no registration: its values are read in this step.
	if !wait {
		r.state = readReady
		return true
	}
	q.counters.Waits++
	r.state, r.unsealAt = readWaiting, q.now+int64(q.opt.UnsealAfter)
	for _, u := range r.waits {
		u.waiting = append(u.waiting, r)
	}
	q.waitingReads = append(q.waitingReads, r)
	q.due = min(q.due, r.unsealAt)
	return false
}

// finishWait ends the wait of a read.
//
// It is ready, not executed: the caller may be in the middle of making a transaction visible.
func (q *Queue) finishWait(r *Read) {
	q.setReady(r)
	q.waitingReads = slices.DeleteFunc(q.waitingReads, func(x *Read) bool { return x == r })
	q.changes.Ready = append(q.changes.Ready, r)
}

// register adds a read to its reader's registration. A reader is registered once, for the union of its reads.
func (q *Queue) register(r *Read) {
	rd := q.readers[r.Reader]
	if rd == nil {
		rd = &reader{id: r.Reader, sameProcess: r.SameProcess, whole: true}
		q.leases.add(rd)
		q.readers[r.Reader] = rd
	}
	rd.lasting = rd.lasting || r.Lasting
	rd.whole = rd.whole && r.WholeShard
	q.leases.prolong(rd, r.Until)
	if !r.registered {
		r.registered = true
		rd.reads = append(rd.reads, r)
	}
	q.due = min(q.due, rd.until)
	q.addReader(rd, r.Needs)
}

// same reports whether two needs are equal but for their methods, which decide nothing.
func same(a, b *Need) bool {
	return a.Mode == b.Mode && a.Span.IsPoint() == b.Span.IsPoint() &&
		string(a.Span.Start) == string(b.Span.Start) && string(a.Span.End) == string(b.Span.End)
}

// Done ends a read: its values have been read, or it is given up and is not lasting. A registration for this read
// alone is removed. A lasting read that waits can only be given up by deregistering the reader.
func (q *Queue) Done(now int64, r *Read) {
	q.now = max(q.now, now)
	q.endRead(r)
	rd := q.readers[r.Reader]
	if rd == nil || !r.registered {
		return
	}
	r.registered = false
	rd.reads = slices.DeleteFunc(rd.reads, func(x *Read) bool { return x == r })
	// Otherwise another read of the reader is in flight, or its client goes on with what it has read.
	if len(rd.reads) == 0 && !rd.lasting {
		q.unregister(rd)
	}
}

// endRead removes a read from all lists.
//
// A read in no list has no effect any more, whatever its caller still does with it.
func (q *Queue) endRead(r *Read) {
	for _, u := range r.waits {
		u.waiting = slices.DeleteFunc(u.waiting, func(x *Read) bool { return x == r })
	}
	if r.state == readWaiting {
		q.waitingReads = slices.DeleteFunc(q.waitingReads, func(x *Read) bool { return x == r })
	}
	r.waits, r.state = nil, readEnded
}

// Deregister deregisters a reader and ends its reads.
//
// Its updates seal in this step and vote again, which is one message delay more than if the reader had not been there.
func (q *Queue) Deregister(now int64, id kv.TxnRef) {
	q.now = max(q.now, now)
	for _, r := range slices.Clone(q.waitingReads) {
		if r.Reader == id {
			q.endRead(r)
		}
	}
	if rd := q.readers[id]; rd != nil {
		for _, r := range rd.reads {
			q.endRead(r)
		}
		q.unregister(rd)
	}
}

// unregister removes a reader, and seals or frees the updates that only this reader held.
func (q *Queue) unregister(rd *reader) {
	delete(q.readers, rd.id)
	q.leases.remove(rd)
	for _, r := range rd.reads {
		r.registered = false
	}
	q.removeReader(rd)
	// Other readers may still hold some of these; reevaluate checks that.
	for _, u := range q.conflictingUpdates(rd.needs) {
		q.reevaluate(u)
	}
}

// Renew extends a lasting registration. It reports false if there is none: an expired lease is never revived, because
// an update may have been decided since.
func (q *Queue) Renew(now int64, id kv.TxnRef, until int64) bool {
	q.now = max(q.now, now)
	rd := q.readers[id]
	if rd == nil || !rd.lasting {
		return q.canRevive()
	}
	if rd.until <= q.now {
		q.expire(rd)
		return false
	}
	q.leases.prolong(rd, until)
	return true
}

// expire ends a registration whose lease has ended, and the reader's reads.
//
// The gateway has counted the lease as shorter, so the reader relies on it no longer, whether or not it has noticed.
func (q *Queue) expire(rd *reader) {
	q.counters.Expirations++
	for _, r := range rd.reads {
		q.endRead(r)
		q.changes.Expired = append(q.changes.Expired, r)
	}
	q.unregister(rd)
}

// Tick expires leases, seals what may seal, and returns the unseal requests that are due: the updates that a read has
// waited for longer than UnsealAfter, each once, in the order of age.
func (q *Queue) Tick(now int64) (requests []UnsealRequest) {
	q.now = max(q.now, now)
	if q.now < q.due {
		return nil
	}
	for _, rd := range q.sortedReaders() {
		if rd.until <= q.now && q.readers[rd.id] == rd {
			q.expire(rd)
		}
	}
	// The leases of earlier incarnations have ended: what was recovered, or held since the restart, may seal.
	if q.now >= q.opt.SealFrom {
		for _, u := range q.sortedUpdates() {
			q.reevaluate(u)
			q.startTimeBlocked(u)
		}
	}
	q.ticks++
	for _, r := range q.waitingReads {
		if q.now < r.unsealAt {
			continue
		}
		r.unsealAt = q.now + int64(q.opt.Repeat)
		for _, u := range r.waits {
			// Several reads may wait for the update. The request may be lost, so it is repeated as long as one waits.
			if u.requestedIn != q.ticks {
				u.requestedIn = q.ticks
				requests = append(requests, UnsealRequest{u.txn, u.epoch})
			}
		}
	}
	q.setDue()
	slices.SortFunc(requests, func(a, b UnsealRequest) int { return a.Txn.CompareAge(b.Txn) })
	return requests
}

// setDue computes when Tick has something to do: a lease ends, earlier leases end, or a read has waited too long.
func (q *Queue) setDue() {
	q.due = never
	for _, rd := range q.readers {
		q.due = min(q.due, rd.until)
	}
	for _, u := range q.updates {
		if u.state != Sealed && u.state != Unheld && q.now < q.opt.SealFrom {
			q.due = min(q.due, q.opt.SealFrom)
		}
	}
	for _, r := range q.waitingReads {
		q.due = min(q.due, r.unsealAt)
	}
}

// NextTick is the time at which Tick has to be called next; math.MaxInt64 if nothing is scheduled.
func (q *Queue) NextTick() int64 { return q.due }
