package adt

import (
	"strconv"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// planSetFields plans set with the weakest lock for the current fields. Example, on {f: 1}:
//
//	set f 1          changes nothing: lock get(f), shared with readers of f
//	set f 2          lock overwrite(f): compatible with len and has
//	set g 1          lock set(g): conflicts with len
func planSetFields(v *View[mapState], a Args) Plan {
	if err := checkMemberSizes(a, 2, 0, "field"); err != nil {
		return failPlan(err)
	}
	need := mapGets // if nothing changes
	for i := 0; i+1 < len(a); i += 2 {
		switch old, exists := v.State.Get(string(a[i].Bytes)); {
		case !exists:
			return As(mapSets, mapSetMethod, a)
		case old != string(a[i+1].Bytes):
			need = mapOverwrites
		}
	}
	if need == mapGets {
		return noChange(need)
	}
	return As(need, mapSetMethod, a)
}

// planDeleteFields plans delete. Only the fields that exist are deleted; if there is none, the call
// reads that.
func planDeleteFields(v *View[mapState], a Args) Plan {
	var existing Args
	for _, d := range a {
		if v.State.Has(string(d.Bytes)) {
			existing = append(existing, d)
		}
	}
	if len(existing) == 0 {
		return noChange(mapAbsent)
	}
	return As(mapDeletes, mapDeleteMethod, existing)
}

// planGetFields plans get and get-many. If no field exists, it needs only the weaker lock for
// absent fields.
func planGetFields(v *View[mapState], a Args) Plan {
	p := noChange(mapAbsent, make([]msg.Datum, len(a))...)
	for i, d := range a {
		if value, exists := v.State.Get(string(d.Bytes)); exists {
			p.Need, p.Answer[i] = mapGets, Bytes([]byte(value))
		}
	}
	return p
}

// planHas plans has, with the lock for what it found.
func planHas(v *View[mapState], a Args) Plan {
	if v.State.Has(string(a[0].Bytes)) {
		return noChange(mapPresent, Bool(true))
	}
	return noChange(mapAbsent, Bool(false))
}

// planSetIfAbsent plans set-if-absent. An existing field makes it a query.
//
// Two of them on one absent field conflict under the lock set: one is planned again when the other has committed, finds
// the field, and answers false.
func planSetIfAbsent(v *View[mapState], a Args) Plan {
	if err := checkMemberSizes(a, 2, 0, "field"); err != nil {
		return failPlan(err)
	}
	if v.State.Has(string(a[0].Bytes)) {
		return noChange(mapPresent, Bool(false))
	}
	return As(mapSets, mapSetMethod, a, Bool(true))
}

// fieldNumber returns the integer in a field, 0 if the field is absent.
//
// The form is strict, as in Redis: "01" and "+1" are texts. Otherwise an increment by 0 would change the bytes of
// the value.
func fieldNumber(s mapState, field []byte) (n int64, exists bool, err error) {
	text, exists := s.Get(string(field))
	if !exists {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0, true, Errorf(kv.KindConditionFailed, "the field is not a decimal 64-bit integer; set it to one first")
	}
	return n, true, nil
}

// incrementedField returns the content of a field after an increment.
func incrementedField(s mapState, a Args) (sum int64, exists bool, err error) {
	n, exists, err := fieldNumber(s, a[0].Bytes)
	if err != nil {
		return 0, exists, err
	}
	sum, ok := Sum(n, a[1].Int)
	if !ok {
		return 0, exists, Errorf(kv.KindOutOfRange, "the field is %d; adding %d would exceed 64 bits", n, a[1].Int)
	}
	return sum, exists, nil
}

// incrementField applies increment and increment-get.
func incrementField(s mapState, a Args) (mapState, error) {
	sum, _, err := incrementedField(s, a)
	if err != nil {
		return s, err
	}
	return s.Put(string(a[0].Bytes), strconv.FormatInt(sum, 10)), nil
}

// planIncrement ensures that the sum stays within 64 bits for every outcome of the undecided
// increments. If that depends on the outcome, it needs a lock that conflicts with them: it waits
// until they are decided.
//
// Why increments of a field commute although the field is text: both orders give the same sum, and neither returns
// it. A set of the field conflicts, since it does not commute with an increment.
func planIncrement(v *View[mapState], a Args) Plan {
	if err := checkMemberSizes(a, 2, 0, "field"); err != nil {
		return failPlan(err)
	}
	if _, _, err := fieldNumber(v.State, a[0].Bytes); err != nil {
		return failPlan(err)
	}
	var others pendingRange
	others.addUndecided(v.Others, func(method uint32, theirs Args) int64 {
		if (method == mapIncrementMethod || method == mapIncrementGetMethod) &&
			string(theirs[0].Bytes) == string(a[0].Bytes) {
			return theirs[1].Int
		}
		return 0
	})
	sum, exists, err := incrementedField(v.State, a)
	shared, alone := mapIncrements, mapSets
	if exists {
		shared, alone = mapBumps, mapOverwrites
	}
	switch {
	// An increment of T1 by +1 is undecided on a field at the limit minus 1. A second one by +1
	// fails only if T1 commits: it waits for T1, and is planned again.
	case others.isUncertain(sum, err):
		return noChange(alone)
	case err != nil:
		return failPlan(err)
	}
	return As(shared, mapIncrementMethod, a)
}

// planIncrementGet plans increment-get. It returns the sum, so it conflicts with other increments
// of the field.
func planIncrementGet(v *View[mapState], a Args) Plan {
	if err := checkMemberSizes(a, 2, 0, "field"); err != nil {
		return failPlan(err)
	}
	sum, exists, err := incrementedField(v.State, a)
	switch {
	case err != nil:
		return failPlan(err)
	case exists:
		return As(mapOverwrites, mapIncrementGetMethod, a, Int(sum))
	}
	return As(mapSets, mapIncrementGetMethod, a, Int(sum))
}

// combineIncrements combines two increments of one field, only if they have the same sign: a
// combined increment of +5 and -5 would hide that the first alone may exceed the limit after the
// increments of other transactions.
func combineIncrements(first, then Args) (Args, bool) {
	sum, ok := Sum(first[1].Int, then[1].Int)
	if !ok || string(first[0].Bytes) != string(then[0].Bytes) || first[1].Int < 0 != (then[1].Int < 0) {
		return nil, false
	}
	return Args{first[0], Int(sum)}, true
}
