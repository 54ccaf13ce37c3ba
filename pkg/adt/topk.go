package adt

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TopK is the number of the type "top-k": the TopKeeps members with the highest scores, each with
// its highest (Holt 2016, table 4.1). Members with equal scores are ordered by their bytes.
//
// A member has up to TopMemberBytes. A member that was displaced by better ones does not return, so
// additions commute.
//
//	                                   add  lower  pass  top  max
//	add    a score                      x     x      x    .    .
//	lower  one that is not the best     x     x      x    .    x
//	pass   one that is not kept         x     x      x    x    x
//	top    the best                     .     .      x    x    x
//	max    the single best              .     x      x    x    x
//
// Example. The best is (9, a), the last of 100 is (5, z). T1 adds (7, b): lock lower. T2 reads max: compatible, since
// whether or not T1 commits, a is the best. T3 reads the top: it waits for T1. Kept scores only rise: a score that is
// lower than the best stays lower, and a member that is not kept now is not kept later.
//
// # Why the pairs commute
//
// The state is a function of the set of all additions: of each member its highest score, of these the best 100. So
// every order of additions gives the same state, and an addition returns nothing.
//
//	lower, max    the addition was below the best when it was planned; the best only rises
//	pass, add     the addition changed nothing when it was planned: the member had a higher score, or 100 others had;
//	              neither can become untrue, since nothing is ever removed
//	top, lower    does not: the list would show the addition
//	max, add      does not: the addition may be the new best
const TopK entry.Type = 5

const (
	// TopKeeps is the number of members that a top-k keeps.
	TopKeeps = 100
	// TopMemberBytes limits a member, so that all of them fit into a value.
	TopMemberBytes = 64 << 10
)

// Kinds of lock of a top-k, as stored.
const (
	// topAdd: adds a score that may be the highest.
	topAdd Kind = iota + 1
	// topLower: adds a score that is not the highest, so max does not change.
	topLower
	// topPass: adds a score that changes nothing. The kept scores only rise, so that stays true
	// beside other adds.
	topPass
	// topRead: reads the kept members.
	topRead
	// topMax: reads the best member.
	topMax
)

// topEntry is a member with its highest score.
type topEntry struct {
	member string
	score  float64
}

// topState has the members, best first. It is immutable.
type topState []topEntry

// topForm is the first byte of the stored form.
const topForm = 1

func init() { Install(topSpec()) }

// topSpec declares the type.
func topSpec() Spec[topState] {
	return Spec[topState]{
		ID: TopK, Name: "top-k",
		Doc:  "The 100 members with the highest scores, each with its highest. A member has at most 64 KiB.",
		Zero: func() topState { return nil }, Empty: func(s topState) bool { return len(s) == 0 },
		Encode: encodeTop, Decode: decodeTop, Size: topState.size,
		Kinds: []KindSpec{{"add", true}, {"lower", true}, {"pass", false}, {"top", false}, {"max", false}},
		Commute: []Commutes{{topAdd, topAdd, Always}, {topAdd, topLower, Always}, {topLower, topLower, Always},
			{topPass, topAdd, Always}, {topPass, topLower, Always}, {topMax, topLower, Always}},
		Methods: []MethodSpec[topState]{
			{Name: "add", Doc: "Adds a member, or raises its score. A lower score changes nothing.",
				Params: []Param{{Name: "score", Kind: msg.DatumFloat}, {Name: "member", Kind: msg.DatumBytes}}, Kind: topAdd,
				Apply: addToTop, Plan: planTopAdd, Combine: combineTopAdds},
			{Name: "top", Doc: "Returns the n best members with their scores, best first.",
				Params: []Param{{Name: "n", Kind: msg.DatumInt}}, Kind: topRead, Answer: topOf},
			{Name: "max", Doc: "Returns the best member with its score, or nil.", Kind: topMax,
				Answer: func(s topState, _ Args) ([]msg.Datum, error) { return s.first(1), nil }},
		},
	}
}

// byScore orders entries: best score first, then by member.
func byScore(a, b topEntry) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	return strings.Compare(a.member, b.member)
}

// newTopEntry returns the entry that an add makes. Negative zero becomes zero.
//
// Two stored forms of zero would make equal values differ.
func newTopEntry(a Args) topEntry { return topEntry{string(a[1].Bytes), a[0].Float + 0} }

