package adt

import (
	"iter"

	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Map is the number of the type "map": fields with values, ordered by the fields' bytes (Holt 2016,
// table 4.1).
//
// A field has up to MaxMemberBytes, a value up to kv.MaxValueBytes, all together, as stored, up to
// kv.MaxStateBytes. A map without fields is an absent key. A value that is incremented is a decimal
// 64-bit integer without leading zeros or a plus sign, as in Redis.
//
// Calls on different fields commute, except those that read the whole map. For calls on one field,
// the lock depends on which fields exist: setting an existing field changes neither the number of
// fields nor whether the field exists.
//
//	                                set  overwrite  increment  bump  delete
//	set        some field is new     y       y          y       y      y
//	overwrite  all fields exist      y       y          y       y      y
//	increment  the field is new      y       y          x       x      y
//	bump       the field exists      y       y          x       x      y
//	delete     some exist            y       y          y       y      x
//	get        the value             y       y          y       y      y
//	present    the field exists      x       x          x       x      y
//	absent     it does not           y       x          y       x      x
//	len        how many fields       .       x          .       x      .
//	all        all, range            .       .          .       .      .
//
// Example. m is {f: 1}. T1 sets f to 2 ("overwrite(f)"), T2 reads the number of fields ("len"), T3 sets g ("set(g)").
// T1 and T2 commute, since f exists before and after. T3 waits for T2, or T2 for T3: g is new. x is always, y with
// other fields only, and . never; the last five are queries and commute. An increment that returns the sum is a set
// or an overwrite. A set that changes nothing is a get. If an increment may exceed 64 bits for some outcome of the
// undecided increments, it needs the lock of an overwrite, and waits for them.
//
// # Why the pairs commute
//
//	set, any change        of one field: the later one decides its value
//	overwrite, any change  in the same way
//	increment, increment   sums are the same in either order, an absent field counts as 0, and neither returns the sum
//	increment, bump        so do a first and a later increment: both orders create the field with the same sum
//	increment, delete      of one field: the deletion loses the increments before it
//	delete, delete         the field does not exist after either
//	get, any change        of one field: the reader would see the change or not
//	present, set or bump   the field exists before and after every change but a deletion
//	absent, overwrite      an overwrite changes a field that exists, so it does not create this one; so does a bump
//	absent, delete         a deletion does not create it either
//	len, overwrite         the number of fields stays; so it does for a bump, and for no other change
//	all, any change        the reader would see it or not
//
// HAZARD: overwrite and bump are chosen because the field exists. What keeps that true until the commit is that
// deletions of the field conflict with both.
const Map entry.Type = 3

type mapState = paged.Map[string, string]

// Kinds of lock of a map, as stored.
const (
	// mapSets: sets a field that may be new, so the number of fields may change.
	mapSets Kind = iota + 1
	// mapOverwrites: sets an existing field; the number of fields stays.
	mapOverwrites
	// mapIncrements: increments a field that is new; increments commute, and all of them create it.
	mapIncrements
	// mapBumps: increments an existing field.
	mapBumps
	// mapDeletes: deletes an existing field; two deletions of one field commute.
	mapDeletes
	// mapGets: reads the value of a field.
	mapGets
	// mapPresent: reads only that a field exists. No set or increment can change that; only a
	// deletion can.
	mapPresent
	// mapAbsent: reads only that a field does not exist.
	mapAbsent
	// mapSize: reads the number of fields.
	mapSize
	// mapAll: reads all fields.
	mapAll
)

// Methods of a map that plans name.
const (
	mapSetMethod          = 1
	mapDeleteMethod       = 2
	mapIncrementMethod    = 5
	mapIncrementGetMethod = 6
)

var mapForm = newTextForm(func(f, v string) int { return paged.TextBytes(f) + paged.TextBytes(v) }, paged.AppendText,
	(*paged.Reader).Text)

func init() { Install(mapSpec()) }

// mapSpec declares the type.
func mapSpec() Spec[mapState] {
	return Spec[mapState]{
		ID: Map, Name: "map", Doc: "Fields with values, ordered by field. A field has at most 64 KiB.",
		Zero: func() mapState { return paged.New(mapForm.Order) }, Empty: func(s mapState) bool { return s.Len() == 0 },
		Encode: func(s mapState) []byte { return encodeElements(mapForm, s) },
		Decode: func(b []byte) (mapState, error) { return decodeElements(mapForm, b, 2) },
		Size:   encodedSize[string], Pages: mapPages(mapForm),
		Kinds: []KindSpec{{"set", true}, {"overwrite", true}, {"increment", true}, {"bump", true}, {"delete", true},
			{"get", false}, {"present", false}, {"absent", false}, {"len", false}, {"all", false}},
		Commute: mapCommute(), Methods: mapMethods(),
	}
}

// mapCommute is the table of Map.
//
// Each row is for a kind, each column for a kind that changes the map. Package check searches for values on which two
// calls under kinds that are listed as commuting do not.
func mapCommute() []Commutes {
	return commuteTable(mapSets, [][]When{
		mapSets:       {OtherPart, OtherPart, OtherPart, OtherPart, OtherPart},
		mapOverwrites: {OtherPart, OtherPart, OtherPart, OtherPart, OtherPart},
		mapIncrements: {OtherPart, OtherPart, Always, Always, OtherPart},
		mapBumps:      {OtherPart, OtherPart, Always, Always, OtherPart},
		mapDeletes:    {OtherPart, OtherPart, OtherPart, OtherPart, Always},
		mapGets:       {OtherPart, OtherPart, OtherPart, OtherPart, OtherPart},
		mapPresent:    {Always, Always, Always, Always, OtherPart},
		mapAbsent:     {OtherPart, Always, OtherPart, Always, Always},
		mapSize:       {0, Always, 0, Always, 0},
	})
}

// mapMethods declares the methods. Their order is their number and never changes; new ones are
// added at the end.
func mapMethods() []MethodSpec[mapState] {
	field, value := Param{Name: "field", Kind: msg.DatumBytes}, Param{Name: "value", Kind: msg.DatumBytes}
	fields := []Param{{Name: "field", Kind: msg.DatumBytes, Many: true}}
	delta := []Param{field, {Name: "delta", Kind: msg.DatumInt}}
	return []MethodSpec[mapState]{
		{Name: "set", Doc: "Sets fields to values.", Params: []Param{fields[0], value}, Kind: mapSets, Part: partsEvery(2, 0),
			Apply: setFields, Plan: planSetFields, Combine: concatArgs(2)},
		{Name: "delete", Doc: "Deletes fields.", Params: fields, Kind: mapDeletes, Part: partsEvery(1, 0),
			Apply: deleteNamed[string], Plan: planDeleteFields, Combine: concatArgs(1)},
		{Name: "get", Doc: "Returns the value of a field, or nil.", Params: []Param{field}, Kind: mapGets, Part: firstPart,
			Answers: true, Plan: planGetFields},
		{Name: "get-many", Doc: "Returns the value of each field, or nil.", Params: fields, Kind: mapGets,
			Part:    partsEvery(1, 0),
			Answers: true, Plan: planGetFields},
		{Name: "increment", Doc: "Adds to an integer field; a missing one is 0.", Params: delta, Kind: mapSets,
			Part: firstPart, Apply: incrementField, Plan: planIncrement, Combine: combineIncrements},
		{Name: "increment-get", Doc: "Adds to an integer field and returns the sum.", Params: delta, Kind: mapSets,
			Part: firstPart, Apply: incrementField, Answers: true, Plan: planIncrementGet, Combine: combineIncrements},
		{Name: "len", Doc: "Returns the number of fields.", Kind: mapSize,
			Answer: func(s mapState, _ Args) ([]msg.Datum, error) { return []msg.Datum{Int(int64(s.Len()))}, nil }},
		{Name: "all", Doc: "Returns all fields with their values.", Kind: mapAll,
			Answer: func(s mapState, _ Args) ([]msg.Datum, error) { return pairs(s.All(), s.Len()), nil }},
		{Name: "range", Doc: "Returns at most limit fields, starting at from, with their values.", Kind: mapAll,
			Params: []Param{{Name: "from", Kind: msg.DatumBytes}, {Name: "limit", Kind: msg.DatumInt}}, Answer: scanFields},
		{Name: "has", Doc: "Returns whether a field exists.", Params: []Param{field}, Kind: mapGets, Part: firstPart,
			Answers: true, Plan: planHas},
		{Name: "set-if-absent", Doc: "Sets a field unless it exists. Returns whether it did.", Params: []Param{field, value},
			Kind: mapSets,
			Part: firstPart, Answers: true, Plan: planSetIfAbsent},
	}
}

// setFields applies set.
//
// Two sets of one field do not commute, not even to equal values: the lock would have to contain the value.
func setFields(s mapState, a Args) (mapState, error) {
	for i := 0; i+1 < len(a); i += 2 {
		s = s.Put(string(a[i].Bytes), string(a[i+1].Bytes))
	}
	return s, nil
}

// pairs returns up to limit fields with their values.
func pairs(fields iter.Seq2[string, string], limit int) []msg.Datum {
	out := make([]msg.Datum, 0, 2*limit)
	for f, v := range fields {
		limit--
		if limit < 0 {
			break
		}
		out = append(out, Bytes([]byte(f)), Bytes([]byte(v)))
	}
	return out
}

// scanFields answers range: at most limit fields from a field on.
func scanFields(s mapState, a Args) ([]msg.Datum, error) {
	if a[1].Int < 1 {
		return nil, Errorf(kv.KindInvalid, "the limit is %d; the minimum is 1", a[1].Int)
	}
	return pairs(s.Ascend(string(a[0].Bytes)), int(min(a[1].Int, int64(s.Len())))), nil
}
