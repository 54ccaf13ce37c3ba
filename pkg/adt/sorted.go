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

// SortedSet is the number of the type "sorted-set": members ordered by score, and by their bytes
// where scores are equal (Holt 2016, table 4.1; Redis' sorted set).
//
// Scores are exact decimals with at most 6 places between -9.2e12 and 9.2e12, so that sums do not
// depend on the order of increments, as sums of binary fractions do. They are returned as the
// nearest double, which is exact up to 9e9. A member has up to MaxMemberBytes, all together, as
// stored, up to kv.MaxStateBytes. A set without members is an absent key.
//
// Calls on different members commute, except those that read the whole set. For calls on one
// member, the lock depends on which members exist: a new score of an existing member does not
// change how many there are.
//
//	                                  add  rescore  increment  shift  remove
//	add        some member is new      y      y         y        y      y
//	rescore    all members exist       y      y         y        y      y
//	increment  the member is new       y      y         x        x      y
//	shift      the member exists       y      y         x        x      y
//	remove     some exist              y      y         y        y      x
//	score      of a member, or none    y      y         y        y      y
//	absent     it does not exist       y      x         y        x      x
//	len        how many members        .      x         .        x      .
//	order      ranks and ranges        .      .         .        .      .
//
// Example. A leaderboard has the members a and b. T1 increments a by 1 ("shift(a)"), T2 increments a by 2
// ("shift(a)"): they commute. T3 reads the number of members ("len"): it commutes with both. T4 reads the three best
// ("order"), and waits for all. x is always, y with other members only, and . never; the last four are queries and
// commute. An increment that returns the sum is an add or a rescore. An add that changes nothing only reads the
// score. If an increment may exceed the limit for some outcome of the undecided increments, it needs the lock of a
// rescore, and waits for them.
//
// # Why the pairs commute
//
// They are those of a map, with scores as values; see there for sets, increments, deletions and the number of fields.
// Different are:
//
//	shift, shift        scores are integers in millionths, so the sums are exact and the same in either order
//	order, any change   a change of one score may alter the position of every member
//	rank, absent        a rank of a member that does not exist is nil, whatever the others' scores are
const SortedSet entry.Type = 4

// sortedState has the members with their scores in millionths, indexed by member and by score.
type sortedState struct {
	scores paged.Map[string, int64]
	ranks  paged.Map[scored, struct{}]
}

// scored is a member in the order of scores.
type scored struct {
	score  int64
	member string
}

