package adt

import (
	"strconv"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func planSetFields(v *View[mapState], a Args) Plan {
	if err := fitMembers(a, 2, 0, "field"); err != nil {
		return refused(err)
	}
	need := mapGets // it holds all of that already
	for i := 0; i+1 < len(a); i += 2 {
		switch old, there := v.State.Get(string(a[i].Bytes)); {
		case !there:
			return As(mapSets, mapSetMethod, a)
		case old != string(a[i+1].Bytes):
			need = mapOverwrites
		}
	}
	if need == mapGets {
		return nothing(need)
	}
	return As(need, mapSetMethod, a)
}

func planDeleteFields(v *View[mapState], a Args) Plan {
	var there Args
	for _, d := range a {
		if v.State.Has(string(d.Bytes)) {
			there = append(there, d)
		}
	}
	if len(there) == 0 {
		return nothing(mapAbsent)
	}
	return As(mapDeletes, mapDeleteMethod, there)
}

func planGetFields(v *View[mapState], a Args) Plan {
	p := nothing(mapAbsent, make([]msg.Datum, len(a))...)
	for i, d := range a {
		if value, there := v.State.Get(string(d.Bytes)); there {
			p.Need, p.Answer[i] = mapGets, Bytes([]byte(value))
		}
	}
	return p
}

func planHas(v *View[mapState], a Args) Plan {
	if v.State.Has(string(a[0].Bytes)) {
		return nothing(mapPresent, Bool(true))
	}
	return nothing(mapAbsent, Bool(false))
}

func planSetNew(v *View[mapState], a Args) Plan {
	if err := fitMembers(a, 2, 0, "field"); err != nil {
		return refused(err)
	}
	if v.State.Has(string(a[0].Bytes)) {
		return nothing(mapPresent, Bool(false))
	}
	return As(mapSets, mapSetMethod, a, Bool(true))
}

// fieldNumber is the whole number that a field holds, 0 if it is not there.
func fieldNumber(s mapState, field []byte) (n int64, there bool, err error) {
	text, there := s.Get(string(field))
	if !there {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0, true, Errorf(kv.KindConditionFailed, "the field is not a decimal 64-bit integer; set it to one first")
	}
	return n, true, nil
}

// incremented is what a field holds after an increment.
func incremented(s mapState, a Args) (sum int64, there bool, err error) {
	n, there, err := fieldNumber(s, a[0].Bytes)
	if err != nil {
		return 0, there, err
	}
	sum, ok := Sum(n, a[1].Int)
	if !ok {
		return 0, there, Errorf(kv.KindOutOfRange, "the field is %d; adding %d would exceed 64 bits", n, a[1].Int)
	}
	return sum, there, nil
}

func incrementField(s mapState, a Args) (mapState, error) {
	sum, _, err := incremented(s, a)
	if err != nil {
		return s, err
	}
	return s.Put(string(a[0].Bytes), strconv.FormatInt(sum, 10)), nil
}

// planIncrement makes sure that the sum stays within 64 bits whichever of the
// undecided increments come to be. Where that cannot be known, it waits for them
// under a lock that excludes them.
func planIncrement(v *View[mapState], a Args) Plan {
	if err := fitMembers(a, 2, 0, "field"); err != nil {
		return refused(err)
	}
	if _, _, err := fieldNumber(v.State, a[0].Bytes); err != nil {
		return refused(err)
	}
	var others reach
	others.undecided(v.Others, func(method uint32, theirs Args) int64 {
		if (method == mapIncrementMethod || method == mapIncrementGetMethod) && string(theirs[0].Bytes) == string(a[0].Bytes) {
			return theirs[1].Int
		}
		return 0
	})
	sum, there, err := incremented(v.State, a)
	shared, alone := mapIncrements, mapSets
	if there {
		shared, alone = mapBumps, mapOverwrites
	}
	switch {
	case others.decide(sum, err):
		return nothing(alone)
	case err != nil:
		return refused(err)
	}
	return As(shared, mapIncrementMethod, a)
}

func planIncrementGet(v *View[mapState], a Args) Plan {
	if err := fitMembers(a, 2, 0, "field"); err != nil {
		return refused(err)
	}
	sum, there, err := incremented(v.State, a)
	switch {
	case err != nil:
		return refused(err)
	case there:
		return As(mapOverwrites, mapIncrementGetMethod, a, Int(sum))
	}
	return As(mapSets, mapIncrementGetMethod, a, Int(sum))
}

// incrementsInARow makes one increment of two of the same member by whole
// numbers. Only of those that go the same way: each must be able to come after
// others' increments, and of one that is the sum of both it would not be seen how
// far they go between.
func incrementsInARow(first, then Args) (Args, bool) {
	sum, ok := Sum(first[1].Int, then[1].Int)
	if !ok || string(first[0].Bytes) != string(then[0].Bytes) || first[1].Int < 0 != (then[1].Int < 0) {
		return nil, false
	}
	return Args{first[0], Int(sum)}, true
}
