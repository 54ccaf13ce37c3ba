package snapshotqueue

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// prepare enters an update, prepared or recovered.
func (w *twin) prepare(txn kv.TxnRef, needs []Need, state State) {
	u := &twinUpdate{txn: txn, needs: needs, state: state}
	w.updates = append(w.updates, u)
	if !w.heldBack(needs) {
		w.seal(u)
		return
	}
	w.grows(u)
	if state == Recovered {
		u.epoch = kv.Epoch{Incarnation: w.opt.Incarnation}
	}
}

func (w *twin) hold(txn kv.TxnRef, needs []Need) bool {
	u := w.update(txn)
	switch {
	case u != nil && !u.free:
		return true
	case !w.heldBack(needs):
		return false
	case u == nil:
		u = &twinUpdate{txn: txn, piece: true}
		w.updates = append(w.updates, u)
	}
	u.needs, u.free = needs, false
	w.grows(u)
	return true
}

func (w *twin) unready(txn kv.TxnRef) {
	if u := w.update(txn); u != nil && u.piece {
		u.free = true
	}
}

func (w *twin) unsealed(txn kv.TxnRef, epoch kv.Epoch, age int64) {
	if u := w.update(txn); u != nil && !u.piece && u.state != Held && u.epoch == epoch {
		u.state = Held
		if age > 0 {
			u.ages = append(u.ages, w.now-age)
		}
		w.grows(u)
	}
}

func (w *twin) enter(r *Read) *twinRead {
	e := &twinRead{Read: r, since: w.now}
	if w.registered(r.Reader) && w.until(r.Reader) <= w.now {
		w.lapseAtOnce(r.Reader)
	}
	if w.refused(r) {
		e.state = readRefused
		return e
	}
	w.open = append(w.open, e)
	w.admit(e)
	return e
}

// refused reports whether a read would have to register where an update is that was
// held for long.
func (w *twin) refused(r *Read) bool {
	if r.Whole {
		return false
	}
	waits, old := false, false
	for _, u := range w.updates {
		if clash(r.Needs, u.needs) {
			waits = waits || u.state != Held && !u.piece
			old = old || w.age(u) > int64(w.opt.HoldBound)
		}
	}
	return old && (r.Lasting || r.Stays || waits)
}

func (w *twin) admit(r *twinRead) {
	for _, u := range w.updates {
		if u.state != Held && clash(r.Needs, u.needs) {
			r.barriers = append(r.barriers, barrier{u.txn, u.sealing})
		}
	}
	r.state = readReady
	if len(r.barriers) > 0 {
		r.state, r.ask = readWaiting, w.now+int64(w.opt.UnsealAfter)
	}
	if r.Lasting || r.Stays || r.state == readWaiting {
		r.entry = &twinEntry{reader: r.Reader, needs: r.Needs, until: r.Until, lasting: r.Lasting}
		w.entered = append(w.entered, r.entry)
	}
}

func (w *twin) done(r *twinRead) {
	w.open = slices.DeleteFunc(w.open, func(o *twinRead) bool { return o == r })
	if r.entry == nil {
		return
	}
	r.entry.done = true
	stays := func(e *twinEntry) bool { return e.reader == r.Reader && (e.lasting || !e.done) }
	if !slices.ContainsFunc(w.entered, stays) {
		w.unregister(r.Reader)
	}
}

func (w *twin) unregister(id kv.TxnRef) {
	w.entered = slices.DeleteFunc(w.entered, func(e *twinEntry) bool { return e.reader == id })
}

// lapseAtOnce lapses a reader that comes back, and lets go of what it alone
// held before it reads.
func (w *twin) lapseAtOnce(id kv.TxnRef) {
	var needs []Need
	for _, e := range w.entered {
		if e.reader == id {
			needs = append(needs, e.needs...)
		}
	}
	w.lapse(id)
	w.settleThose(func(u *twinUpdate) bool { return clash(needs, u.needs) })
}

// leave takes a reader out, with its reads.
func (w *twin) leave(id kv.TxnRef) {
	w.unregister(id)
	w.open = slices.DeleteFunc(w.open, func(r *twinRead) bool {
		return r.Reader == id && (r.state != readReady || r.entry != nil)
	})
}

// lapse takes a reader out, with the reads that it was registered for.
func (w *twin) lapse(id kv.TxnRef) {
	w.open = slices.DeleteFunc(w.open, func(r *twinRead) bool {
		ends := r.Reader == id && slices.Contains(w.entered, r.entry)
		if ends {
			w.changes.Lapsed = append(w.changes.Lapsed, r.Read)
			w.changes.Ready = slices.DeleteFunc(w.changes.Ready, func(x *Read) bool { return x == r.Read })
		}
		return ends
	})
	w.unregister(id)
}

func (w *twin) renew(id kv.TxnRef, until int64) bool {
	switch {
	case !w.lasting(id):
		return false
	case w.until(id) <= w.now:
		w.lapse(id)
		return false
	}
	for _, e := range w.entered {
		if e.reader == id {
			e.until = max(e.until, until)
		}
	}
	return true
}

func (w *twin) tick() (asks []Ask) {
	for _, id := range w.readers() {
		if w.until(id) <= w.now {
			w.lapse(id)
		}
	}
	w.settle()
	for _, u := range w.updates {
		w.grows(u)
	}
	for _, r := range w.open {
		if r.state == readWaiting && w.now >= r.ask {
			r.ask = w.now + int64(w.opt.Repeat)
			for _, b := range r.barriers {
				if w.stands(b) {
					asks = append(asks, Ask{b.txn, w.update(b.txn).epoch})
				}
			}
		}
	}
	slices.SortFunc(asks, func(a, b Ask) int { return a.Txn.CompareAge(b.Txn) })
	return slices.Compact(asks)
}
