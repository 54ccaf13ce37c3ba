package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// replay executes the updates in the order of their decisions.
type replay struct {
	w     *world
	m     *model
	shown map[kv.TxnRef]map[string]*shownEffect
	// readers are to be placed between two decisions, by start.
	readers []*txnRecord
	placed  map[*txnRecord]bool
	why     map[*txnRecord]error // why the last place did not do
}

// replay checks the whole history against the model.
func (w *world) replay() *model {
	r := &replay{w: w, m: &model{cells: map[string]cell{}}, shown: map[kv.TxnRef]map[string]*shownEffect{},
		placed: map[*txnRecord]bool{}, why: map[*txnRecord]error{}}
	r.collect()
	var last int64
	for _, n := range w.log.notes {
		if n.decided == nil || n.lost || w.err != nil {
			continue
		}
		t := w.log.find(n.decided.txn)
		if t == nil {
			w.fail("%v was decided and nobody knows it", name(n.decided.txn))
			return r.m
		}
		if t.readOnly && t.outcome != failed || !t.writes() {
			continue
		}
		r.place(last, n.decided.at)
		last = n.decided.at
		r.update(t, n.decided)
	}
	r.place(last, w.now)
	for _, t := range r.readers {
		if !r.placed[t] && w.err == nil {
			w.fail("%s (%v): what it read was never so between %d and %d: %v", name(t.ref), t.outcomeText(), t.start, t.end, r.why[t])
		}
	}
	for ref, effects := range r.shown {
		for _, e := range effects {
			if w.err == nil {
				w.fail("%s: its effect on %q became visible, and it was never decided", name(ref), e.key)
			}
		}
	}
	return r.m
}

func (t *txnRecord) outcomeText() string {
	s := [...]string{"running", "committed", "failed", "unknown"}[t.outcome]
	if t.failure != nil {
		s += ": " + t.failure.Text
	}
	for _, c := range t.calls {
		s += "; " + describe(c.ops)
	}
	return s
}

// collect sorts out effects and readers.
func (r *replay) collect() {
	for _, n := range r.w.log.notes {
		if n.shown == nil || n.lost {
			continue
		}
		e := n.shown
		if r.shown[e.txn] == nil {
			r.shown[e.txn] = map[string]*shownEffect{}
		}
		if r.shown[e.txn][e.key] != nil {
			r.w.fail("%s: its effect on %q was applied twice", name(e.txn), e.key)
		}
		r.shown[e.txn][e.key] = e
	}
	for _, t := range r.w.log.txns {
		reads := t.outcome == committed && !t.writes() || t.observed
		if reads || conditionFailed(t) {
			r.readers = append(r.readers, t)
		}
	}
	slices.SortStableFunc(r.readers, func(a, b *txnRecord) int { return int(min(max(a.start-b.start, -1), 1)) })
}

// conditionFailed reports whether a one-shot ended on something that its
// client may conclude from.
func conditionFailed(t *txnRecord) bool {
	if t.kind != oneShot || t.failure == nil || !t.failure.HasSeq {
		return false
	}
	op := &t.calls[0].ops[t.failure.Seq]
	switch k := kv.Kind(t.failure.Kind); k {
	case kv.KindConditionFailed, kv.KindWrongType, kv.KindNotFound:
		return !op.IsRange()
	case kv.KindOutOfRange:
		return !overflows(k, op)
	}
	return false
}

// overflows reports whether an operation failed at the end of 64 bits, for which shards
// reject blind increments that might fit. The bounds of a bounded counter are exact.
func overflows(k kv.Kind, op *msg.Op) bool {
	return k == kv.KindOutOfRange && !(op.IsCall() && entry.Type(op.Type) == adt.BoundedCounter)
}

// place tries the readers that lived at some instant from one decision to the
// next on the state between them.
func (r *replay) place(from, to int64) {
	for _, t := range r.readers {
		if t.start > to {
			return
		}
		if r.placed[t] || t.end < from {
			continue
		}
		if err := r.fits(t); err == nil {
			r.placed[t] = true
		} else {
			r.why[t] = err
		}
	}
}

// fits tells why what a reader saw is not so now.
func (r *replay) fits(t *txnRecord) error {
	x := &trial{m: r.m, own: map[string]own{}, blur: t.kind == interactive}
	if conditionFailed(t) {
		return x.fails(t.calls[0].ops, int(t.failure.Seq), kv.Kind(t.failure.Kind))
	}
	return x.history(t)
}

// fails tells whether an operation fails as it did. What others did before it
// counts only if it did not fail.
func (x *trial) fails(ops []msg.Op, seq int, want kv.Kind) error {
	for i := range seq {
		if _, _, err := x.call(ops[i:i+1], nil); err != nil {
			return err
		}
	}
	if kind, _, _ := x.call(ops[seq:seq+1], nil); kind != want && !x.vague {
		return fmt.Errorf("%s should have ended with %v, and did with %v", describe(ops[seq:seq+1]), kind, want)
	}
	return nil
}

