package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/check"
)

// TestTypesAreWhatTheySay has the machine try to refute linchpin's own types.
// pkg/adt.TestPlantedErrorsAreRefuted shows that it would find errors in them.
func TestTypesAreWhatTheySay(t *testing.T) {
	for _, made := range adt.Types() {
		t.Run(made.Name, func(t *testing.T) {
			report, err := check.Examine(made, 7, 5000)
			require.NoError(t, err)
			for _, says := range report.Strict { // that a call changes nothing it may be too dear to find out
				require.Contains(t, says, "sometimes needs the lock")
			}
			require.Greater(t, report.Pairs, 500)
			require.Empty(t, report.Untried, "all that goes together was held beside each other")
		})
	}
}
