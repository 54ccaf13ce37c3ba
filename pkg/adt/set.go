package adt

import (
	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Set is the number of the type "set": distinct members, ordered by their bytes.
//
// A member has up to MaxMemberBytes, all together, as stored, up to kv.MaxStateBytes. A set without
// members is an absent key.
//
// The relation is that of Holt 2016, table 4.2, and depends on the members. A call is planned for
// the current members: adding an existing member, or removing an absent one, changes nothing and
// only needs that to stay so.
//
//	                         add  remove  insert  take  present  absent  member  all
//	add     some are new      x     y       y      y      x        y       y      .
//	remove  some exist        y     x       y      y      y        x       y      .
//	insert  add-count, new    y     y       y      y      x        y       y      .
//	take    remove-count      y     y       y      y      y        x       y      .
//	present all exist         x     y       x      y      x        x       x      x
//	absent  none exists       y     x       y      x      x        x       x      x
//	member  unknown           y     y       y      y      x        x       x      x
//	all     len, members      .     .       .      .      x        x       x      x
//
// Why two removals of one member commute and two takes do not: after either order the member is gone, but the take
// that comes first returns 1 and the other 0. x is always, y with other members only, and . never. Each member of a
// call has its own lock; a call with more than 16 members locks the whole set.
//
// # Why the pairs commute
//
//	add, add            a union is the same in either order, and neither returns anything
//	remove, remove      so is what remains after two removals
//	add, remove         of one member: the later one decides whether it exists, so only for other members
//	insert, any change  of one member: it returns whether the member was new, which the other one alters
//	take, any change    in the same way: it returns whether the member existed
//	present, add        the member exists, and neither an add nor an insert can remove it
//	present, remove     of one member: the reader would see it or not
//	absent, remove      the member does not exist, and neither a remove nor a take can create it
//	absent, add         of one member: the reader would see it or not
//	member, any change  of one member: the value is not known, so both results are possible
//	all, any change     of the members that exist: a call that changes nothing has the lock present or absent
//
// An insert of an existing member is planned as present, and a take of an absent one as absent: what a plan reads is
// protected as if it had been a query.
const Set entry.Type = 2

// setState has the members.
type setState = paged.Map[string, struct{}]

// Kinds of lock of a set, as stored.
const (
	// setAdds: adds members without returning how many were new. Two adds of one member commute.
	setAdds Kind = iota + 1
	// setRemoves: removes members without returning how many existed.
	setRemoves
	// setInserts: adds members and returns how many were new, so two inserts of one member conflict.
	setInserts
	// setTakes: removes members and returns how many existed.
	setTakes
	// setPresent: reads that a member exists. Adds of it change nothing.
	setPresent
	// setAbsent: reads that a member does not exist. Removals of it change nothing.
	setAbsent
	// setMember: reads whether a member exists, if the value is not known.
	setMember
	// setAll: reads the number of members, or all of them.
	setAll
)

var setForm = newTextForm(func(m string, _ struct{}) int { return paged.TextBytes(m) },
	func(b []byte, _ struct{}) []byte { return b }, func(*paged.Reader) (none struct{}, err error) { return none, nil })

func init() { Install(setSpec()) }

// setSpec declares the type.
func setSpec() Spec[setState] {
	return Spec[setState]{
		ID: Set, Name: "set", Doc: "Distinct members in byte order. A member has at most 64 KiB.",
		Zero: func() setState { return paged.New(setForm.Order) }, Empty: func(s setState) bool { return s.Len() == 0 },
		Encode: func(s setState) []byte { return encodeElements(setForm, s) },
		Decode: func(b []byte) (setState, error) { return decodeElements(setForm, b, 1) },
		Size:   encodedSize[struct{}], Pages: mapPages(setForm),
		Kinds: []KindSpec{{"add", true}, {"remove", true}, {"insert", true}, {"take", true}, {"present", false},
			{"absent", false},
			{"member", false}, {"all", false}},
		Commute: []Commutes{
			{setAdds, setAdds, Always}, {setAdds, setRemoves, OtherPart}, {setAdds, setInserts, OtherPart},
			{setAdds, setTakes, OtherPart},
			{setRemoves, setRemoves, Always}, {setRemoves, setInserts, OtherPart}, {setRemoves, setTakes, OtherPart},
			{setInserts, setInserts, OtherPart}, {setInserts, setTakes, OtherPart}, {setTakes, setTakes, OtherPart},
			{setPresent, setAdds, Always}, {setPresent, setInserts, Always}, {setPresent, setRemoves, OtherPart},
			{setPresent, setTakes, OtherPart},
			{setAbsent, setRemoves, Always}, {setAbsent, setTakes, Always}, {setAbsent, setAdds, OtherPart},
			{setAbsent, setInserts, OtherPart},
			{setMember, setAdds, OtherPart}, {setMember, setRemoves, OtherPart}, {setMember, setInserts, OtherPart},
			{setMember, setTakes, OtherPart},
		},
		Methods: setMethods(),
	}
}

// setMethods declares the methods. Their order is their number and never changes; new ones are
// added at the end.
func setMethods() []MethodSpec[setState] {
	one := []Param{{Name: "member", Kind: msg.DatumBytes}}
	many := []Param{{Name: "member", Kind: msg.DatumBytes, Many: true}}
	parts, combine := partsEvery(1, 0), concatArgs(1)
	return []MethodSpec[setState]{
		{Name: "add", Doc: "Adds members.", Params: many, Kind: setAdds, Part: parts,
			Apply: addToSet, Plan: setPlan(1, false, setAdds, setPresent), Combine: combine},
		{Name: "remove", Doc: "Removes members.", Params: many, Kind: setRemoves, Part: parts,
			Apply: deleteNamed[struct{}], Plan: setPlan(2, true, setRemoves, setAbsent), Combine: combine},
		{Name: "contains", Doc: "Returns whether a member exists.", Params: one, Kind: setMember, Part: parts,
			Answers: true, Plan: planContains},
		{Name: "len", Doc: "Returns the number of members.", Kind: setAll,
			Answer: func(s setState, _ Args) ([]msg.Datum, error) { return []msg.Datum{Int(int64(s.Len()))}, nil }},
		{Name: "members", Doc: "Returns all members.", Kind: setAll,
			Answer: func(s setState, _ Args) ([]msg.Datum, error) { return setMembers(s), nil }},
		{Name: "add-count", Doc: "Adds members and returns how many were new.", Params: many, Kind: setInserts, Part: parts,
			Apply: addToSet, Answers: true, Plan: counting(setPlan(6, false, setInserts, setPresent)), Combine: combine},
		{Name: "remove-count", Doc: "Removes members and returns how many existed.", Params: many, Kind: setTakes,
			Part:  parts,
			Apply: deleteNamed[struct{}], Answers: true, Plan: counting(setPlan(7, true, setTakes, setAbsent)),
			Combine: combine},
	}
}

// setPlan plans a method that changes those of its members that exist (exists), or those that do
// not. It needs the lock changing if one changes, else idle.
//
// Only the members that change are in the calls: a call that was planned as a change of x must not change x if another
// transaction has done so before, and the lock "insert(x)" or "take(x)" excludes that where the answer depends on it.
func setPlan(method uint32, exists bool, changing, idle Kind) func(*View[setState], Args) Plan {
	return func(v *View[setState], a Args) Plan {
		if err := checkMemberSizes(a, 1, 0, "member"); err != nil {
			return failPlan(err)
		}
		if len(a) == 1 { // the usual case
			if v.State.Has(string(a[0].Bytes)) == exists {
				return As(changing, method, a)
			}
			return noChange(idle)
		}
		var change Args
		seen := make(map[string]bool, len(a))
		for _, d := range a {
			// A member that occurs twice in the arguments counts once.
			if m := string(d.Bytes); v.State.Has(m) == exists && !seen[m] {
				seen[m] = true
				change = append(change, d)
			}
		}
		if len(change) == 0 {
			return noChange(idle)
		}
		return As(changing, method, change)
	}
}

// counting returns a plan that answers the number of changed members.
//
// The count is true at the commit: the lock insert, or take, conflicts with changes of the same members.
func counting(plan func(*View[setState], Args) Plan) func(*View[setState], Args) Plan {
	return func(v *View[setState], a Args) Plan {
		p := plan(v, a)
		n := 0
		for i := range p.Calls {
			n += len(p.Calls[i].Args)
		}
		p.Answer = []msg.Datum{Int(int64(n))}
		return p
	}
}

// planContains plans contains with the lock for what it found: present and absent each commute with
// more than member.
//
//	s = {x}    contains x: present(x), compatible with an undecided add of x by another transaction
//	s = {}     contains x: absent(x), compatible with an undecided removal of x
func planContains(v *View[setState], a Args) Plan {
	if v.State.Has(string(a[0].Bytes)) {
		return noChange(setPresent, Bool(true))
	}
	return noChange(setAbsent, Bool(false))
}

// addToSet applies add and add-count.
//
// Adding an existing member returns the same Map, not a copy, so a version that changes nothing shares all nodes.
func addToSet(s setState, a Args) (setState, error) {
	for _, d := range a {
		if m := string(d.Bytes); !s.Has(m) {
			s = s.Put(m, struct{}{})
		}
	}
	return s, nil
}

// setMembers returns all members in order.
func setMembers(s setState) []msg.Datum {
	out := make([]msg.Datum, 0, s.Len())
	for m := range s.All() {
		out = append(out, Bytes([]byte(m)))
	}
	return out
}