// history executes all calls of a transaction and compares their results.
func (x *trial) history(t *txnRecord) error {
	for _, c := range t.calls {
		results := c.results
		if t.resLost || t.outcome != committed && t.kind == oneShot {
			results = nil
		}
		x.points = c.raw
		if c.raw && results != nil {
			var err error
			results, err = pointResults(c)
			if err != nil {
				return err
			}
		}
		before := maps.Clone(x.own)
		kind, seq, err := x.call(c.ops, results)
		switch {
		case err != nil:
			return err
		case t.concluded != nil && c.failure == nil && kind == kv.KindWrongType:
			return nil // by that the commit failed; what came after may have been of its own making
		case t.rolledBack && kind != kv.KindOK && (kind == kv.KindWrongType || overflows(kind, &c.ops[seq]) || c.ops[seq].Kind == msg.OpUpdate) && c.failure == nil:
			return nil // blind writes find that out at the commit
		case c.failure == nil && kind != kv.KindOK:
			return fmt.Errorf("%s succeeded, and in the model ends with %v", describe(c.ops[seq:seq+1]), kind)
		case c.failure != nil && t.kind == interactive && (kind == kv.KindWrongType || kind != kv.KindOK && overflows(kind, &c.ops[seq]) ||
			overflows(kv.Kind(c.failure.Kind), &c.ops[c.failure.Seq]) || kind != kv.KindOK && c.ops[seq].Kind == msg.OpUpdate):
			// the call failed for another reason before that was found out, as
			// blind changes find it out at the commit; and sums of blind increments are guessed on the safe side
			x.own = before
		case c.failure != nil && x.vague && c.failure.Kind == uint32(kv.KindConditionFailed):
			x.own = before
		case c.failure != nil && t.kind == interactive && c.failure.HasSeq && kind != kv.Kind(c.failure.Kind):
			// two operations fail, and a shard found the one before the gateway the other
			x.own = maps.Clone(before)
			if err := x.fails(c.ops, int(c.failure.Seq), kv.Kind(c.failure.Kind)); err != nil {
				return err
			}
			x.own = before
		case c.failure != nil && kind != kv.Kind(c.failure.Kind):
			return fmt.Errorf("%s ended with %v, and in the model with %v", describe(c.ops), kv.Kind(c.failure.Kind), kind)
		}
	}
	if t.concluded != nil && kv.Kind(t.concluded.Kind) == kv.KindWrongType {
		return errors.New("the commit failed by the type of a value, and in the model nothing is of a wrong type")
	}
	return nil
}

// pointResults puts a shard's results into the order of the operations. Those
// of ranges come in parts, one from each shard, and are left out.
func pointResults(c *callRecord) ([]msg.Result, error) {
	out := make([]msg.Result, len(c.ops))
	had := make([]int, len(c.ops))
	for _, r := range c.results {
		if int(r.Seq) >= len(c.ops) {
			return nil, fmt.Errorf("a result is numbered %d of %d", r.Seq, len(c.ops))
		}
		out[r.Seq] = r
		had[r.Seq]++
	}
	for i, n := range had {
		if n != 1 && !c.ops[i].IsRange() {
			return nil, fmt.Errorf("%s has %d results", describe(c.ops[i:i+1]), n)
		}
	}
	return out, nil
}

// update executes a decided transaction.
func (r *replay) update(t *txnRecord, d *decision) {
	w := r.w
	x := &trial{m: r.m, own: map[string]own{}, blur: t.kind == interactive}
	switch {
	case t.outcome == failed:
		w.fail("%s was decided at %v, and its client was told that it failed: %v", name(d.txn), d.shard, t.outcomeText())
		return
	case d.at < t.start:
		w.fail("%s was decided before it began", name(d.txn))
		return
	case d.at > t.end:
		w.fail("%s was decided after it was answered", name(d.txn))
		return
	}
	if err := x.history(t); err != nil {
		w.fail("%s (%s), decided at %v on %v: %v", name(d.txn), t.outcomeText(), d.at, d.shard, err)
		return
	}
	r.apply(t, d.txn, x)
}

// apply compares the effects with what became visible, and takes them over.
func (r *replay) apply(t *txnRecord, ref kv.TxnRef, x *trial) {
	w, shown := r.w, r.shown[ref]
	delete(r.shown, ref)
	for key, o := range x.own {
		e := shown[key]
		if e == nil && o.called && fmt.Sprint(o.thing) == fmt.Sprint(r.m.cells[key].thing) {
			continue // a call that changes nothing may leave nothing
		}
		if e == nil {
			w.fail("%s (%s): its effect on %q was never applied", name(ref), t.outcomeText(), key)
			return
		}
		delete(shown, key)
		calls := o.called && e.kind == entry.EffectChange
		pure := o.added && e.kind == entry.EffectAdd || calls
		switch {
		case calls: // some of which may have commuted; the last state is compared
		case (e.kind == entry.EffectExpire || e.kind == entry.EffectChange) && adt.Missing(&e.value) != nil: // nor is all of it in memory here
		case pure && e.delta != o.delta:
			w.fail("%s: added %d to %q, the model %d", name(ref), e.delta, key, o.delta)
		case !pure && o.exists && o.thing != nil && e.value.Exists():
			if err := sameThing(o.cell, &e.value); err != nil {
				w.fail("%s: what it made of %q: %v", name(ref), key, err)
			}
		case !pure && (e.value.Exists() != o.exists || o.exists && string(e.value.Payload) != o.payload()):
			w.fail("%s: made %q of %q, the model %q", name(ref), e.value.Payload, key, o.payload())
		}
		c := o.cell
		c.version, c.index, c.expires = e.value.Version, e.index, e.value.Expires
		if (c.expires != 0) != (o.expires != 0) && !pure {
			w.fail("%s: made %q expire at %d, the model at %d", name(ref), key, c.expires, o.expires)
		}
		if old := r.m.cells[key]; pure && later(old.version, old.index, c.version, e.index) {
			c.version, c.index, c.expires = old.version, old.index, old.expires // adds commute: the later stands
		} else if !pure && later(old.version, old.index, c.version, e.index) {
			w.fail("%s: its version of %q has index %d, below %d of one decided before", name(ref), key, e.index, old.index)
		}
		r.m.cells[key] = c
	}
	for key := range shown {
		w.fail("%s: changed %q, the model does not", name(ref), key)
	}
}
