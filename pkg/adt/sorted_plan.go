package adt

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// setScores applies add.
//
// Pairs are applied in order, so the last score of a member counts.
func setScores(s sortedState, a Args) (sortedState, error) {
	for i := 0; i+1 < len(a); i += 2 {
		score, err := toDecimal(a[i].Float)
		if err != nil {
			return s, err
		}
		s = s.put(string(a[i+1].Bytes), score)
	}
	return s, nil
}

// planAddSorted plans add with the weakest lock for the current members: score if nothing changes,
// rescore if all members exist, else add.
//
//	{a: 1}    add 1 a    score(a): nothing changes
//	          add 2 a    rescore(a): commutes with len
//	          add 2 b    add(b): conflicts with len
func planAddSorted(v *View[sortedState], a Args) Plan {
	if err := checkMemberSizes(a, 2, 1, "member"); err != nil {
		return failPlan(err)
	}
	need := sortedScore // if nothing changes
	for i := 0; i+1 < len(a); i += 2 {
		score, err := toDecimal(a[i].Float)
		if err != nil {
			return failPlan(err)
		}
		switch old, exists := v.State.scores.Get(string(a[i+1].Bytes)); {
		case !exists:
			need = sortedAdds
		case old != score && need == sortedScore:
			need = sortedRescores
		}
	}
	if need == sortedScore {
		return noChange(need)
	}
	return As(need, sortedAddMethod, a)
}

// removeMembers applies remove to both indexes.
//
// A member that another transaction has removed meanwhile is skipped: two removals of one member commute.
func removeMembers(s sortedState, a Args) (sortedState, error) {
	for _, d := range a {
		m := string(d.Bytes)
		if score, exists := s.scores.Get(m); exists {
			s = sortedState{s.scores.Delete(m), s.ranks.Drop(scored{score, m}, struct{}{})}
		}
	}
	return s, nil
}

// planRemoveSorted plans remove. Only existing members are removed; if there is none, the call
// reads that.
func planRemoveSorted(v *View[sortedState], a Args) Plan {
	var existing Args
	for _, d := range a {
		if v.State.scores.Has(string(d.Bytes)) {
			existing = append(existing, d)
		}
	}
	if len(existing) == 0 {
		return noChange(sortedAbsent)
	}
	return As(sortedRemoves, sortedRemoveMethod, existing)
}

// incrementedScore returns the score of a member after an increment.
func incrementedScore(s sortedState, a Args) (sum int64, exists bool, err error) {
	delta, err := toDecimal(a[1].Float)
	if err != nil {
		return 0, false, err
	}
	score, exists := s.scores.Get(string(a[0].Bytes))
	sum, ok := Sum(score, delta)
	if !ok {
		return 0, exists, Errorf(kv.KindOutOfRange, "the score is %v; adding %v would exceed 9.2e12", fromDecimal(score),
			a[1].Float)
	}
	return sum, exists, nil
}

// incrementScored applies increment and increment-get.
func incrementScored(s sortedState, a Args) (sortedState, error) {
	sum, _, err := incrementedScore(s, a)
	if err != nil {
		return s, err
	}
	return s.put(string(a[0].Bytes), sum), nil
}

// checkIncrementArgs returns an error if the arguments of an increment are invalid.
//
// What is checked here cannot fail when the change becomes visible: sizes and decimals depend on the arguments alone.
func checkIncrementArgs(a Args) error {
	if err := checkMemberSizes(a, 2, 0, "member"); err != nil {
		return err
	}
	_, err := toDecimal(a[1].Float)
	return err
}

