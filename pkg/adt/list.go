package adt

import (
	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// List is the number of the type "list": values by position, from 0.
//
// A value has up to kv.MaxValueBytes, all together, as stored, up to kv.MaxStateBytes. A list
// without values is an absent key.
//
// Appends do not commute, since the list shows their order. A set, or one list per writer, avoids
// the conflict. An append does not change existing positions:
//
//	                                 append  trim
//	append  also append-len         .      .
//	trim    removes something       .      .
//	prefix  existing positions      x      .
//	all     len, the end            .      .
//
// x is always, and . never; prefix and all are queries and commute. A get or range needs prefix if
// its positions are not negative and exist. Otherwise, and for a trim that removes nothing, it
// needs all: it reads the end of the list.
//
// # Why the pairs commute
//
//	append, append   do not: the list shows which came first
//	prefix, append   positions that exist keep their values, and the number of a position does not depend on the end
//	trim, any        does not: it moves all positions
//	all, append      does not: the length and the last value are others
const List entry.Type = 9

type listState = tree.List[string]

// Kinds of lock of a list, as stored.
const (
	// listAppends: appends at the end; conflicts with other appends, since the list shows their
	// order.
	listAppends Kind = iota + 1
	// listTrims: removes values and conflicts with everything.
	listTrims
	// listPrefix: reads existing positions, which an append does not change.
	listPrefix
	// listAll: reads the length or the end of the list.
	listAll
)

// Methods of a list that plans name.
const (
	listAppendMethod = 1
	listTrimMethod   = 4
)

func init() { Install(listSpec()) }

func listSpec() Spec[listState] {
	return Spec[listState]{
		ID: List, Name: "list", Doc: "A sequence of values. Positions start at 0; negative ones count from the end.",
		Zero: func() (s listState) { return s }, Empty: func(s listState) bool { return s.Len() == 0 },
		Encode: encodeList, Decode: decodeList, Size: func(
			s listState) int {
			return 1 + paged.UnsignedBytes(uint64(s.Len())) + s.Bytes()
		},
		Elements: func(s listState) int { return s.Len() },
		Kinds:    []KindSpec{{"append", true}, {"trim", true}, {"prefix", false}, {"all", false}},
		Commute:  []Commutes{{listPrefix, listAppends, Always}},
		Methods:  listMethods(),
	}
}

func listMethods() []MethodSpec[listState] {
	values := []Param{{Name: "value", Kind: msg.DatumBytes, Many: true}}
	positions := []Param{{Name: "first", Kind: msg.DatumInt}, {Name: "last", Kind: msg.DatumInt}}
	return []MethodSpec[listState]{
		{Name: "append", Doc: "Appends values.", Params: values, Kind: listAppends, Apply: appendValues,
			Combine: concatArgs(1)},
		{Name: "range", Doc: "Returns the values from position first to last.", Params: positions,
			Kind: listAll, Answers: true, Plan: planRange},
		{Name: "len", Doc: "Returns the number of values.", Kind: listAll,
			Answer: func(s listState, _ Args) ([]msg.Datum, error) { return []msg.Datum{Int(int64(s.Len()))}, nil }},
		{Name: "trim", Doc: "Removes the values outside first to last.", Params: positions,
			Kind: listTrims, Apply: trimValues, Plan: planTrim},
		{Name: "append-len", Doc: "Appends values and returns the new length.", Params: values, Kind: listAppends,
			Answers: true, Plan: planAppendLength},
		{Name: "get", Doc: "Returns the value at a position, or nil.",
			Params: []Param{{Name: "index", Kind: msg.DatumInt}}, Kind: listAll, Answers: true, Plan: planIndex},
	}
}

// appendValues applies append: O(log n) per value.
func appendValues(s listState, a Args) (listState, error) {
	for _, d := range a {
		v := string(d.Bytes)
		s = s.Append(v, paged.TextBytes(v))
	}
	return s, nil
}

// planAppendLength plans append-len. Appends conflict with each other, so the length in the answer
// stays true until the commit.
func planAppendLength(v *View[listState], a Args) Plan {
	return As(listAppends, listAppendMethod, a, Int(int64(v.State.Len()+len(a))))
}

// planRange needs the prefix only if no append can change the answer.
//
//	list [a b c]    range 0 1     prefix: an append cannot change a and b
//	                range 0 5     all: an append would be in the answer
//	                range -1 -1   all: the last one is another after an append
func planRange(v *View[listState], a Args) Plan {
	first, last := a[0].Int, a[1].Int
	i, j := positionRange(first, last, v.State.Len())
	out := make([]msg.Datum, 0, j-i)
	for value := range v.State.From(i) {
		i++
		if i > j {
			break
		}
		out = append(out, Bytes([]byte(value)))
	}
	if first >= 0 && last >= 0 && (last < int64(v.State.Len()) || last < first) {
		return noChange(listPrefix, out...)
	}
	return noChange(listAll, out...)
}

// planIndex plans get. A negative position counts from the end, and an absent one depends on it:
// both read the end.
func planIndex(v *View[listState], a Args) Plan {
	i, n := a[0].Int, int64(v.State.Len())
	switch {
	case i >= 0 && i < n:
		return noChange(listPrefix, Bytes([]byte(v.State.At(int(i)))))
	case i < 0 && i >= -n:
		return noChange(listAll, Bytes([]byte(v.State.At(int(i+n)))))
	}
	return noChange(listAll, Nil())
}

// trimValues applies trim.
func trimValues(s listState, a Args) (listState, error) {
	return s.Slice(positionRange(a[0].Int, a[1].Int, s.Len())), nil
}

// planTrim plans trim. A trim that removes nothing only reads: with positions 0 to -1 nothing at
// all, so the weakest lock suffices, else the length.
//
//	3 values    trim 0 -1    prefix: keeps everything, however many there are
//	            trim 0 9     all: keeps everything now, and after 8 appends would not
//	            trim 1 -1    trim: conflicts with everything
func planTrim(v *View[listState], a Args) Plan {
	i, j := positionRange(a[0].Int, a[1].Int, v.State.Len())
	switch {
	case a[0].Int == 0 && a[1].Int == -1: // keeps everything in any state
		return noChange(listPrefix)
	case i == 0 && j == v.State.Len():
		return noChange(listAll)
	}
	return As(listTrims, listTrimMethod, a)
}

// encodeList writes the version, the number of values, and each value with its length.
func encodeList(s listState) []byte {
	b := append(make([]byte, 0, 1+paged.UnsignedBytes(uint64(s.Len()))+s.Bytes()), collectionForm)
	b = paged.AppendLength(b, s.Len())
	for v := range s.All() {
		b = paged.AppendText(b, v)
	}
	return b
}

// decodeList is the inverse of encodeList.
func decodeList(payload []byte) (listState, error) {
	r, n, err := openStored(payload, 1)
	if err != nil {
		return listState{}, err
	}
	s, err := tree.BuildList(n, paged.TextBytes, r.Text)
	if err == nil {
		err = r.End()
	}
	return s, err
}
