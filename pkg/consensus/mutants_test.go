//go:build mutants

package consensus_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// seeds is how many schedules a broken rule may pass.
const seeds = 200

// TestMutants breaks each rule and requires that a schedule shows it.
func TestMutants(t *testing.T) {
	for name, id := range map[string]mutant.ID{
		"LeaderLeaseIgnored":       mutant.LeaderLeaseIgnored,
		"LeaderLeaseFromResponse":  mutant.LeaderLeaseFromResponse,
		"LeaderLeaseWithoutMargin": mutant.LeaderLeaseWithoutMargin,
		"VotesDespitePromise":      mutant.VotesDespitePromise,
		"VotesForLeadersNode":      mutant.VotesForLeadersNode,
		"PromiseLostAtRestart":     mutant.PromiseLostAtRestart,
		"OwnLeaseForgotten":        mutant.OwnLeaseForgotten,
		"ServesAfterTransfer":      mutant.ServesAfterTransfer,
		"TransferWithoutWindow":    mutant.TransferWithoutWindow,
		"WindowEndsWithTermEntry":  mutant.WindowEndsWithTermEntry,
		"AcknowledgedBeforeDisk":   mutant.AcknowledgedBeforeDisk,
		"VotesForShorterLog":       mutant.VotesForShorterLog,
		"BeginsEarly":              mutant.BeginsEarly,
	} {
		t.Run(name, func(t *testing.T) {
			mustShow(t, newSim, id)
		})
	}
}

// TestMemberMutants does it for the rules of groups that change.
func TestMemberMutants(t *testing.T) {
	for name, id := range map[string]mutant.ID{
		"LearnersDoNotVote":            mutant.LearnersDoNotVote,
		"JointByOldVoters":             mutant.JointByOldVoters,
		"NumberUsedAgain":              mutant.NumberUsedAgain,
		"MessagesOfAnotherDisk":        mutant.MessagesOfAnotherDisk,
		"GoneByReplicaBehind":          mutant.GoneByReplicaBehind,
		"DestroyedUnreleased":          mutant.DestroyedUnreleased,
		"SnapshotWithoutConfiguration": mutant.SnapshotWithoutConfiguration,
		"CutBeyondFlushed":             mutant.CutBeyondFlushed,
		"HeartbeatBeyondAcknowledged":  mutant.HeartbeatBeyondAcknowledged,
		"DamagedEntryAcknowledged":     mutant.DamagedEntryAcknowledged,
	} {
		t.Run(name, func(t *testing.T) { mustShow(t, newMembersSim, id) })
	}
}

// TestDirectedMutants requires that a directed history shows a broken rule.
func TestDirectedMutants(t *testing.T) {
	for name, id := range map[string]mutant.ID{
		"JointLeaseNeedsOldVoters":  mutant.JointLeaseByNewVoters,
		"JointLeaseNeedsNewVoters":  mutant.JointLeaseByOldVoters,
		"JointCommitNeedsOldVoters": mutant.JointByNewVoters,
		"LearnerGivesNoLease":       mutant.LearnersCount,
		"RemovedLeaderDoesNotCount": mutant.RemovedLeaderCounts,
		"EmptyReplicaDoesNotVote":   mutant.EmptyReplicaVotes,
		"LongestLeaseCounts":        mutant.OwnLeaseShrinks,
		"LearnerPromises":           mutant.LearnersPromiseNothing,
		"OneChangeAtATime":          mutant.ChangesUnreleased,
		"NoChangeAfterTransfer":     mutant.ConfigurationHidesWindow,
		"SnapshotHasWindow":         mutant.SnapshotWithoutWindow,
		"SnapshotWrittenFirst":      mutant.SnapshotAcknowledgedEarly,
		"LogBeginsAtRows":           mutant.LogKeptBehindRows,
		"CommitIsRecorded":          mutant.CommitNotRecorded,
		"TwoTransfersWithinALease":  mutant.PreviousWindowForgotten,
		"VotesReportCommitted":      mutant.VotesHideCommitted,
		"CommittedTermIsTheEntrys":  mutant.CommittedTermOfDisk,
		"ReadConfirmedAfterStep":    mutant.ConfirmedByEarlierHeartbeat,
		"ClockOffDoesNotLead":       mutant.ClockRateIgnored,
		"DamagedEntryIsNotApplied":  mutant.DamagedEntryApplied,
		"UnfitLeaderIsReplaced":     mutant.UnfitLeads,
		"UnfitFollowerIsDeclared":   mutant.UnfitNotDeclared,

		"DifferingReplicaIsUnfit":     mutant.DifferingNotDeclared,
		"ChecksOfOnePositionCompared": mutant.CheckAtAnyPosition,
		"UndecidedShardStops":         mutant.UndecidedGoesOn,
		"SlowLeaderTransfers":         mutant.SlowLeaderKept,
		"FullLeaderTransfers":         mutant.SlowLeaderKept,
		"SlowSuccessorIsSpared":       mutant.SlowSuccessorTaken,
		"SlowDisksTakeTurns":          mutant.SlowTransfersRepeated,
		"StuckDiskIsSilent":           mutant.StuckDiskIgnored,
	} {
		t.Run(name, func(t *testing.T) {
			v := directed[name](t, mutant.Of(id))
			require.NotEmpty(t, v, "the history does not show it")
			t.Log(v)
		})
	}
}

func mustShow(t *testing.T, sim func(uint64, mutant.Set) *sim, id mutant.ID) {
	for seed := range uint64(seeds) {
		if v := violation(sim, seed, id); v != "" {
			t.Logf("seed %d: %s", seed, v)
			return
		}
	}
	require.Fail(t, "no schedule shows it")
}

// violation runs a schedule. A panic of the log is a violation too.
func violation(sim func(uint64, mutant.Set) *sim, seed uint64, id mutant.ID) (v string) {
	defer func() {
		if p := recover(); p != nil {
			v = fmt.Sprint("panic: ", p)
		}
	}()
	return sim(seed, mutant.Of(id)).run()
}