// planIncrementSorted ensures that the score stays within 64 bits for every outcome of the
// undecided increments; compare planIncrement of a map.
//
//	member a, score 5, undecided: T1 +1       increment a 2: shift(a), commutes with T1
//	member new, undecided: T1 increment +1    increment new 2: increment(new), commutes with T1: both create it
//	sum may exceed 9.2e12 if T1 commits       rescore(a) or add(a): conflicts with T1's lock, so it waits
func planIncrementSorted(v *View[sortedState], a Args) Plan {
	if err := checkIncrementArgs(a); err != nil {
		return failPlan(err)
	}
	var others pendingRange
	others.addUndecided(v.Others, func(method uint32, theirs Args) (delta int64) {
		if (method == sortedIncrementMethod || method == sortedIncrementGetMethod) &&
			string(theirs[0].Bytes) == string(a[0].Bytes) {
			delta, _ = toDecimal(theirs[1].Float) // valid, since it was planned
		}
		return delta
	})
	sum, exists, err := incrementedScore(v.State, a)
	shared, alone := sortedIncrements, sortedAdds
	if exists {
		shared, alone = sortedShifts, sortedRescores
	}
	switch {
	// As for a map, the result depends on undecided increments: the call waits for them.
	case others.isUncertain(sum, err):
		return noChange(alone)
	case err != nil:
		return failPlan(err)
	}
	return As(shared, sortedIncrementMethod, a)
}

// planIncrementGetSorted plans increment-get. It returns the sum, so it conflicts with other
// increments of the member.
//
// The lock is that of a new score: rescore for a member that exists, add for a new one.
func planIncrementGetSorted(v *View[sortedState], a Args) Plan {
	if err := checkIncrementArgs(a); err != nil {
		return failPlan(err)
	}
	sum, exists, err := incrementedScore(v.State, a)
	switch {
	case err != nil:
		return failPlan(err)
	case exists:
		return As(sortedRescores, sortedIncrementGetMethod, a, Float(fromDecimal(sum)))
	}
	return As(sortedAdds, sortedIncrementGetMethod, a, Float(fromDecimal(sum)))
}

// combineDecimals combines two increments of one member under the conditions of combineIncrements,
// if a double can represent the sum.
//
//	+0.1, +0.2      +0.3: exact, since decimals are added as millionths
//	+1, -1          not combined: the first alone may exceed the limit beside other transactions' increments
//	9e9 + 0.000001  not combined if no double is the sum
func combineDecimals(first, then Args) (Args, bool) {
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

// planScore plans score. An absent member needs only the weaker lock for absence.
func planScore(v *View[sortedState], a Args) Plan {
	score, exists := v.State.scores.Get(string(a[0].Bytes))
	if !exists {
		return noChange(sortedAbsent, Nil())
	}
	return noChange(sortedScore, Float(fromDecimal(score)))
}

// planRank reads the order of all members, or only that the member is absent.
func planRank(fromTheEnd bool) func(*View[sortedState], Args) Plan {
	return func(v *View[sortedState], a Args) Plan {
		m := string(a[0].Bytes)
		score, exists := v.State.scores.Get(m)
		if !exists {
			return noChange(sortedAbsent, Nil())
		}
		rank, _ := v.State.ranks.Rank(scored{score, m})
		if fromTheEnd {
			rank = v.State.ranks.Len() - 1 - rank
		}
		return noChange(sortedOrder, Int(int64(rank)))
	}
}

// appendScored appends a member and its score to an answer.
func appendScored(out []msg.Datum, m scored) []msg.Datum {
	return append(out, Bytes([]byte(m.member)), Float(fromDecimal(m.score)))
}

// membersByRank answers range-by-rank.
//
// The lock "order" conflicts with every change: any of them may move a member into the range or out of it.
func membersByRank(s sortedState, a Args) ([]msg.Datum, error) {
	i, j := positionRange(a[0].Int, a[1].Int, s.ranks.Len())
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

// membersByRankDown answers range-by-rev-rank.
func membersByRankDown(s sortedState, a Args) ([]msg.Datum, error) {
	i, j := positionRange(a[0].Int, a[1].Int, s.ranks.Len())
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

// bound returns the decimal of a bound of a range of scores. A bound beyond all scores is the limit
// of int64, so that a range can include all.
//
// Clients write -1e300 and 1e300 for "all", as Redis' -inf and +inf. Toward the inside, a bound with more than 6 places
// is an error rather than rounded: rounding could include a member or leave one out.
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

// membersByScore answers range-by-score. Bounds are inclusive.
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
