//go:build mutants

package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// saw is what a transaction saw of a key.
type saw struct{ txn, key, value string }

// TestABrokenRuleShowsTheAnomaly plays each schedule with the rule broken that
// saves us there. Then it ends as it does with the published algorithm: the
// values are wrong, and the judge says so.
//
// Of schedule 6 only the hold can be broken. That one key is seen new and then
// old cannot be had by leaving out a rule: a shard has one newest version of a
// key and no rule by which to pick another. What is left to see there is R,
// overtaken by what it holds.
func TestABrokenRuleShowsTheAnomaly(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rule  mutant.ID
		nodes int
		play  func(*Cluster)
		want  history.Anomaly
		saw   []saw
	}{
		{"1, readers do not wait for what is sealed", mutant.SealedIgnored, 3, func(c *Cluster) { nodeByNode(c) }, history.RealTimeInversion,
			[]saw{{"A", "y@1", "W"}, {"B", "x@0", Nothing}}},
		{"1, the same with one reader", mutant.SealedIgnored, 3, halfOfIt, history.ReadSkew,
			[]saw{{"A", "x@0", Nothing}, {"A", "y@1", "W"}}},
		{"2, the last agent counts a vote that is held", mutant.HeldIgnored, 3, func(c *Cluster) { heldInOnePlace(c) }, history.RealTimeInversion,
			[]saw{{"A", "y@1", "W"}, {"B", "x@0", Nothing}}},
		{"3, readers are not registered", mutant.NoRegistration, 3, func(c *Cluster) { secondKeyOnANode(c) }, history.RealTimeInversion,
			[]saw{{"R", "a@0", Nothing}, {"R", "c@1", "U"}}},
		{"4, a participant seals although a reader is registered", mutant.ReadersIgnored, 4, func(c *Cluster) { oppositeOrders(c) }, history.LongFork,
			[]saw{{"A", "a@0", Nothing}, {"A", "d@3", "X"}, {"B", "b@1", Nothing}, {"B", "c@2", "W"}}},
		{"5, the hot shard does not fix its index last", mutant.NoticesNotAwaited, 3, answeredAndHiddenFromAPin, history.RealTimeInversion,
			[]saw{{"P", "h@2", Nothing}, {"P", "x@0", "V"}}},
		{"6, the last agent decides although a reader is registered", mutant.ReadersIgnoredByLast, 3, func(c *Cluster) { newThenOld(c) }, history.RealTimeInversion,
			[]saw{{"A", "x@0", "W"}, {"B", "x@0", "W"}, {"R", "x@0", Nothing}, {"R", "f@1", "F"}}},
		{"7, read locks are given up with the vote", mutant.ReadLocksReleasedAtVote, 3, func(c *Cluster) { waitNotInherited(c) }, history.RealTimeInversion,
			[]saw{{"R", "x@1", Nothing}, {"W", "k@0", Nothing}, {"R", "z@2", "S"}}},
		{"a move does not wait for readers", mutant.MovesIgnoreReaders, 3, func(c *Cluster) { movedUnderAReader(c) }, history.ReadSkew,
			[]saw{{"R", "x@0", Nothing}, {"R", "y@1", "W"}}},
		{"a blind write ignores the mark", mutant.BlindWritesIgnoreMark, 3, lateForTheKey, history.DirtyWrite,
			[]saw{{"A", "x@0", "V"}, {"A", "y@1", "U"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := New(t, tc.nodes, mutant.Of(tc.rule))
			tc.play(c)
			for _, s := range tc.saw {
				require.Equal(t, s.value, c.Txn(s.txn).Saw(s.key), "%s of %s", s.key, s.txn)
			}
			v := c.Judge()
			require.Equal(t, tc.want, v.Anomaly(), "%v", v)
		})
	}
}
