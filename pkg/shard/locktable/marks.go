package locktable

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// conflicts lists the owners that hold something incompatible with r, in the
// order of age.
func (t *Table) conflicts(r *Request) []*owner {
	var out []*owner
	self := t.owners[r.Txn]
	note := func(h *holder, mode adt.Mode) {
		if h.owner != self && !t.compatible(h.mode, mode) && !slices.Contains(out, h.owner) {
			out = append(out, h.owner)
		}
	}
	for i := range r.Needs {
		n := &r.Needs[i]
		for _, rh := range t.ranges {
			if rh.span.Overlaps(n.Span) {
				note(&rh.holder, n.Mode)
			}
		}
		if n.Span.IsPoint() {
			if e := t.keys[string(n.Span.Start)]; e != nil {
				for j := range e.holders {
					note(&e.holders[j], n.Mode)
				}
			}
			continue
		}
		for _, e := range t.keys {
			if n.Span.Contains([]byte(e.key)) {
				for j := range e.holders {
					note(&e.holders[j], n.Mode)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *owner) int { return a.age().Compare(b.age()) })
	return out
}

// markBlockers marks the younger holders in r's way that are due for it, and
// sets when to do it again. An earlier attempt of the same transaction is marked
// whatever its age: its client has given it up.
func (t *Table) markBlockers(now int64, r *Request) {
	first, once := r.nextPush == 0, t.opt.Mutants.Has(mutant.MarksOnce)
	r.nextMark = now + int64(t.opt.Repeat)
	if once {
		r.nextMark = math.MaxInt64
	}
	inTheWay := t.conflicts(r)
	if first {
		r.nextPush = now + int64(t.opt.Liveness)
		r.wait.Others = others(&r.wait, inTheWay)
	}
	if t.opt.Mutants.Has(mutant.NoWound) {
		return
	}
	for _, o := range inTheWay {
		t.shares.want(now, o, r)
		if t.shares.overdrawn(now, o, r) {
			t.shares.unwant(now, o)
			t.overdrawn = append(t.overdrawn, o.txn)
		}
		if !t.older(r.age(), o.age()) && !t.overtakes(r.Txn, o.txn) || once && !first && !slices.Contains(r.spared, o) {
			continue
		}
		if o.prepared && now < o.preparedAt+int64(t.grace) {
			r.nextMark = min(r.nextMark, o.preparedAt+int64(t.grace))
			if once {
				r.spared = append(r.spared, o)
			}
			continue
		}
		t.mark(now, o, r)
	}
	t.due = min(t.due, r.nextMark, r.nextPush)
}

func (t *Table) mark(_ int64, o *owner, by *Request) {
	if t.opt.Mutants.Has(mutant.NoWound) || o.prepared && t.opt.Mutants.Has(mutant.PreparedIsSafe) {
		return
	}
	t.counters.Marks++
	t.marks = append(t.marks, Mark{Holder: o.txn, By: by.Txn, Prepared: o.prepared, Conflict: t.wound(o, by)})
}

// Tick repeats the marks that are due and returns the transactions that hold
// something for which somebody has waited for longer than Liveness, each
// once, in the order of age: their gateways are to be asked whether they
// still live.
func (t *Table) Tick(now int64) (push []kv.TxnRef) {
	if now < t.due {
		return nil
	}
	defer func() {
		t.due = math.MaxInt64
		for _, r := range t.waiters {
			t.due = min(t.due, r.nextMark, r.nextPush)
		}
	}()
	for _, r := range t.waiters {
		if now >= r.nextMark {
			t.markBlockers(now, r)
		}
		if now < r.nextPush {
			continue
		}
		r.nextPush = now + int64(t.opt.Liveness)
		for _, o := range t.conflicts(r) {
			if !o.prepared && !slices.Contains(push, o.txn) {
				push = append(push, o.txn)
			}
		}
	}
	slices.SortFunc(push, kv.TxnRef.CompareAge)
	return push
}

// NextTick is when Tick may have something to do, math.MaxInt64 for never. It
// is early, not late, when requests have left the queue since the last Tick.
func (t *Table) NextTick() int64 {
	if len(t.waiters) == 0 {
		return math.MaxInt64
	}
	return t.due
}

// Doom tells a waiting request that its transaction has been marked: it dies
// if it still has to wait, which it does. It reports whether r was waiting.
func (t *Table) Doom(now int64, r *Request) bool {
	if !r.waiting {
		return false
	}
	t.counters.Died++
	r.wait = t.Receipt(now, r)
	r.wait.Open = false
	t.Cancel(r)
	return true
}

// Each visits the waiting requests in the order of arrival.
func (t *Table) Each(visit func(*Request)) {
	for _, r := range t.waiters {
		visit(r)
	}
}

// Owners lists who holds locks, in the order of age.
func (t *Table) Owners() []kv.TxnRef {
	out := make([]kv.TxnRef, 0, len(t.owners))
	for txn := range t.owners {
		out = append(out, txn)
	}
	slices.SortFunc(out, kv.TxnRef.CompareAge)
	return out
}

// HeldBy lists what txn holds, points before ranges, in key order.
func (t *Table) HeldBy(txn kv.TxnRef) []Grant {
	o := t.owners[txn]
	if o == nil {
		return nil
	}
	var out []Grant
	for _, e := range o.points {
		for _, h := range e.holders {
			if h.owner == o {
				out = append(out, Grant{kv.Point([]byte(e.key)), h.mode, h.number})
			}
		}
	}
	for _, rh := range o.ranges {
		out = append(out, Grant{rh.span, rh.mode, rh.number})
	}
	slices.SortFunc(out, func(a, b Grant) int {
		if c := cmp.Compare(boolInt(!a.Span.IsPoint()), boolInt(!b.Span.IsPoint())); c != 0 {
			return c
		}
		if c := bytes.Compare(a.Span.Start, b.Span.Start); c != 0 {
			return c
		}
		return cmp.Compare(a.Number, b.Number)
	})
	return out
}

// Check holds the table against its invariants.
func (t *Table) Check() error {
	type held struct {
		span  kv.Span
		mode  adt.Mode
		owner *owner
	}
	var all []held
	for _, e := range t.keys {
		if len(e.holders) == 0 && len(e.waiters) == 0 && !e.dirty {
			return fmt.Errorf("lock: invariant 3: empty entry %q", e.key)
		}
		if !slices.IsSortedFunc(e.waiters, byAge) {
			return fmt.Errorf("lock: invariant 2: waiters of %q out of order", e.key)
		}
		for _, h := range e.holders {
			all = append(all, held{kv.Point([]byte(e.key)), h.mode, h.owner})
		}
	}
	for _, rh := range t.ranges {
		all = append(all, held{rh.span, rh.mode, rh.owner})
	}
	for txn, o := range t.owners {
		if len(o.points)+len(o.ranges) == 0 {
			return fmt.Errorf("lock: invariant 4: %v owns nothing", txn)
		}
	}
	for i, a := range all {
		if t.owners[a.owner.txn] != a.owner {
			return fmt.Errorf("lock: invariant 4: %v holds %v but is no owner", a.owner.txn, a.span)
		}
		for _, b := range all[:i] {
			if a.owner != b.owner && !adt.Compatible(a.mode, b.mode) && a.span.Overlaps(b.span) {
				return fmt.Errorf("lock: invariant 1: %v has %v on %v, %v has %v on %v", a.owner.txn, a.mode, a.span, b.owner.txn, b.mode, b.span)
			}
		}
	}
	return nil
}
