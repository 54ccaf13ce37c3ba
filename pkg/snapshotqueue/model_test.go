package snapshotqueue

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// model is the reference model of Queue: lists of updates, registrations and reads, which each rule of the package
// comment searches from the beginning. It shares no index, no reference count and no comparison of spans and modes
// with Queue.
//
// It may number sealings in another order, which is not observable. Epochs are copied from the queues
// (comparison).
type model struct {
	opt     Options
	now     int64
	updates []*modelUpdate
	// registrations has one entry for each read that registered. The entries of one reader are removed together.
	registrations []*registration
	// open are the reads that have not ended, in the order of arrival.
	open     []*modelRead
	sealings int
	// changes are the events of this step.
	changes Changes
}

type modelUpdate struct {
	txn   kv.TxnRef
	needs []Need
	piece bool
	state State
	// sealing is the number of the current sealing; epoch is its epoch in the queues.
	sealing int
	epoch   kv.Epoch
	// blockedSince are all times at which a reader held it, here or at its last agent. The earliest one counts.
	blockedSince []int64
	// free: a piece that was held and no longer is.
	free bool
}

type registration struct {
	reader  kv.TxnRef
	needs   []Need
	until   int64
	lasting bool
	done    bool
}

func (u *modelUpdate) isHeld() bool { return u.state == Held && !u.free }

// modelRead is a Read of the caller. Its own fields hide those in which the queues keep their state.
type modelRead struct {
	*Read
	state readState
	// barriers are the sealings that the read found. It waits while one of them is undecided and not unsealed.
	barriers     []sealing
	registration *registration
	since        int64
	unsealAt     int64
}

// sealing is one sealing of an update, or its recovered state.
type sealing struct {
	txn     kv.TxnRef
	sealing int
}

// keys are all keys. Every bound of a range is one of them.
const keys = "abcd"

func covers(s kv.Span, k byte) bool {
	if s.End == nil {
		return string(s.Start) == string(k)
	}
	return string(s.Start) <= string(k) && (len(s.End) == 0 || string(k) < string(s.End))
}

// conflict reports whether two lists of needs conflict on some key.
func conflict(a, b []Need) bool {
	for _, k := range []byte(keys) {
		for _, n := range a {
			for _, m := range b {
				both := covers(n.Span, k) && covers(m.Span, k)
				if both && !compatible(n.Mode, m.Mode) {
					return true
				}
			}
		}
	}
	return false
}

// compatible is the compatibility of the modes that are drawn, written independently of pkg/adt.
func compatible(a, b adt.Mode) bool {
	for range 2 {
		switch {
		case a == b && a != adt.ModeWrite: // reads, adds, and equal operations on one member
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

func (w *model) update(txn kv.TxnRef) *modelUpdate {
	for _, u := range w.updates {
		if u.txn == txn {
			return u
		}
	}
	return nil
}

func (w *model) isRegistered(id kv.TxnRef) bool {
	return slices.ContainsFunc(w.registrations, func(e *registration) bool { return e.reader == id })
}

func (w *model) isLasting(id kv.TxnRef) bool {
	return slices.ContainsFunc(w.registrations, func(e *registration) bool { return e.reader == id && e.lasting })
}

// until is the latest lease end of a reader's reads.
func (w *model) until(id kv.TxnRef) (out int64) {
	for _, e := range w.registrations {
		if e.reader == id {
			out = max(out, e.until)
		}
	}
	return out
}

func (w *model) readers() (out []kv.TxnRef) {
	for _, e := range w.registrations {
		if !slices.Contains(out, e.reader) {
			out = append(out, e.reader)
		}
	}
	return out
}

// isBlocked reports whether an update with these needs may not seal, or a piece not be decided.
func (w *model) isBlocked(needs []Need) bool {
	if len(needs) == 0 {
		return false
	}
	return w.now < w.opt.SealFrom || slices.ContainsFunc(w.registrations,
		func(e *registration) bool { return conflict(e.needs, needs) })
}

// isPending reports whether the sealing is still the update's current one.
func (w *model) isPending(b sealing) bool {
	u := w.update(b.txn)
	return u != nil && u.state != Held && !u.piece && u.sealing == b.sealing
}

// due is the next time at which something has to happen.
func (w *model) due() int64 {
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
			out = min(out, r.unsealAt)
		}
	}
	return out
}

// settle ends waits, seals updates and frees pieces, as far as the rules allow.
func (w *model) settle() {
	w.settleIf(func(*modelUpdate) bool { return true })
	for _, r := range w.open {
		if r.state == readWaiting && !slices.ContainsFunc(r.barriers, w.isPending) {
			r.state = readReady
			w.changes.Ready = append(w.changes.Ready, r.Read)
		}
	}
}

func (w *model) settleIf(which func(*modelUpdate) bool) {
	for _, u := range slices.Clone(w.updates) {
		switch {
		case !which(u) || u.state == Sealed || u.free || w.isBlocked(u.needs):
		case u.piece:
			u.free = true
			w.changes.Free = append(w.changes.Free, FreedPiece{Txn: u.txn})
		default:
			w.seal(u)
			w.changes.Sealed = append(w.changes.Sealed, u.txn)
		}
	}
}

// startTimeBlocked records that a reader holds an update, unless only the restart does.
func (w *model) startTimeBlocked(u *modelUpdate) {
	if u.isHeld() && w.now >= w.opt.SealFrom && w.isBlocked(u.needs) {
		u.blockedSince = append(u.blockedSince, w.now)
	}
}

// timeBlocked is the time blocked of an update.
func (w *model) timeBlocked(u *modelUpdate) int64 {
	if len(u.blockedSince) == 0 || w.now < w.opt.SealFrom {
		return 0
	}
	return w.now - slices.Min(u.blockedSince)
}

func (w *model) seal(u *modelUpdate) {
	w.sealings++
	u.state, u.sealing, u.epoch = Sealed, w.sealings, kv.Epoch{}
}

func (w *model) remove(txn kv.TxnRef) {
	w.updates = slices.DeleteFunc(w.updates, func(u *modelUpdate) bool { return u.txn == txn })
}
