package snapshotqueue

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// twin is the snapshot-queues as one would write them without a care for
// speed: lists of updates, of registrations and of reads, and the rules of the
// package comment looked up in them from the beginning each time. It shares no
// index, no reference count and no comparison of spans and modes with Queue.
//
// Its sealings are numbered in another order than the queue's, which is nobody's
// business: of an epoch it knows only what the queue has told (both).
type twin struct {
	opt     Options
	now     int64
	updates []*twinUpdate
	// entered are the registrations, one for each read that made one. Those of
	// one reader go together.
	entered []*twinEntry
	// open are the reads that are not over, in the order of arrival.
	open     []*twinRead
	sealings int
	// changes are what has become possible in this step.
	changes Changes
}

type twinUpdate struct {
	txn   kv.TxnRef
	needs []Need
	piece bool
	state State
	// sealing tells apart the times at which it has sealed; epoch is what the
	// queue calls the current one.
	sealing int
	epoch   kv.Epoch
	// ages are all the times at which a reader was found to hold it, or which its last
	// agent told. The age is the oldest.
	ages []int64
	// free: a piece that was held, and is not.
	free bool
}

type twinEntry struct {
	reader  kv.TxnRef
	needs   []Need
	until   int64
	lasting bool
	done    bool
}

func (u *twinUpdate) held() bool { return u.state == Held && !u.free }

// twinRead is a Read as the caller made it; what the queue notes in it is
// hidden behind fields of the same names.
type twinRead struct {
	*Read
	state readState
	// barriers are what was sealed when it came. It waits while one of them
	// stands as it did then.
	barriers []barrier
	entry    *twinEntry
	since    int64
	ask      int64
}

// barrier is an update in one of its sealings, or recovered.
type barrier struct {
	txn     kv.TxnRef
	sealing int
}

// keys are all the keys there are; every bound of a range is one of them.
const keys = "abcd"

func covers(s kv.Span, k byte) bool {
	if s.End == nil {
		return string(s.Start) == string(k)
	}
	return string(s.Start) <= string(k) && (len(s.End) == 0 || string(k) < string(s.End))
}

// clash reports whether what one does and the other sees depend on each other:
// on some key, and neither do both read nor do both add.
func clash(a, b []Need) bool {
	for _, k := range []byte(keys) {
		for _, n := range a {
			for _, m := range b {
				both := covers(n.Span, k) && covers(m.Span, k)
				if both && !together(n.Mode, m.Mode) {
					return true
				}
			}
		}
	}
	return false
}

// together is the relation of the modes that are drawn, told anew.
func together(a, b adt.Mode) bool {
	for range 2 {
		switch {
		case a == b && a != adt.ModeWrite: // reads, adds, and what concerns one member in the same way
			return true
		case a == adt.ModeRead && (b == size || b == containsX || b == containsY),
			a == size && (b == containsX || b == containsY),
			a == containsX && (b == containsY || b == addY),
			a == containsY && (b == addX || b == removeX),
			a == addY && (b == addX || b == removeX):
			return true
		}
		a, b = b, a
	}
	return false
}

func (w *twin) update(txn kv.TxnRef) *twinUpdate {
	for _, u := range w.updates {
		if u.txn == txn {
			return u
		}
	}
	return nil
}

func (w *twin) registered(id kv.TxnRef) bool {
	return slices.ContainsFunc(w.entered, func(e *twinEntry) bool { return e.reader == id })
}

func (w *twin) lasting(id kv.TxnRef) bool {
	return slices.ContainsFunc(w.entered, func(e *twinEntry) bool { return e.reader == id && e.lasting })
}

// until is when a reader lapses: as late as any of its reads allows.
func (w *twin) until(id kv.TxnRef) (out int64) {
	for _, e := range w.entered {
		if e.reader == id {
			out = max(out, e.until)
		}
	}
	return out
}

func (w *twin) readers() (out []kv.TxnRef) {
	for _, e := range w.entered {
		if !slices.Contains(out, e.reader) {
			out = append(out, e.reader)
		}
	}
	return out
}

// heldBack reports whether something with these needs may not seal, or not be
// decided.
func (w *twin) heldBack(needs []Need) bool {
	if len(needs) == 0 {
		return false
	}
	return w.now < w.opt.SealFrom || slices.ContainsFunc(w.entered, func(e *twinEntry) bool { return clash(e.needs, needs) })
}

// stands reports whether an update is as it was when a reader met it.
func (w *twin) stands(b barrier) bool {
	u := w.update(b.txn)
	return u != nil && u.state != Held && !u.piece && u.sealing == b.sealing
}

// due is when something will have to happen, at the latest.
func (w *twin) due() int64 {
	out := int64(math.MaxInt64)
	for _, id := range w.readers() {
		out = min(out, w.until(id))
	}
	for _, u := range w.updates {
		if u.state != Sealed && !u.free && w.now < w.opt.SealFrom {
			out = min(out, w.opt.SealFrom)
		}
	}
	for _, r := range w.open {
		if r.state == readWaiting {
			out = min(out, r.ask)
		}
	}
	return out
}

// settle lets everything happen that may: waits end, and who is not held back
// seals or goes free.
func (w *twin) settle() {
	w.settleThose(func(*twinUpdate) bool { return true })
	for _, r := range w.open {
		if r.state == readWaiting && !slices.ContainsFunc(r.barriers, w.stands) {
			r.state = readReady
			w.changes.Ready = append(w.changes.Ready, r.Read)
		}
	}
}

func (w *twin) settleThose(which func(*twinUpdate) bool) {
	for _, u := range slices.Clone(w.updates) {
		switch {
		case !which(u) || u.state == Sealed || u.free || w.heldBack(u.needs):
		case u.piece:
			u.free = true
			w.changes.Free = append(w.changes.Free, Freed{Txn: u.txn})
		default:
			w.seal(u)
			w.changes.Sealed = append(w.changes.Sealed, u.txn)
		}
	}
}

// grows notes that a reader holds an update, if it is not the shard's start alone that
// does.
func (w *twin) grows(u *twinUpdate) {
	if u.held() && w.now >= w.opt.SealFrom && w.heldBack(u.needs) {
		u.ages = append(u.ages, w.now)
	}
}

// age is an update's held age.
func (w *twin) age(u *twinUpdate) int64 {
	if len(u.ages) == 0 || w.now < w.opt.SealFrom {
		return 0
	}
	return w.now - slices.Min(u.ages)
}

func (w *twin) seal(u *twinUpdate) {
	w.sealings++
	u.state, u.sealing, u.epoch = Sealed, w.sealings, kv.Epoch{}
}

func (w *twin) remove(txn kv.TxnRef) {
	w.updates = slices.DeleteFunc(w.updates, func(u *twinUpdate) bool { return u.txn == txn })
}