// Kinds of lock of a sorted set, as stored.
const (
	// sortedAdds: sets the score of a member that may be new, so the number of members may change.
	sortedAdds Kind = iota + 1
	// sortedRescores: sets the score of existing members; the number of members stays.
	sortedRescores
	// sortedIncrements: increments the score of a new member.
	sortedIncrements
	// sortedShifts: increments the score of an existing member.
	sortedShifts
	// sortedRemoves: removes existing members; two removals of one member commute.
	sortedRemoves
	// sortedScore: reads the score of a member.
	sortedScore
	// sortedAbsent: reads only that a member does not exist.
	sortedAbsent
	// sortedSize: reads the number of members.
	sortedSize
	// sortedOrder: reads ranks or ranges, which every change may alter.
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
	scoresForm = newTextForm(func(m string, score int64) int { return paged.TextBytes(m) + paged.NumberBytes(score) },
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

// compareScored orders by score, then by member.
func compareScored(a, b scored) int {
	if a.score != b.score {
		return cmp.Compare(a.score, b.score)
	}
	return strings.Compare(a.member, b.member)
}

func init() { Install(sortedSpec()) }

// sortedSpec declares the type.
func sortedSpec() Spec[sortedState] {
	return Spec[sortedState]{
		ID: SortedSet, Name: "sorted-set",
		Doc:   "Members ordered by score, a decimal with 6 places. A member has at most 64 KiB.",
		Zero:  func() sortedState { return sortedState{paged.New(scoresForm.Order), paged.New(ranksForm.Order)} },
		Empty: func(s sortedState) bool { return s.scores.Len() == 0 }, Decode: decodeSorted,
		Encode: func(s sortedState) []byte { return encodeElements(scoresForm, s.scores) },
		Size:   func(s sortedState) int { return encodedSize(s.scores) },
		Pages:  sortedPages(),
		Kinds: []KindSpec{{"add", true}, {"rescore", true}, {"increment", true}, {"shift", true}, {"remove", true},
			{"score", false}, {"absent", false}, {"len", false}, {"order", false}},
		Commute: sortedCommute(), Methods: sortedMethods(),
	}
}

// sortedCommute is the table of SortedSet.
func sortedCommute() []Commutes {
	return commuteTable(sortedAdds, [][]When{
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

// sortedMethods declares the methods. Their order is their number and never changes; new ones are
// added at the end.
func sortedMethods() []MethodSpec[sortedState] {
	member := Param{Name: "member", Kind: msg.DatumBytes}
	delta := []Param{member, {Name: "delta", Kind: msg.DatumFloat}}
	ranks := []Param{{Name: "first", Kind: msg.DatumInt}, {Name: "last", Kind: msg.DatumInt}}
	one := []Param{member}
	return []MethodSpec[sortedState]{
		{Name: "add", Doc: "Sets the scores of members.", Kind: sortedAdds, Part: partsEvery(2, 1),
			Params: []Param{{Name: "score", Kind: msg.DatumFloat, Many: true}, member}, Apply: setScores, Plan: planAddSorted,
			Combine: concatArgs(2)},
		{Name: "increment", Doc: "Adds to a member's score; a missing one is 0.", Params: delta, Kind: sortedAdds,
			Part: firstPart, Apply: incrementScored, Plan: planIncrementSorted, Combine: combineDecimals},
		{Name: "remove", Doc: "Removes members.", Kind: sortedRemoves, Part: partsEvery(1, 0),
			Params: []Param{{Name: "member", Kind: msg.DatumBytes, Many: true}}, Apply: removeMembers, Plan: planRemoveSorted,
			Combine: concatArgs(1)},
		{Name: "score", Doc: "Returns a member's score, or nil.", Params: one, Kind: sortedScore, Part: firstPart,
			Answers: true, Plan: planScore},
		{Name: "rank", Doc: "Returns a member's position from 0, lowest score first, or nil.", Params: one,
			Kind: sortedOrder, Part: firstPart, Answers: true, Plan: planRank(false)},
		{Name: "range-by-rank",
			Doc:    "Returns the members at positions first to last with their scores; negative positions count from the end.",
			Params: ranks, Kind: sortedOrder, Answer: membersByRank},
		{Name: "range-by-score", Doc: "Returns the members with scores from min to max, at most limit, with their scores.",
			Params: []Param{{Name: "min", Kind: msg.DatumFloat}, {Name: "max", Kind: msg.DatumFloat},
				{Name: "limit", Kind: msg.DatumInt, Optional: true}},
			Kind: sortedOrder, Answer: membersByScore},
		{Name: "len", Doc: "Returns the number of members.", Kind: sortedSize,
			Answer: func(s sortedState, _ Args) ([]msg.Datum, error) { return []msg.Datum{Int(int64(s.scores.Len()))}, nil }},
		{Name: "increment-get", Doc: "Adds to a member's score and returns the sum.", Params: delta, Kind: sortedAdds,
			Part: firstPart, Apply: incrementScored, Answers: true, Plan: planIncrementGetSorted, Combine: combineDecimals},
		{Name: "rev-rank", Doc: "Returns a member's position from 0, highest score first, or nil.", Params: one,
			Kind: sortedOrder, Part: firstPart, Answers: true, Plan: planRank(true)},
		{Name: "range-by-rev-rank", Doc: "As range-by-rank, highest score first.",
			Params: ranks, Kind: sortedOrder, Answer: membersByRankDown},
	}
}

// put sets the score of a member.
//
// The index by score needs the old score: it finds a member by score and name.
func (s sortedState) put(member string, score int64) sortedState {
	if old, exists := s.scores.Get(member); exists {
		if old == score {
			return s
		}
		s.ranks = s.ranks.Drop(scored{old, member}, struct{}{})
	}
	return sortedState{s.scores.Put(member, score), s.ranks.Insert(scored{score, member}, struct{}{})}
}

// decodeSorted is the inverse of encodeElements. It builds the index by score by sorting, since only
// the index by member is stored.
func decodeSorted(payload []byte) (s sortedState, err error) {
	s.scores, err = decodeElements(scoresForm, payload, 2)
	if err != nil {
		return sortedState{}, err
	}
	all := make([]scored, 0, s.scores.Len())
	for m, score := range s.scores.All() {
		all = append(all, scored{score, m})
	}
	slices.SortFunc(all, compareScored)
	ranks, err := tree.Build(ranksForm.Order, len(all), func() (k scored, none struct{}, err error) {
		k, all = all[0], all[1:]
		return k, none, nil
	})
	s.ranks = paged.Whole(ranks)
	return s, err
}
