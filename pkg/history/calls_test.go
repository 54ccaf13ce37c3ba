package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// behind is a change that commutes with those of its run, except for some.
func behind(key string, n int, others ...int) MadeVersion {
	m := plus(key, n)
	for _, o := range others {
		m.Behind = append(m.Behind, ver(o))
	}
	return m
}

// position is a run of versions: after some, and before one, 0 for none.
func position(before int, after ...int) (p Position) {
	for _, a := range after {
		p.After = append(p.After, ver(a))
	}
	if before > 0 {
		p.Before = ver(before)
	}
	return p
}

func answered(t ExactTxn, key string, positions ...Position) ExactTxn {
	t.Results = append(t.Results, SeenResult{key, positions})
	return t
}

// TestExactCheckOfCalls covers what calls of data types must not return, and what they may.
func TestExactCheckOfCalls(t *testing.T) {
	for _, tc := range []struct {
		name string
		want Anomaly
		txns []ExactTxn
	}{
		{"changes that commute, in two orders", "", []ExactTxn{
			at(0, 9, plus("x", 1), plus("y", 2)), at(0, 9, plus("x", 2), plus("y", 1))}},
		{"changes that do not, in two orders", DirtyWrite, []ExactTxn{
			at(0, 9, plus("x", 1), behind("y", 2, 1)), at(0, 9, behind("x", 2, 1), plus("y", 1))}},
		{"changes that do not, in one order", "", []ExactTxn{
			at(0, 9, plus("x", 1), plus("y", 1)), at(0, 9, behind("x", 2, 1), behind("y", 2, 1))}},
		{"changes against the clock", RealTimeInversion, []ExactTxn{
			at(20, 29, plus("x", 1)), at(0, 9, behind("x", 2, 1))}},
		{"changes that commute, against the clock", "", []ExactTxn{at(20, 29, plus("x", 1)), at(0, 9, plus("x", 2))}},
		{"one of two changes that were made together is seen", ReadSkew, []ExactTxn{
			at(0, 9, plus("x", 1), plus("y", 1)),
			answered(answered(at(0, 9), "x", position(0, 1)), "y", position(1))}},
		{"an answer from before", RealTimeInversion, []ExactTxn{at(0, 9, plus("x", 1)),
			answered(at(20, 29), "x", position(1))}},
		{"an answer that does not depend on what was missed", "", []ExactTxn{
			at(0, 9, plus("x", 1)), answered(at(20, 29), "x", position(0))}},
		{"two readers of parts see two changes in different orders", LongFork, []ExactTxn{
			at(0, 9, plus("x", 1)), at(0, 9, plus("y", 1)),
			answered(answered(at(0, 9), "x", position(0, 1)), "y", position(1)),
			answered(answered(at(0, 9), "x", position(1)), "y", position(0, 1))}},
		{"an answer that was so before and after", "", []ExactTxn{
			at(0, 9, plus("x", 1)), at(20, 29, behind("x", 2, 1)), answered(at(40, 49), "x", position(1), position(0, 1, 2))}},
		{"an answer that was so before and after, given between", ImpossibleAbsence, []ExactTxn{
			at(0, 9, plus("x", 1)), at(40, 49, behind("x", 2, 1)), answered(at(20, 29), "x", position(1), position(0, 1, 2))}},
		{"an answer that was never so", GarbageRead, []ExactTxn{at(0, 9, plus("x", 1)), answered(at(0, 9), "x")}},
		{"what is behind a change that never became visible", "", []ExactTxn{
			at(0, 9, hidden(plus("x", 1)), Unknown), at(20, 29, behind("x", 2, 1))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := CheckExact(ExactHistory{Txns: tc.txns})
			require.Equal(t, tc.want, v.Anomaly(), "%v", v)
		})
	}
}
