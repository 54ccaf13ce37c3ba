package adt

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func addScored(s sortedState, a Args) (sortedState, error) {
	for i := 0; i+1 < len(a); i += 2 {
		score, err := toDecimal(a[i].Float)
		if err != nil {
			return s, err
		}
		s = s.put(string(a[i+1].Bytes), score)
	}
	return s, nil
}

func planAddSorted(v *View[sortedState], a Args) Plan {
	if err := fitMembers(a, 2, 1, "member"); err != nil {
		return refused(err)
	}
	need := sortedScore // it holds all of that already
	for i := 0; i+1 < len(a); i += 2 {
		score, err := toDecimal(a[i].Float)
		if err != nil {
			return refused(err)
		}
		switch old, there := v.State.scores.Get(string(a[i+1].Bytes)); {
		case !there:
			need = sortedAdds
		case old != score && need == sortedScore:
			need = sortedRescores
		}
	}
	if need == sortedScore {
		return nothing(need)
	}
	return As(need, sortedAddMethod, a)
}

func removeScored(s sortedState, a Args) (sortedState, error) {
	for _, d := range a {
		m := string(d.Bytes)
		if score, there := s.scores.Get(m); there {
			s = sortedState{s.scores.Delete(m), s.ranks.Drop(scored{score, m}, struct{}{})}
		}
	}
	return s, nil
}

func planRemoveSorted(v *View[sortedState], a Args) Plan {
	var there Args
	for _, d := range a {
		if v.State.scores.Has(string(d.Bytes)) {
			there = append(there, d)
		}
	}
	if len(there) == 0 {
		return nothing(sortedAbsent)
	}
	return As(sortedRemoves, sortedRemoveMethod, there)
}

// incrementedScore is what a member's score is after an increment.
func incrementedScore(s sortedState, a Args) (sum int64, there bool, err error) {
	delta, err := toDecimal(a[1].Float)
	if err != nil {
		return 0, false, err
	}
	score, there := s.scores.Get(string(a[0].Bytes))
	sum, ok := Sum(score, delta)
	if !ok {
		return 0, there, Errorf(kv.KindOutOfRange, "the score is %v; adding %v would exceed 9.2e12", fromDecimal(score), a[1].Float)
	}
	return sum, there, nil
}

func incrementScored(s sortedState, a Args) (sortedState, error) {
	sum, _, err := incrementedScore(s, a)
	if err != nil {
		return s, err
	}
	return s.put(string(a[0].Bytes), sum), nil
}

// fitsSorted tells what is wrong with an increment's arguments.
func fitsSorted(a Args) error {
	if err := fitMembers(a, 2, 0, "member"); err != nil {
		return err
	}
	_, err := toDecimal(a[1].Float)
	return err
}

// planIncrementSorted makes sure that the score stays within 64 bits whichever of
// the undecided increments come to be, as a map does.
func planIncrementSorted(v *View[sortedState], a Args) Plan {
	if err := fitsSorted(a); err != nil {
		return refused(err)
	}
	var others reach
	others.undecided(v.Others, func(method uint32, theirs Args) (delta int64) {
		if (method == sortedIncrementMethod || method == sortedIncrementGetMethod) && string(theirs[0].Bytes) == string(a[0].Bytes) {
			delta, _ = toDecimal(theirs[1].Float) // planned, so that it is one
		}
		return delta
	})
	sum, there, err := incrementedScore(v.State, a)
	shared, alone := sortedIncrements, sortedAdds
	if there {
		shared, alone = sortedShifts, sortedRescores
	}
	switch {
	case others.decide(sum, err):
		return nothing(alone)
	case err != nil:
		return refused(err)
	}
	return As(shared, sortedIncrementMethod, a)
}

func planIncrementGetSorted(v *View[sortedState], a Args) Plan {
	if err := fitsSorted(a); err != nil {
		return refused(err)
	}
	sum, there, err := incrementedScore(v.State, a)
	switch {
	case err != nil:
		return refused(err)
	case there:
		return As(sortedRescores, sortedIncrementGetMethod, a, Float(fromDecimal(sum)))
	}
	return As(sortedAdds, sortedIncrementGetMethod, a, Float(fromDecimal(sum)))
}

// decimalsInARow makes one increment of two of the same member, under the
// conditions of incrementsInARow, if a double can say the sum.
func decimalsInARow(first, then Args) (Args, bool) {
	one, err := toDecimal(first[1].Float)
	two, err2 := toDecimal(then[1].Float)
	sum, ok := Sum(one, two)
	if err != nil || err2 != nil || !ok || string(first[0].Bytes) != string(then[0].Bytes) || one < 0 != (two < 0) {
		return nil, false
	}
	f := fromDecimal(sum)
	if back, err := toDecimal(f); err != nil || back != sum {
		return nil, false
	}
	return Args{first[0], Float(f)}, true
}

func planScore(v *View[sortedState], a Args) Plan {
	score, there := v.State.scores.Get(string(a[0].Bytes))
	if !there {
		return nothing(sortedAbsent, Nil())
	}
	return nothing(sortedScore, Float(fromDecimal(score)))
}

// planRank sees the order of all members, or only that there is no such one.
func planRank(fromTheEnd bool) func(*View[sortedState], Args) Plan {
	return func(v *View[sortedState], a Args) Plan {
		m := string(a[0].Bytes)
		score, there := v.State.scores.Get(m)
		if !there {
			return nothing(sortedAbsent, Nil())
		}
		rank, _ := v.State.ranks.Rank(scored{score, m})
		if fromTheEnd {
			rank = v.State.ranks.Len() - 1 - rank
		}
		return nothing(sortedOrder, Int(int64(rank)))
	}
}

func appendScored(out []msg.Datum, m scored) []msg.Datum {
	return append(out, Bytes([]byte(m.member)), Float(fromDecimal(m.score)))
}

func membersByRank(s sortedState, a Args) ([]msg.Datum, error) {
	i, j := span(a[0].Int, a[1].Int, s.ranks.Len())
	out := make([]msg.Datum, 0, 2*(j-i))
	for m := range s.ranks.From(i) {
		i++
		if i > j {
			break
		}
		out = appendScored(out, m)
	}
	return out, nil
}

func membersByRankDown(s sortedState, a Args) ([]msg.Datum, error) {
	i, j := span(a[0].Int, a[1].Int, s.ranks.Len())
	out := make([]msg.Datum, 0, 2*(j-i))
	for m := range s.ranks.Down(s.ranks.Len() - 1 - i) {
		i++
		if i > j {
			break
		}
		out = appendScored(out, m)
	}
	return out, nil
}

// bound is a decimal that scores are compared with. One beyond them is the last
// that there is, so that one can ask for all.
func bound(f float64) (int64, error) {
	n, err := toDecimal(f)
	switch {
	case err != nil && f > 9e12:
		return math.MaxInt64, nil
	case err != nil && f < -9e12:
		return math.MinInt64, nil
	}
	return n, err
}

func membersByScore(s sortedState, a Args) (out []msg.Datum, err error) {
	low, err := bound(a[0].Float)
	if err != nil {
		return nil, err
	}
	high, err := bound(a[1].Float)
	if err != nil {
		return nil, err
	}
	limit := int64(s.ranks.Len())
	if len(a) > 2 {
		limit = a[2].Int
		if limit < 1 {
			return nil, Errorf(kv.KindInvalid, "the limit is %d; the minimum is 1", limit)
		}
	}
	for m := range s.ranks.Ascend(scored{score: low}) {
		limit--
		if limit < 0 || m.score > high {
			break
		}
		out = appendScored(out, m)
	}
	return out, nil
}
