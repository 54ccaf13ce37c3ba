package mvcc

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Plans are plans of a piece's calls that were made to know its locks, before it is
// executed, each with the call's place among the piece's operations. Executing the
// piece takes a plan in the place of making it again if all that it was made of
// is as it was:
//
//   - the key has the same version of its value, and nobody else has prepared to
//     change it, neither then nor now; or
//   - the piece has called a method on the key before, and that call was executed
//     by its plan too.
//
// Beyond that a plan depends on the call alone, and on what does not change from
// planning a task to executing it (adt.Request). The zero Plans are of no calls;
// Reset makes them others', in the same room.
type Plans struct {
	each []planned
	// modes are those of all plans, one after the other.
	modes []adt.Mode
}

// planned is a plan, if there is a method.
type planned struct {
	method *adt.TypeMethod
	plan   adt.Plan
	// value is what it was planned for, until the piece is executed.
	value *entry.Value
	// modes are Plans.modes[first:end].
	first, end int
	// after is the place of the call of the piece on the same key that it comes
	// after, -1 if there is none: then version and exists are the value's.
	after   int
	version kv.Version
	exists  bool
	// made is what it makes of the key, if the piece calls another method there.
	made *entry.Value
	// done: it was executed by this plan.
	done bool
}

// roomForPlans bounds the plans whose room is kept. Somewhat arbitrary.
const roomForPlans = 64

// Reset forgets all plans and makes room for those of n operations.
func (p *Plans) Reset(n int) {
	if cap(p.each) > max(n, roomForPlans) {
		p.each, p.modes = nil, nil
	}
	clear(p.each)
	p.each, p.modes = slices.Grow(p.each[:0], n)[:n], p.modes[:0]
}

// Keep takes the plan of the call at a place for a value of which nobody else's
// changes are undecided, and the modes that it needs.
func (p *Plans) Keep(place int, r *adt.Request, plan *adt.Plan, modes []adt.Mode) {
	it := p.keep(place, r, plan, modes)
	it.after, it.version, it.exists = -1, r.Value.Version, r.Value.Exists()
}

// KeepAfter takes one for what another call of the piece makes of the key, as Made
// tells. Between the two the piece does nothing else with the key.
func (p *Plans) KeepAfter(place, other int, r *adt.Request, plan *adt.Plan, modes []adt.Mode) {
	p.keep(place, r, plan, modes).after = other
}

// keep writes into the room that Reset has cleared.
func (p *Plans) keep(place int, r *adt.Request, plan *adt.Plan, modes []adt.Mode) *planned {
	it := &p.each[place]
	it.method, it.plan, it.value = r.Method, *plan, r.Value
	it.first = len(p.modes)
	p.modes = append(p.modes, modes...)
	it.end = len(p.modes)
	return it
}

// Made is what the call at a place makes of its key, nil if it has no plan or
// fails. It is made once.
func (p *Plans) Made(place int) *entry.Value {
	it := &p.each[place]
	switch {
	case it.method == nil || it.plan.Err != nil:
		return nil
	case it.made == nil && len(it.plan.Calls) == 0:
		it.made = it.value
	case it.made == nil:
		made, err := adt.Apply(it.method.Type.ID, it.value, it.plan.Calls)
		if err != nil {
			return nil
		}
		made.Version = Unborn
		it.made = &made
	}
	return it.made
}

// at is the plan of the operation at a place, nil if there is none.
func (p *Plans) at(place int) *planned {
	if p == nil || p.each[place].method == nil {
		return nil
	}
	return &p.each[place]
}

// holds reports whether a plan is that for v, of which others' changes are
// undecided or not.
func (p *Plans) holds(it *planned, v *entry.Value, undecided bool) bool {
	if it.after >= 0 {
		return p.each[it.after].done
	}
	return !undecided && it.version == v.Version && it.exists == v.Exists()
}
