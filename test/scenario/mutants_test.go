//go:build mutants

package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// expectedRead is the value that a transaction reads of a key.
type expectedRead struct{ txn, key, value string }

// TestMutantsShowAnomalies runs each schedule with the rule broken that prevents its anomaly. Then it ends as with the
// published algorithm: the values are wrong, and the checker reports it.
//
// Of schedule 6 only the hold can be broken. That one key is read new and then old cannot result from leaving out a
// rule: a shard has one newest version of a key, and no rule that would select another one. The anomaly that remains is
// that R is not ordered before the update that it holds.
func TestMutantsShowAnomalies(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rule  mutant.ID
		nodes int
		play  func(*Cluster)
		want  history.Anomaly
		saw   []expectedRead
	}{
		{"1, readers do not wait for sealed updates", mutant.SealedIgnored, 3, func(c *Cluster) { nodeByNode(c) },
			history.RealTimeInversion, []expectedRead{{"A", "y@1", "W"}, {"B", "x@0", Nothing}}},
		{"1, the same with one reader", mutant.SealedIgnored, 3, halfOfAnUpdate, history.ReadSkew,
			[]expectedRead{{"A", "x@0", Nothing}, {"A", "y@1", "W"}}},
		{"2, the last agent counts a held vote", mutant.HeldIgnored, 3, func(c *Cluster) { heldInOnePlace(c) },
			history.RealTimeInversion, []expectedRead{{"A", "y@1", "W"}, {"B", "x@0", Nothing}}},
		{"3, readers are not registered", mutant.NoRegistration, 3, func(c *Cluster) { secondKeyOnANode(c) },
			history.RealTimeInversion, []expectedRead{{"R", "a@0", Nothing}, {"R", "c@1", "U"}}},
		{"4, a participant seals although a reader is registered", mutant.ReadersIgnored, 4,
			func(c *Cluster) { oppositeOrders(c) }, history.LongFork,
			[]expectedRead{{"A", "a@0", Nothing}, {"A", "d@3", "X"}, {"B", "b@1", Nothing}, {"B", "c@2", "W"}}},
		{"5, the hot shard does not fix its CSN last", mutant.RegistrationsNotAwaited, 3, answeredAndHiddenFromScan,
			history.RealTimeInversion, []expectedRead{{"P", "h@2", Nothing}, {"P", "x@0", "V"}}},
		{"6, the last agent decides although a reader is registered", mutant.ReadersIgnoredByLast, 3,
			func(c *Cluster) { newThenOld(c) }, history.RealTimeInversion,
			[]expectedRead{{"A", "x@0", "W"}, {"B", "x@0", "W"}, {"R", "x@0", Nothing}, {"R", "f@1", "F"}}},
		{"7, read locks are released at the vote", mutant.ReadLocksReleasedAtVote, 3,
			func(c *Cluster) { waitNotInherited(c) }, history.RealTimeInversion,
			[]expectedRead{{"R", "x@1", Nothing}, {"W", "k@0", Nothing}, {"R", "z@2", "S"}}},
		{"a move does not wait for readers", mutant.MovesIgnoreReaders, 3, func(c *Cluster) { movedUnderAReader(c) },
			history.ReadSkew, []expectedRead{{"R", "x@0", Nothing}, {"R", "y@1", "W"}}},
		{"a blind write ignores the move tombstone", mutant.BlindWritesIgnoreMove, 3, lateBlindWrite, history.DirtyWrite,
			[]expectedRead{{"A", "x@0", "V"}, {"A", "y@1", "U"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := New(t, tc.nodes, mutant.Of(tc.rule))
			tc.play(c)
			for _, s := range tc.saw {
				require.Equal(t, s.value, c.Txn(s.txn).ValueOf(s.key), "%s of %s", s.key, s.txn)
			}
			v := c.Check()
			require.Equal(t, tc.want, v.Anomaly(), "%v", v)
		})
	}
}
