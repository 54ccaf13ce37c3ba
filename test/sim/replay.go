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
	w       *sim
	m       *model
	visible map[kv.TxnRef]map[string]*visibleEffect
	// readers still need an instant between two decisions; sorted by start.
	readers []*txnRecord
	placed  map[*txnRecord]bool
	why     map[*txnRecord]error // why the last instant did not match
}

// replay checks the whole history against the model.
func (w *sim) replay() *model {
	r := &replay{w: w, m: &model{cells: map[string]cell{}}, visible: map[kv.TxnRef]map[string]*visibleEffect{},
		placed: map[*txnRecord]bool{}, why: map[*txnRecord]error{}}
	r.collect()
	var last int64
	for _, n := range w.log.events {
		if n.decided == nil || n.Lost || w.Err != nil {
			continue
		}
		t := w.log.find(n.decided.txn)
		if t == nil {
			w.Fail("%v was decided, but no client has begun it", name(n.decided.txn))
			return r.m
		}
		if t.readOnly && t.outcome != failed || !t.writes() {
			continue
		}
		r.placeReaders(last, n.decided.at)
		last = n.decided.at
		r.update(t, n.decided)
	}
	r.placeReaders(last, w.Now())
	for _, t := range r.readers {
		if !r.placed[t] && w.Err == nil {
			w.Fail("%s (%v): there is no instant between %d and %d at which its results hold: %v", name(t.ref), t.outcomeText(),
				t.start, t.end, r.why[t])
		}
	}
	for ref, effects := range r.visible {
		for _, e := range effects {
			if w.Err == nil {
				w.Fail("%s: its effect on %q became visible, but it was never decided", name(ref), e.key)
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

// collect collects visible effects and readers.
func (r *replay) collect() {
	for _, n := range r.w.log.events {
		if n.visible == nil || n.Lost {
			continue
		}
		e := n.visible
		if r.visible[e.txn] == nil {
			r.visible[e.txn] = map[string]*visibleEffect{}
		}
		if r.visible[e.txn][e.key] != nil {
			r.w.Fail("%s: its effect on %q was applied twice", name(e.txn), e.key)
		}
		r.visible[e.txn][e.key] = e
	}
	for _, t := range r.w.log.txns {
		reads := t.outcome == committed && !t.writes() || t.observed
		if reads || conditionFailed(t) {
			r.readers = append(r.readers, t)
		}
	}
	slices.SortStableFunc(r.readers, func(a, b *txnRecord) int { return int(min(max(a.start-b.start, -1), 1)) })
}

// conditionFailed reports whether a one-shot ended with a failure that depends on values in the store.
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

// overflows reports whether an operation failed because of the 64-bit range. Shards may reject blind increments that
// would fit. The bounds of a bounded counter are exact.
func overflows(k kv.Kind, op *msg.Op) bool {
	return k == kv.KindOutOfRange && !(op.IsCall() && entry.Type(op.Type) == adt.BoundedCounter)
}

// placeReaders tries each reader whose lifetime overlaps the interval between two decisions on the state in that
// interval.
func (r *replay) placeReaders(from, to int64) {
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

// fits returns an error if what a reader observed does not match the current state.
func (r *replay) fits(t *txnRecord) error {
	x := &trial{m: r.m, own: map[string]own{}, hidesFound: t.kind == interactive}
	if conditionFailed(t) {
		return x.checkFailure(t.calls[0].ops, int(t.failure.Seq), kv.Kind(t.failure.Kind))
	}
	return x.execute(t)
}

// checkFailure checks that an operation fails as recorded. The operations before it take effect only if they did not
// fail.
func (x *trial) checkFailure(ops []msg.Op, seq int, want kv.Kind) error {
	for i := range seq {
		if _, _, err := x.call(ops[i:i+1], nil); err != nil {
			return err
		}
	}
	if kind, _, _ := x.call(ops[seq:seq+1], nil); kind != want && !x.uncertain {
		return fmt.Errorf("%s ended with %[3]v, in the model with %[2]v", describe(ops[seq:seq+1]), kind, want)
	}
	return nil
}

// execute executes all calls of a transaction and compares their results.
func (x *trial) execute(t *txnRecord) error {
	for _, c := range t.calls {
		results := c.results
		if t.resLost || t.outcome != committed && t.kind == oneShot {
			results = nil
		}
		x.pointsOnly = c.raw
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
		case t.commitFailure != nil && c.failure == nil && kind == kv.KindWrongType:
			return nil // this is why the commit failed; later calls may have read own writes
		case t.rolledBack && kind != kv.KindOK && (kind == kv.KindWrongType || overflows(kind, &c.ops[seq]) ||
			c.ops[seq].Kind == msg.OpUpdate) && c.failure == nil:
			return nil // blind writes fail only at the commit
		case c.failure == nil && kind != kv.KindOK:
			return fmt.Errorf("%s succeeded, in the model it ends with %v", describe(c.ops[seq:seq+1]), kind)
		case c.failure != nil && t.kind == interactive && (kind == kv.KindWrongType || kind != kv.KindOK &&
			overflows(kind, &c.ops[seq]) ||
			overflows(kv.Kind(c.failure.Kind), &c.ops[c.failure.Seq]) || kind != kv.KindOK && c.ops[seq].Kind == msg.OpUpdate):
			// The call failed for another reason first: blind changes fail only at the commit, and sums of blind increments are
			// estimated conservatively.
			x.own = before
		case c.failure != nil && x.uncertain && c.failure.Kind == uint32(kv.KindConditionFailed):
			x.own = before
		case c.failure != nil && t.kind == interactive && c.failure.HasSeq && kind != kv.Kind(c.failure.Kind):
			// Two operations fail, and the shard detected the one before the gateway detected the other.
			x.own = maps.Clone(before)
			if err := x.checkFailure(c.ops, int(c.failure.Seq), kv.Kind(c.failure.Kind)); err != nil {
				return err
			}
			x.own = before
		case c.failure != nil && kind != kv.Kind(c.failure.Kind):
			return fmt.Errorf("%s ended with %v, in the model with %v", describe(c.ops), kv.Kind(c.failure.Kind), kind)
		}
	}
	if t.commitFailure != nil && kv.Kind(t.commitFailure.Kind) == kv.KindWrongType {
		return errors.New("the commit failed with a wrong type, in the model no value has a wrong type")
	}
	return nil
}

// pointResults sorts a shard's results by operation. Results of ranges come in parts, one from each shard, and are left
// out.
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
	x := &trial{m: r.m, own: map[string]own{}, hidesFound: t.kind == interactive}
	switch {
	case t.outcome == failed:
		w.Fail("%s was decided at %v, but reported as failed: %v", name(d.txn), d.shard, t.outcomeText())
		return
	case d.at < t.start:
		w.Fail("%s was decided before it began", name(d.txn))
		return
	case d.at > t.end:
		w.Fail("%s was decided after its response", name(d.txn))
		return
	}
	if err := x.execute(t); err != nil {
		w.Fail("%s (%s), decided at %v on %v: %v", name(d.txn), t.outcomeText(), d.at, d.shard, err)
		return
	}
	r.apply(t, d.txn, x)
}

// apply compares the effects with the visible versions, and applies them to the model.
func (r *replay) apply(t *txnRecord, ref kv.TxnRef, x *trial) {
	w, shown := r.w, r.visible[ref]
	delete(r.visible, ref)
	for key, o := range x.own {
		e := shown[key]
		if e == nil && o.called && fmt.Sprint(o.object) == fmt.Sprint(r.m.cells[key].object) {
			continue // a call that changes nothing may make no version
		}
		if e == nil {
			w.Fail("%s (%s): its effect on %q was never applied", name(ref), t.outcomeText(), key)
			return
		}
		delete(shown, key)
		calls := o.called && e.kind == entry.EffectChange
		pure := o.added && e.kind == entry.EffectAdd || calls
		switch {
		case calls: // some of them may have commuted; the last state is compared
		// not all of the value is in memory, so its new state cannot be compared
		case (e.kind == entry.EffectExpire || e.kind == entry.EffectChange) && adt.MissingPages(&e.value) != nil:
		case pure && e.delta != o.delta:
			w.Fail("%s: added %d to %q, the model %d", name(ref), e.delta, key, o.delta)
		case !pure && o.exists && o.object != nil && e.value.Exists():
			if err := compareObject(o.cell, &e.value); err != nil {
				w.Fail("%s: its value of %q: %v", name(ref), key, err)
			}
		case !pure && (e.value.Exists() != o.exists || o.exists && string(e.value.Payload) != o.payload()):
			w.Fail("%s: wrote %q to %q, the model %q", name(ref), e.value.Payload, key, o.payload())
		}
		c := o.cell
		c.version, c.csn, c.expires = e.value.Version, e.csn, e.value.Expires
		if (c.expires != 0) != (o.expires != 0) && !pure {
			w.Fail("%s: set the deadline of %q to %d, the model to %d", name(ref), key, c.expires, o.expires)
		}
		if old := r.m.cells[key]; pure && later(old.version, old.csn, c.version, e.csn) {
			c.version, c.csn, c.expires = old.version, old.csn, old.expires // adds commute: the later version stays
		} else if !pure && later(old.version, old.csn, c.version, e.csn) {
			w.Fail("%s: its version of %q has CSN %d, below CSN %d of a version decided before", name(ref), key, e.csn,
				old.csn)
		}
		r.m.cells[key] = c
	}
	for key := range shown {
		w.Fail("%s: changed %q, the model does not", name(ref), key)
	}
}
