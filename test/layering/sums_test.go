package layering_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/layering"
)

// bounds are the sums of the tree when they were last lowered. A commit that raises one says why.
var bounds = layering.Sums{Product: 121260, Verification: 126137}

// TestTheTreeDoesNotGrow: nor do wide lines and old words.
func TestTheTreeDoesNotGrow(t *testing.T) {
	s := module(t).Sums()
	t.Logf("%+v", s)
	require.Greater(t, min(s.Product, s.Verification), 100000, "they are counted")
	require.LessOrEqual(t, s.Product, bounds.Product, "lines of the product")
	require.LessOrEqual(t, s.Verification, bounds.Verification, "lines of tests, checkers and benches")
	require.LessOrEqual(t, s.Wide, bounds.Wide, "lines of more than 120 columns")
	require.LessOrEqual(t, s.OldWords, bounds.OldWords, "comments and names with an old word")
}
