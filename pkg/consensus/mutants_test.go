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
		"PreviousWindowForgotten":  mutant.PreviousWindowForgotten,
		"WindowEndsWithTermEntry":  mutant.WindowEndsWithTermEntry,
		"AcknowledgedBeforeDisk":   mutant.AcknowledgedBeforeDisk,
		"VotesForShorterLog":       mutant.VotesForShorterLog,
		"BeginsEarly":              mutant.BeginsEarly,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				if v := violation(seed, id); v != "" {
					t.Logf("seed %d: %s", seed, v)
					return
				}
			}
			require.Fail(t, "no schedule shows it")
		})
	}
}

// violation runs a schedule. A panic of the log is a violation too.
func violation(seed uint64, id mutant.ID) (v string) {
	defer func() {
		if p := recover(); p != nil {
			v = fmt.Sprint("panic: ", p)
		}
	}()
	return newSim(seed, mutant.Of(id)).run()
}
