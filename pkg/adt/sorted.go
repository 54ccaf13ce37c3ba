package adt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// SortedSet is the number of the type "sorted-set": members with scores, in the
// order of the scores, and of the members' bytes where scores are equal (Holt
// 2016, table 4.1; Redis' sorted set).
//
// Scores are exact decimals of at most 6 places, up to 9.2e12 and down to -9.2e12,
// so that increments come to the same in every order, which sums of binary
// fractions do not. They are answered as the nearest double: up to 9e9 that is the
// decimal itself, above it may lack its last places, which the set still has. A
// member has up to MaxMemberBytes, and all together, as stored, have up to
// kv.MaxStateBytes. A set without members is a key that is not there.
//
// Two calls commute if they are about different members. What commutes on one
// member, and with those that see the whole set, depends on which members are
// there: a change of a member's score cannot alter how many there are.
//
//	                                  add  rescore  increment  shift  remove
//	add        some member is new      y      y         y        y      y
//	rescore    all members are there   y      y         y        y      y
//	increment  the member is new       y      y         x        x      y
//	shift      the member is there     y      y         x        x      y
//	remove     some are there          y      y         y        y      x
//	score      of a member, or none    y      y         y        y      y
//	absent     it is not there         y      x         y        x      x
//	len        how many members        .      x         .        x      .
//	order      ranks and ranges        .      .         .        .      .
//
// x is always, y with other members only, and . never; the lower four change
// nothing and go together. An increment that returns the sum is an add, or a
// rescore, and an add of what is there already only sees the score. So is a blind
// increment a rescore where the score might become too large, depending on how the
// increments that are undecided end: it waits for them.
const SortedSet entry.Type = 4

// sortedState is the members with their scores in millionths, and the same by
// score.
type sortedState struct {
	scores paged.Map[string, int64]
	ranks  paged.Map[scored, struct{}]
}

// scored is a member in the order of the scores.
type scored struct {
	score  int64
	member string
}

// Kinds of lock of a sorted set, as stored.
const (
	sortedAdds Kind = iota + 1
	sortedRescores
	sortedIncrements
	sortedShifts
	sortedRemoves
	sortedScore
	sortedAbsent
	sortedSize
	sortedOrder
)

// Methods of a sorted set that plans name.
const (
	sortedAddMethod          = 1
	sortedIncrementMethod    = 2
	sortedRemoveMethod       = 3
	sortedIncrementGetMethod = 9
)

var (
	scoresForm = byText(func(m string, score int64) int { return paged.TextBytes(m) + paged.NumberBytes(score) },
		paged.AppendNumber, (*paged.Reader).Number)
	ranksForm = paged.NewForm(paged.Form[scored, struct{}]{
		Order: &tree.Order[scored, struct{}]{Compare: compareScored,
			Bytes: func(s scored, _ struct{}) int { return paged.NumberBytes(s.score) + paged.TextBytes(s.member) }},
		AppendKey:   func(b []byte, s scored) []byte { return paged.AppendText(paged.AppendNumber(b, s.score), s.member) },
		AppendValue: func(b []byte, _ struct{}) []byte { return b },
		ReadKey: func(r *paged.Reader) (s scored, err error) {
			s.score, err = r.Number()
			if err == nil {
				s.member, err = r.Text()
			}
			return s, err
		},
		ReadValue: func(*paged.Reader) (none struct{}, err error) { return none, nil },
	})
)

func compareScored(a, b scored) int {
	if a.score != b.score {
		return cmp.Compare(a.score, b.score)
	}
	return strings.Compare(a.member, b.member)
}

func init() { Install(sortedSpec()) }

func sortedSpec() Spec[sortedState] {
	return Spec[sortedState]{
		ID: SortedSet, Name: "sorted-set",
		Doc:   "Members ordered by score, a decimal with 6 places. A member has at most 64 KiB.",
		Zero:  func() sortedState { return sortedState{paged.New(scoresForm.Order), paged.New(ranksForm.Order)} },
		Empty: func(s sortedState) bool { return s.scores.Len() == 0 }, Encode: encodeSorted, Decode: decodeSorted,
		Size: func(s sortedState) int { return 1 + paged.UnsignedBytes(uint64(s.scores.Len())) + s.scores.Bytes() }, Pages: sortedPages(),
		Kinds: []KindSpec{{"add", true}, {"rescore", true}, {"increment", true}, {"shift", true}, {"remove", true},
			{"score", false}, {"absent", false}, {"len", false}, {"order", false}},
		Commute: sortedCommute(), Methods: sortedMethods(),
	}
}

func sortedCommute() []Commutes {
	// As in the table of SortedSet.
	return commutesIn(sortedAdds, [][]When{
		sortedAdds:       {OtherPart, OtherPart, OtherPart, OtherPart, OtherPart},
		sortedRescores:   {OtherPart, OtherPart, OtherPart, OtherPart, OtherPart},
		sortedIncrements: {OtherPart, OtherPart, Always, Always, OtherPart},
		sortedShifts:     {OtherPart, OtherPart, Always, Always, OtherPart},
		sortedRemoves:    {OtherPart, OtherPart, OtherPart, OtherPart, Always},
		sortedScore:      {OtherPart, OtherPart, OtherPart, OtherPart, OtherPart},
		sortedAbsent:     {OtherPart, Always, OtherPart, Always, Always},
		sortedSize:       {0, Always, 0, Always, 0},
	})
}

