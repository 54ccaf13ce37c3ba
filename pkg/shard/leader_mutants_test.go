//go:build mutants

package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

func TestMutantRegistersPastTheLeaderLease(t *testing.T) {
	outlives, _, _ := registrationOutlivesLeader(newLeaders(t, mutant.Of(mutant.RegisteredPastLeaderLease)))
	require.True(t, outlives)
}

func TestMutantAcknowledgesWhatIsNotApplied(t *testing.T) {
	f := newLeaders(t, mutant.Of(mutant.UnappliedAcknowledged))
	require.Equal(t, 1, f.decide(nthTxn(1)))
}

func TestMutantOfTransferHasNewIDsLookedUp(t *testing.T) {
	require.NotZero(t, lookupsOfNewLeader(newLeaders(t, mutant.Of(mutant.ReserveKept)), true))
}

func TestMutantGrantsLocksBeforeATransfer(t *testing.T) {
	require.True(t, holdersBeforeTransfer(newLeaders(t, mutant.Of(mutant.LocksGrantedBeforeTransfer))))
}

func TestMutantRegistersReadersBeforeATransfer(t *testing.T) {
	require.True(t, readersBeforeTransfer(newLeaders(t, mutant.Of(mutant.ReadersRegisteredBeforeTransfer))))
}

func TestMutantCollectsStatesOfEarlierLeaders(t *testing.T) {
	f := newStates(t, mutant.Of(mutant.EarlierStatesCollected))
	require.NotEqual(t, "1", f.afterChange(50*time.Second))
}

func TestMutantServesStatesThatWereLost(t *testing.T) {
	f := newStates(t, mutant.Of(mutant.LostStatesServed))
	f.change(0)
	f.write("new")
	require.Equal(t, "new", f.readState(f.machine().CSN()), "of another leader than the one that has fixed the state")
}

func TestMutantAnswersRoundsBeforeTheCommit(t *testing.T) {
	require.NotZero(t, newStates(t, mutant.Of(mutant.RoundsAnsweredUncommitted)).urgent)
}

func TestMutantRespondsAboutALaterIncarnation(t *testing.T) {
	require.NotEmpty(t, voteOfLater(newLeaders(t, mutant.Of(mutant.LaterIncarnationIgnored))).Send)
}

func TestMutantOfClocksNeverDeletesOutcomes(t *testing.T) {
	require.False(t, deletesOutcomes(newLeaders(t, mutant.Of(mutant.NodeClockForgotten))))
}
