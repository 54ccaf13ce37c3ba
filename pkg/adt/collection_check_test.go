package adt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
)

// TestCollectionsCommuteAsDeclared has the machine try to refute them.
func TestCollectionsCommuteAsDeclared(t *testing.T) {
	for _, w := range collections {
		t.Run(adt.TypeName(w.id), func(t *testing.T) {
			report, err := adt.Examine(adt.Lookup(w.id), 1, 5_000)
			require.NoError(t, err)
			require.Positive(t, report.Pairs)
			for _, s := range report.Strict {
				t.Log(s)
			}
			t.Logf("%d pairs, %d waits", report.Pairs, report.Waits)
		})
	}
}