func sortedMethods() []MethodSpec[sortedState] {
	member := Param{Name: "member", Kind: msg.DatumBytes}
	delta := []Param{member, {Name: "delta", Kind: msg.DatumFloat}}
	ranks := []Param{{Name: "first", Kind: msg.DatumInt}, {Name: "last", Kind: msg.DatumInt}}
	one := []Param{member}
	return []MethodSpec[sortedState]{
		{Name: "add", Doc: "Sets the scores of members.", Kind: sortedAdds, Part: eachPart(2, 1),
			Params: []Param{{Name: "score", Kind: msg.DatumFloat, Many: true}, member}, Apply: addScored, Plan: planAddSorted, Combine: inARow(2)},
		{Name: "increment", Doc: "Adds to a member's score; a missing one is 0.", Params: delta, Kind: sortedAdds,
			Part: firstPart, Apply: incrementScored, Plan: planIncrementSorted, Combine: decimalsInARow},
		{Name: "remove", Doc: "Removes members.", Kind: sortedRemoves, Part: eachPart(1, 0),
			Params: []Param{{Name: "member", Kind: msg.DatumBytes, Many: true}}, Apply: removeScored, Plan: planRemoveSorted, Combine: inARow(1)},
		{Name: "score", Doc: "Returns a member's score, or nil.", Params: one, Kind: sortedScore, Part: firstPart,
			Answers: true, Plan: planScore},
		{Name: "rank", Doc: "Returns a member's position from 0, lowest score first, or nil.", Params: one,
			Kind: sortedOrder, Part: firstPart, Answers: true, Plan: planRank(false)},
		{Name: "range-by-rank", Doc: "Returns the members at positions first to last with their scores; negative positions count from the end.",
			Params: ranks, Kind: sortedOrder, Answer: membersByRank},
		{Name: "range-by-score", Doc: "Returns the members with scores from min to max, at most limit, with their scores.",
			Params: []Param{{Name: "min", Kind: msg.DatumFloat}, {Name: "max", Kind: msg.DatumFloat}, {Name: "limit", Kind: msg.DatumInt, Optional: true}},
			Kind:   sortedOrder, Answer: membersByScore},
		{Name: "len", Doc: "Returns the number of members.", Kind: sortedSize,
			Answer: func(s sortedState, _ Args) ([]msg.Datum, error) { return []msg.Datum{Int(int64(s.scores.Len()))}, nil }},
		{Name: "increment-get", Doc: "Adds to a member's score and returns the sum.", Params: delta, Kind: sortedAdds,
			Part: firstPart, Apply: incrementScored, Answers: true, Plan: planIncrementGetSorted, Combine: decimalsInARow},
		{Name: "rev-rank", Doc: "Returns a member's position from 0, highest score first, or nil.", Params: one,
			Kind: sortedOrder, Part: firstPart, Answers: true, Plan: planRank(true)},
		{Name: "range-by-rev-rank", Doc: "As range-by-rank, highest score first.",
			Params: ranks, Kind: sortedOrder, Answer: membersByRankDown},
	}
}

// put gives a member a score.
func (s sortedState) put(member string, score int64) sortedState {
	if old, there := s.scores.Get(member); there {
		if old == score {
			return s
		}
		s.ranks = s.ranks.Drop(scored{old, member}, struct{}{})
	}
	return sortedState{s.scores.Put(member, score), s.ranks.Insert(scored{score, member}, struct{}{})}
}

// encodeSorted writes the version, the number of members, and each behind its
// length with its score, in the order of the members.
func encodeSorted(s sortedState) []byte {
	b := append(make([]byte, 0, 1+paged.UnsignedBytes(uint64(s.scores.Len()))+s.scores.Bytes()), collectionForm)
	b = paged.AppendLength(b, s.scores.Len())
	for m, score := range s.scores.All() {
		b = paged.AppendNumber(paged.AppendText(b, m), score)
	}
	return b
}

func decodeSorted(payload []byte) (s sortedState, err error) {
	r, n, err := openStored(payload, 2)
	if err != nil {
		return s, err
	}
	all := make([]scored, 0, n)
	scores, err := tree.Build(scoresForm.Order, n, func() (string, int64, error) {
		m, err := r.Text()
		if err != nil {
			return "", 0, err
		}
		score, err := r.Number()
		all = append(all, scored{score, m})
		return m, score, err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return s, err
	}
	slices.SortFunc(all, compareScored)
	ranks, err := tree.Build(ranksForm.Order, n, func() (k scored, none struct{}, err error) {
		k, all = all[0], all[1:]
		return k, none, nil
	})
	return sortedState{paged.Whole(scores), paged.Whole(ranks)}, err
}
