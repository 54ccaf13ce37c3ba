package layering_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/layering"
)

// bounds are the sums of the tree when they were last lowered. A commit that raises one says why.
var bounds = layering.Sums{Product: 121260, Verification: 126186}

// TestTheTreeDoesNotGrow: nor do wide lines and old words.
func TestTheTreeDoesNotGrow(t *testing.T) {
	s := module(t).Sums()
	t.Logf("%+v", s)
	require.LessOrEqual(t, s.Product, bounds.Product, "lines of the product")
	require.LessOrEqual(t, s.Verification, bounds.Verification, "lines of tests, checkers and benches")
	require.LessOrEqual(t, s.Wide, bounds.Wide, "lines of more than 120 columns")
	require.LessOrEqual(t, s.OldWords, bounds.OldWords, "comments and names with an old word")
}

// TestPlantedLinesAreCounted on the side that they are on; strings in tests are no names.
func TestPlantedLinesAreCounted(t *testing.T) {
	clean := plant(t, nil).Sums()
	wide := "// " + strings.Repeat("x", 120) + "\n"
	for name, c := range map[string]struct {
		path, text string
		add        layering.Sums
	}{
		"product": {"pkg/kv/a.go", "package kv\n\nvar a int\n", layering.Sums{Product: 3}},
		"test":    {"pkg/kv/a_test.go", "package kv\n", layering.Sums{Verification: 1}},
		"checker": {"test/sim/a.go", "package sim\n", layering.Sums{Verification: 1}},
		"wide":    {"pkg/kv/a.go", "package kv\n\n" + wide, layering.Sums{Product: 3, Wide: 1}},
		"comment": {"pkg/kv/a.go", "package kv\n\n// whoever waits\n", layering.Sums{Product: 3, OldWords: 1}},
		"name": {"pkg/kv/a_test.go", "package kv\n\nvar coldRead = \"nobody\"\n",
			layering.Sums{Verification: 3, OldWords: 1}},
	} {
		got := plant(t, map[string]string{c.path: c.text}).Sums()
		require.Equal(t, c.add, layering.Sums{Product: got.Product - clean.Product,
			Verification: got.Verification - clean.Verification, Wide: got.Wide - clean.Wide,
			OldWords: got.OldWords - clean.OldWords}, name)
	}
}
