package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/check"
)

// TestDeclarationsOfTypesAreNotRefuted checks linchpin's own types.
// pkg/adt.TestPlantedErrorsAreRefuted shows that errors in them would be found.
func TestDeclarationsOfTypesAreNotRefuted(t *testing.T) {
	for _, made := range adt.Types() {
		t.Run(made.Name, func(t *testing.T) {
			report, err := check.Examine(made, 7, 5000)
			require.NoError(t, err)
			for _, text := range report.Strict { // for some calls, finding out that nothing changes costs too much
				require.Contains(t, text, "sometimes needs the lock")
			}
			require.Greater(t, report.Pairs, 500)
			require.Empty(t, report.Untried, "all compatible locks were held together")
		})
	}
}
