package adt

import (
	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// List is the number of the type "list": values by position, from 0.
//
// A value has up to kv.MaxValueBytes, and all together, as stored, have up to
// kv.MaxStateBytes. A list without values is a key that is not there.
//
// Appends do not commute: the list tells in which order they came. Whoever only
// collects does better with a set, or with one list for each who appends. But an
// append leaves alone what is at positions that there are already:
//
//	                                 append  trim
//	append  also append-len         .      .
//	trim    removes something          .      .
//	prefix  of positions there are     x      .
//	all     len, the end               .      .
//
// x is always, and . never; prefix and all change nothing and go together. A get
// or range is of the prefix if its positions are not negative and the list has
// them; otherwise, and for a trim that finds nothing to remove, it sees all: where
// the list ends.
const List entry.Type = 9

type listState = tree.List[string]

// Kinds of lock of a list, as stored.
const (
	listAppends Kind = iota + 1
	listTrims
	listPrefix
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
		Encode: encodeList, Decode: decodeList, Size: func(s listState) int { return 1 + paged.UnsignedBytes(uint64(s.Len())) + s.Bytes() },
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
		{Name: "append", Doc: "Appends values.", Params: values, Kind: listAppends, Apply: appendValues, Combine: inARow(1)},
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

func appendValues(s listState, a Args) (listState, error) {
	for _, d := range a {
		v := string(d.Bytes)
		s = s.Append(v, paged.TextBytes(v))
	}
	return s, nil
}

func planAppendLength(v *View[listState], a Args) Plan {
	return As(listAppends, listAppendMethod, a, Int(int64(v.State.Len()+len(a))))
}

// planRange sees the prefix alone if no append can alter what it answers.
func planRange(v *View[listState], a Args) Plan {
	first, last := a[0].Int, a[1].Int
	i, j := span(first, last, v.State.Len())
	out := make([]msg.Datum, 0, j-i)
	for value := range v.State.From(i) {
		i++
		if i > j {
			break
		}
		out = append(out, Bytes([]byte(value)))
	}
	if first >= 0 && last >= 0 && (last < int64(v.State.Len()) || last < first) {
		return nothing(listPrefix, out...)
	}
	return nothing(listAll, out...)
}

func planIndex(v *View[listState], a Args) Plan {
	i, n := a[0].Int, int64(v.State.Len())
	switch {
	case i >= 0 && i < n:
		return nothing(listPrefix, Bytes([]byte(v.State.At(int(i)))))
	case i < 0 && i >= -n:
		return nothing(listAll, Bytes([]byte(v.State.At(int(i+n)))))
	}
	return nothing(listAll, Nil())
}

func trimValues(s listState, a Args) (listState, error) {
	return s.Slice(span(a[0].Int, a[1].Int, s.Len())), nil
}

func planTrim(v *View[listState], a Args) Plan {
	i, j := span(a[0].Int, a[1].Int, v.State.Len())
	switch {
	case a[0].Int == 0 && a[1].Int == -1: // it keeps all, whatever there is
		return nothing(listPrefix)
	case i == 0 && j == v.State.Len():
		return nothing(listAll)
	}
	return As(listTrims, listTrimMethod, a)
}

// encodeList writes the version, the number of values, and each behind its
// length.
func encodeList(s listState) []byte {
	b := append(make([]byte, 0, 1+paged.UnsignedBytes(uint64(s.Len()))+s.Bytes()), collectionForm)
	b = paged.AppendLength(b, s.Len())
	for v := range s.All() {
		b = paged.AppendText(b, v)
	}
	return b
}

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
