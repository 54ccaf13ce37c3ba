package snapshotqueue

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Enter begins a read: it registers the reader where it has to, and reports
// whether the newest visible values may be read at once. If not, and it was not
// Refused, Changes will tell. Done is to follow when they have been read.
func (q *Queue) Enter(now int64, r *Read) bool {
	q.now = max(q.now, now)
	q.counters.Reads++
	r.since = q.now
	if rd := q.readers[r.Reader]; rd != nil && rd.until <= q.now {
		q.lapse(rd) // it does not come back with this read
	}
	met := q.conflicting(r.Needs)
	sealed := slices.ContainsFunc(met, (*update).mayBeDecided)
	if (r.Lasting || r.Stays || sealed) && !r.Whole && slices.ContainsFunc(met, q.closes) {
		q.counters.Refusals++
		r.state = readRefused
		return false
	}
	return q.admit(r, slices.DeleteFunc(met, func(u *update) bool { return !u.mayBeDecided() }))
}

// admit is the atomic step: register, and wait for what is sealed.
func (q *Queue) admit(r *Read, sealed []*update) bool {
	r.waits = sealed
	if q.opt.Mutants.Has(mutant.SealedIgnored) || r.Whole && q.opt.Mutants.Has(mutant.RoundIgnoresSealed) {
		r.waits = nil
	}
	wait := len(r.waits) > 0
	if (r.Lasting || r.Stays || wait && !q.opt.Mutants.Has(mutant.NoRegistrationForWait)) &&
		!(wait && q.opt.Mutants.Has(mutant.RegisteredAfterWait)) {
		q.register(r)
	}
	if !wait {
		r.state = readReady
		return true
	}
	q.counters.Waits++
	r.state, r.ask = readWaiting, q.now+int64(q.opt.UnsealAfter)
	for _, u := range r.waits {
		u.waiting = append(u.waiting, r)
	}
	q.reads = append(q.reads, r)
	q.due = min(q.due, r.ask)
	return false
}

// ready ends the wait of a read.
func (q *Queue) ready(r *Read) {
	if r.Lasting && q.opt.Mutants.Has(mutant.RegisteredAfterWait) {
		q.register(r)
	}
	r.state, r.waited = readReady, q.now-r.since
	q.reads = slices.DeleteFunc(q.reads, func(x *Read) bool { return x == r })
	q.changes.Ready = append(q.changes.Ready, r)
}

func (q *Queue) register(r *Read) {
	if q.opt.Mutants.Has(mutant.NoRegistration) {
		return
	}
	rd := q.readers[r.Reader]
	if rd == nil {
		rd = &reader{id: r.Reader, endsHere: r.EndsHere, whole: true}
		q.leases.enter(rd)
		q.readers[r.Reader] = rd
	}
	rd.lasting = rd.lasting || r.Lasting
	rd.whole = rd.whole && r.Whole
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
	return a.Mode == b.Mode && a.Span.IsPoint() == b.Span.IsPoint() && string(a.Span.Start) == string(b.Span.Start) && string(a.Span.End) == string(b.Span.End)
}

// Done ends a read: it has come to its values, or is not lasting and is given
// up. What was registered for it alone is taken out. A lasting read that waits
// can only be given up by Deregister.
func (q *Queue) Done(now int64, r *Read) {
	q.now = max(q.now, now)
	q.over(r)
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

// over takes a read out of the lists.
func (q *Queue) over(r *Read) {
	for _, u := range r.waits {
		u.waiting = slices.DeleteFunc(u.waiting, func(x *Read) bool { return x == r })
	}
	if r.state == readWaiting {
		q.reads = slices.DeleteFunc(q.reads, func(x *Read) bool { return x == r })
	}
	r.waits, r.state = nil, readOver
}

// Leave takes a reader out, with its reads.
func (q *Queue) Leave(now int64, id kv.TxnRef) {
	q.now = max(q.now, now)
	for _, r := range slices.Clone(q.reads) {
		if r.Reader == id {
			q.over(r)
		}
	}
	if rd := q.readers[id]; rd != nil {
		for _, r := range rd.reads {
			q.over(r)
		}
		q.unregister(rd)
	}
}

// unregister takes a reader out and lets go of what only it held.
func (q *Queue) unregister(rd *reader) {
	delete(q.readers, rd.id)
	q.leases.leave(rd)
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
			q.tidy(key, p)
		}
	}
	q.rangedReaders = slices.DeleteFunc(q.rangedReaders, func(x *reader) bool { return x == rd })
	for _, u := range q.conflicting(rd.needs) {
		q.retry(u)
	}
}

// Renew prolongs a lasting registration. It reports false if there is none any
// more: what has lapsed does not come back.
func (q *Queue) Renew(now int64, id kv.TxnRef, until int64) bool {
	q.now = max(q.now, now)
	rd := q.readers[id]
	if rd == nil || !rd.lasting {
		return q.opt.Mutants.Has(mutant.LeaseRevived)
	}
	if rd.until <= q.now {
		q.lapse(rd)
		return false
	}
	q.leases.prolong(rd, until)
	return true
}

// lapse ends a registration whose time is over, and the reader's reads.
func (q *Queue) lapse(rd *reader) {
	q.counters.Lapses++
	for _, r := range rd.reads {
		q.over(r)
		q.changes.Lapsed = append(q.changes.Lapsed, r)
	}
	q.unregister(rd)
}

// Tick does what is due and returns the updates that readers have waited for
// too long, each once, in the order of age: their last agents are to be asked
// to unseal them.
func (q *Queue) Tick(now int64) (asks []Ask) {
	q.now = max(q.now, now)
	if q.now < q.due {
		return nil
	}
	for _, rd := range q.sortedReaders() {
		if rd.until <= q.now && q.readers[rd.id] == rd {
			q.lapse(rd)
		}
	}
	if q.now >= q.opt.SealFrom {
		for _, u := range q.sortedUpdates() {
			q.retry(u)
			q.ages(u)
		}
	}
	q.ticks++
	for _, r := range q.reads {
		if q.now < r.ask {
			continue
		}
		r.ask = q.now + int64(q.opt.Repeat)
		for _, u := range r.waits {
			if u.asked != q.ticks {
				u.asked = q.ticks
				asks = append(asks, Ask{u.txn, u.epoch})
			}
		}
	}
	q.setDue()
	slices.SortFunc(asks, func(a, b Ask) int { return a.Txn.CompareAge(b.Txn) })
	return asks
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
	for _, r := range q.reads {
		q.due = min(q.due, r.ask)
	}
}

// NextTick is when Tick may have something to do, a time that does not come for never.
func (q *Queue) NextTick() int64 { return q.due }