// planTopAdd plans add with the weakest lock. Example, with (9, a) as the best of 100 and (5, z) as
// the last:
//
//	add 4 b        changes nothing: lock pass, shared with all readers
//	add 7 b        lock lower: compatible with max
//	add 10 b       lock add: conflicts with max and top
func planTopAdd(v *View[topState], a Args) Plan {
	if n := len(a[1].Bytes); n > TopMemberBytes {
		return Plan{Err: Errorf(kv.KindInvalid, "the member has %d bytes; the limit is %d", n, TopMemberBytes)}
	}
	after := v.State.withEntry(newTopEntry(a))
	switch {
	case after == nil:
		return Plan{Need: topPass}
	case len(v.State) > 0 && after[0] == v.State[0]:
		return As(topLower, 1, a)
	}
	return As(topAdd, 1, a)
}

// addToTop applies add. Concurrent adds may have raised the scores since the plan, so it may change
// nothing.
func addToTop(s topState, a Args) (topState, error) {
	if after := s.withEntry(newTopEntry(a)); after != nil {
		return after, nil
	}
	return s, nil
}

// withEntry returns a top-k with one more entry, nil if that changes nothing.
//
//	[(9, a) (7, b) (5, c)]     add 8 c: [(9, a) (8, c) (7, b)]
//	                           add 4 c: nothing, c has 5
//	                           add 6 d with 3 kept: [(9, a) (7, b) (6, d)]; c is displaced for good
func (s topState) withEntry(e topEntry) topState {
	at, _ := slices.BinarySearchFunc(s, e, byScore)
	// The entry would be displaced at once.
	if at == TopKeeps {
		return nil
	}
	for i := range s[:at] {
		if s[i].member == e.member {
			return nil // the member has a higher score
		}
	}
	out := make(topState, 0, len(s)+1)
	out = append(append(out, s[:at]...), e)
	for _, o := range s[at:] {
		if o == e {
			return nil
		}
		if o.member != e.member {
			out = append(out, o)
		}
	}
	return out[:min(len(out), TopKeeps):min(len(out), TopKeeps)]
}

// combineTopAdds combines two additions of the same member into the higher one.
func combineTopAdds(first, then Args) (Args, bool) {
	switch {
	case string(first[1].Bytes) != string(then[1].Bytes):
		return nil, false
	case first[0].Float > then[0].Float:
		return first, true
	}
	return then, true
}

// topOf answers top.
func topOf(s topState, a Args) ([]msg.Datum, error) {
	if a[0].Int < 1 {
		return nil, Errorf(kv.KindInvalid, "n is %d; the minimum is 1", a[0].Int)
	}
	return s.first(a[0].Int), nil
}

// first returns the best n members with their scores.
func (s topState) first(n int64) []msg.Datum {
	var out []msg.Datum
	for _, e := range s[:min(n, int64(len(s)))] {
		out = append(out, Bytes([]byte(e.member)), Float(e.score))
	}
	return out
}

// size approximates the stored size: 8 bytes of score and a length of at most 3 bytes per member.
func (s topState) size() int {
	n := 2
	for i := range s {
		n += 8 + 3 + len(s[i].member)
	}
	return n
}

// encodeTop writes the version, the number of members, and of each its score, length and bytes, in
// order.
func encodeTop(s topState) []byte {
	b := binary.AppendUvarint(append(make([]byte, 0, s.size()), topForm), uint64(len(s)))
	for _, e := range s {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(e.score))
		b = append(binary.AppendUvarint(b, uint64(len(e.member))), e.member...)
	}
	return b
}

// decodeTop is the inverse of encodeTop. It rejects entries that are not in order.
func decodeTop(b []byte) (topState, error) {
	if len(b) == 0 || b[0] != topForm {
		return nil, errors.New("its version is not known; it may have been written by a newer linchpin")
	}
	r := kv.Decoder{Rest: b[1:]}
	n := r.Uint()
	if n > TopKeeps {
		return nil, errTruncated
	}
	s := make(topState, 0, n)
	for range n {
		score := r.Take(8)
		member := r.Bytes()
		if r.Failed {
			return nil, errTruncated
		}
		s = append(s, topEntry{string(member), math.Float64frombits(binary.BigEndian.Uint64(score))})
	}
	if r.Failed || len(r.Rest) > 0 || !slices.IsSortedFunc(s, byScore) {
		return nil, errTruncated
	}
	return s, nil
}
