package mvcc

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Plans are the plans of a piece's calls that were made to find its locks, by position of the
// operation. The executor reuses a plan if everything that it depends on is unchanged:
//
//   - the key has the same version, and no other transaction had or has an undecided change of it;
//     or
//   - the piece has called a method on the key before, and that call was executed by its own plan.
//
// Otherwise a plan depends on the call alone, and on values that do not change between planning and
// execution of a task (adt.Request). The zero Plans are empty. Reset reuses the memory for another
// piece.
type Plans struct {
	byOp []callPlan
	// modes are the modes of all plans, concatenated.
	modes []adt.Mode
}

// callPlan is a plan; method is nil if there is none.
type callPlan struct {
	method *adt.TypeMethod
	plan   adt.Plan
	// value is the value for which the plan was made.
	value *entry.Value
	// The modes of the plan are Plans.modes[modesStart:modesEnd].
	modesStart, modesEnd int
	// after is the position of the piece's previous call on the same key, -1 if there is none. If it
	// is -1, version and valueExists describe the value.
	after       int
	version     kv.Version
	valueExists bool
	// result is the value after the call, if the piece calls another method on the key.
	result *entry.Value
	// executed: the call was executed by this plan.
	executed bool
}

// maxRetainedPlans bounds the memory that Reset retains. The value is not critical.
const maxRetainedPlans = 64

// Reset removes all plans and prepares for those of n operations.
func (p *Plans) Reset(n int) {
	// One long piece must not keep its memory for all short ones that follow.
	if cap(p.byOp) > max(n, maxRetainedPlans) {
		p.byOp, p.modes = nil, nil
	}
	clear(p.byOp)
	p.byOp, p.modes = slices.Grow(p.byOp[:0], n)[:n], p.modes[:0]
}

// Set stores the plan and the modes of the call at a position. No other transaction has an
// undecided change of the value for which it was made.
func (p *Plans) Set(op int, r *adt.Request, plan *adt.Plan, modes []adt.Mode) {
	it := p.set(op, r, plan, modes)
	it.after, it.version, it.valueExists = -1, r.Value.Version, r.Value.Exists()
}

// SetAfter stores the plan of a call on the result of another call of the piece (see ResultOf).
// Between the two the piece does not use the key.
func (p *Plans) SetAfter(op, other int, r *adt.Request, plan *adt.Plan, modes []adt.Mode) {
	p.set(op, r, plan, modes).after = other
}

// set stores a plan in the element that Reset has cleared.
func (p *Plans) set(op int, r *adt.Request, plan *adt.Plan, modes []adt.Mode) *callPlan {
	it := &p.byOp[op]
	it.method, it.plan, it.value = r.Method, *plan, r.Value
	it.modesStart = len(p.modes)
	p.modes = append(p.modes, modes...)
	it.modesEnd = len(p.modes)
	return it
}

// ResultOf returns the value after the call at a position, nil if it has no plan or fails. It is
// computed once.
func (p *Plans) ResultOf(op int) *entry.Value {
	it := &p.byOp[op]
	switch {
	case it.method == nil || it.plan.Err != nil:
		return nil
	case it.result == nil && len(it.plan.Calls) == 0:
		it.result = it.value
	case it.result == nil:
		made, err := adt.Apply(it.method.Type.ID, it.value, it.plan.Calls)
		if err != nil {
			return nil
		}
		made.Version = UnassignedVersion
		it.result = &made
	}
	return it.result
}

// at returns the plan of the operation at a position, nil if there is none.
func (p *Plans) at(op int) *callPlan {
	if p == nil || p.byOp[op].method == nil {
		return nil
	}
	return &p.byOp[op]
}

// isCurrent reports whether a plan is valid for v; undecided: other transactions have undecided
// changes of v.
//
// The version alone does not suffice: a change of another transaction that became undecided, or was decided as aborted,
// since the plan was made leaves the version as it is.
func (p *Plans) isCurrent(it *callPlan, v *entry.Value, undecided bool) bool {
	if it.after >= 0 {
		return p.byOp[it.after].executed
	}
	return !undecided && it.version == v.Version && it.valueExists == v.Exists()
}
