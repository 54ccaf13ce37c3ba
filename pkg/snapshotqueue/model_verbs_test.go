package snapshotqueue

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// prepare adds an update, prepared or recovered.
func (w *model) prepare(txn kv.TxnRef, needs []Need, state State) {
	u := &modelUpdate{txn: txn, needs: needs, state: state}
	w.updates = append(w.updates, u)
	if !w.isBlocked(needs) {
		w.seal(u)
		return
	}
	w.startTimeBlocked(u)
	if state == Recovered {
		u.epoch = kv.Epoch{Incarnation: w.opt.Incarnation}
	}
}

func (w *model) hold(txn kv.TxnRef, needs []Need) bool {
	u := w.update(txn)
	switch {
	case u != nil && !u.free:
		return true
	case !w.isBlocked(needs):
		return false
	case u == nil:
		u = &modelUpdate{txn: txn, piece: true}
		w.updates = append(w.updates, u)
	}
	u.needs, u.free = needs, false
	w.startTimeBlocked(u)
	return true
}

func (w *model) unready(txn kv.TxnRef) {
	if u := w.update(txn); u != nil && u.piece {
		u.free = true
	}
}

func (w *model) unsealed(txn kv.TxnRef, epoch kv.Epoch, age int64) {
	if u := w.update(txn); u != nil && !u.piece && u.state != Held && u.epoch == epoch {
		u.state = Held
		if age > 0 {
			u.blockedSince = append(u.blockedSince, w.now-age)
		}
		w.startTimeBlocked(u)
	}
}

func (w *model) enter(r *Read) *modelRead {
	e := &modelRead{Read: r, since: w.now}
	if w.isRegistered(r.Reader) && w.until(r.Reader) <= w.now {
		w.expireAtOnce(r.Reader)
	}
	if w.isRefused(r) {
		e.state = readRefused
		return e
	}
	w.open = append(w.open, e)
	w.admit(e)
	return e
}

// isRefused reports whether a read would register in a closed queue.
func (w *model) isRefused(r *Read) bool {
	if r.WholeShard {
		return false
	}
	waits, old := false, false
	for _, u := range w.updates {
		if conflict(r.Needs, u.needs) {
			waits = waits || u.state != Held && !u.piece
			old = old || w.timeBlocked(u) > int64(w.opt.CloseAfter)
		}
	}
	return old && (r.Lasting || r.UntilDone || waits)
}

func (w *model) admit(r *modelRead) {
	for _, u := range w.updates {
		if u.state != Held && conflict(r.Needs, u.needs) {
			r.barriers = append(r.barriers, sealing{u.txn, u.sealing})
		}
	}
	r.state = readReady
	if len(r.barriers) > 0 {
		r.state, r.unsealAt = readWaiting, w.now+int64(w.opt.UnsealAfter)
	}
	if r.Lasting || r.UntilDone || r.state == readWaiting {
		r.registration = &registration{reader: r.Reader, needs: r.Needs, until: r.Until, lasting: r.Lasting}
		w.registrations = append(w.registrations, r.registration)
	}
}

func (w *model) done(r *modelRead) {
	w.open = slices.DeleteFunc(w.open, func(o *modelRead) bool { return o == r })
	if r.registration == nil {
		return
	}
	r.registration.done = true
	stays := func(e *registration) bool { return e.reader == r.Reader && (e.lasting || !e.done) }
	if !slices.ContainsFunc(w.registrations, stays) {
		w.unregister(r.Reader)
	}
}

func (w *model) unregister(id kv.TxnRef) {
	w.registrations = slices.DeleteFunc(w.registrations, func(e *registration) bool { return e.reader == id })
}

// expireAtOnce expires a reader that reads again after its lease, and frees the updates that it alone held before
// that read is evaluated.
func (w *model) expireAtOnce(id kv.TxnRef) {
	var needs []Need
	for _, e := range w.registrations {
		if e.reader == id {
			needs = append(needs, e.needs...)
		}
	}
	w.expire(id)
	w.settleIf(func(u *modelUpdate) bool { return conflict(needs, u.needs) })
}

// leave deregisters a reader and ends its reads.
func (w *model) leave(id kv.TxnRef) {
	w.unregister(id)
	w.open = slices.DeleteFunc(w.open, func(r *modelRead) bool {
		return r.Reader == id && (r.state != readReady || r.registration != nil)
	})
}

// expire removes a reader and the reads that its registration covers.
func (w *model) expire(id kv.TxnRef) {
	w.open = slices.DeleteFunc(w.open, func(r *modelRead) bool {
		ends := r.Reader == id && slices.Contains(w.registrations, r.registration)
		if ends {
			w.changes.Expired = append(w.changes.Expired, r.Read)
			w.changes.Ready = slices.DeleteFunc(w.changes.Ready, func(x *Read) bool { return x == r.Read })
		}
		return ends
	})
	w.unregister(id)
}

func (w *model) renew(id kv.TxnRef, until int64) bool {
	switch {
	case !w.isLasting(id):
		return false
	case w.until(id) <= w.now:
		w.expire(id)
		return false
	}
	for _, e := range w.registrations {
		if e.reader == id {
			e.until = max(e.until, until)
		}
	}
	return true
}

func (w *model) tick() (requests []UnsealRequest) {
	for _, id := range w.readers() {
		if w.until(id) <= w.now {
			w.expire(id)
		}
	}
	w.settle()
	for _, u := range w.updates {
		w.startTimeBlocked(u)
	}
	for _, r := range w.open {
		if r.state == readWaiting && w.now >= r.unsealAt {
			r.unsealAt = w.now + int64(w.opt.Repeat)
			for _, b := range r.barriers {
				if w.isPending(b) {
					requests = append(requests, UnsealRequest{b.txn, w.update(b.txn).epoch})
				}
			}
		}
	}
	slices.SortFunc(requests, func(a, b UnsealRequest) int { return a.Txn.CompareAge(b.Txn) })
	return slices.Compact(requests)
}
