package snapshotqueue

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Enter begins a read. It registers the reader if necessary and reports whether the newest visible values may be read
// at once. Otherwise the read is Refused, or waits: Changes then reports it as ready. Call Done after reading.
func (q *Queue) Enter(now int64, r *Read) bool {
	q.now = max(q.now, now)
	q.counters.Reads++
	r.since = q.now
	if rd := q.readers[r.Reader]; rd != nil && rd.until <= q.now {
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
	r.waits = sealed
	if q.opt.Mutants.Has(mutant.SealedIgnored) || r.WholeShard && q.opt.Mutants.Has(mutant.RoundIgnoresSealed) {
		r.waits = nil
	}
	wait := len(r.waits) > 0
	// A waiting read must be registered, or updates that are prepared during its wait could be decided after those that
	// it waits for, and it would return values of different instants.
	if (r.Lasting || r.UntilDone || wait && !q.opt.Mutants.Has(mutant.NoRegistrationForWait)) &&
		!(wait && q.opt.Mutants.Has(mutant.RegisteredAfterWait)) {
		q.register(r)
	}
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
func (q *Queue) finishWait(r *Read) {
	if r.Lasting && q.opt.Mutants.Has(mutant.RegisteredAfterWait) {
		q.register(r)
	}
	r.state, r.waited = readReady, q.now-r.since
	q.waitingReads = slices.DeleteFunc(q.waitingReads, func(x *Read) bool { return x == r })
	q.changes.Ready = append(q.changes.Ready, r)
}

func (q *Queue) register(r *Read) {
	if q.opt.Mutants.Has(mutant.NoRegistration) {
		return
	}
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
	ranged := slices.Contains(q.rangedReaders, rd)
	for _, n := range r.Needs {
		if slices.ContainsFunc(rd.needs, func(o Need) bool { return same(&o, &n) }) {
			continue
		}
		rd.needs = append(rd.needs, n)
		if n.Span.IsPoint() {
			p := q.point(n.Span.Start)
			p.readers = append(p.readers, rd)
		} else if !ranged {
			q.rangedReaders = append(q.rangedReaders, rd)
			ranged = true
		}
	}
}

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
	if len(rd.reads) == 0 && !rd.lasting {
		q.unregister(rd)
	}
}

// endRead removes a read from all lists.
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
	for i := range rd.needs {
		if !rd.needs[i].Span.IsPoint() {
			continue
		}
		key := rd.needs[i].Span.Start
		if p := q.points[string(key)]; p != nil {
			p.readers = slices.DeleteFunc(p.readers, func(x *reader) bool { return x == rd })
			q.removeIfEmpty(key, p)
		}
	}
	q.rangedReaders = slices.DeleteFunc(q.rangedReaders, func(x *reader) bool { return x == rd })
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
		return q.opt.Mutants.Has(mutant.LeaseRevived)
	}
	if rd.until <= q.now {
		q.expire(rd)
		return false
	}
	q.leases.prolong(rd, until)
	return true
}

// expire ends a registration whose lease has ended, and the reader's reads.
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
