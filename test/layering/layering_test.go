package layering_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/layering"
)

var load = sync.OnceValues(func() (*layering.Tree, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	return layering.Load(root)
})

// module returns the tree that this test is in.
func module(t testing.TB) *layering.Tree {
	tree, err := load()
	require.NoError(t, err)
	require.Greater(t, len(tree.Packages), 20)
	return tree
}

func none(t testing.TB, bad []string) {
	t.Helper()
	if len(bad) > 0 {
		t.Error("\n" + strings.Join(bad, "\n"))
	}
}

func TestImportsPointDown(t *testing.T) { none(t, module(t).Imports(layering.Table)) }

func TestPurePackagesArePure(t *testing.T) { none(t, module(t).Purity(layering.Table)) }

// TestOnlyWhatCannotRaceEscapesTheRaceDetector: what `make test` runs without it has nothing
// to race with.
func TestOnlyWhatCannotRaceEscapesTheRaceDetector(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	none(t, module(t).NoRace(string(raw)))
	planted := strings.NewReplacer("NO_RACE := ", "NO_RACE := gateway nothing ", " LongHistoriesAreAccepted", " Nothing",
		"./pkg/server\nNO_RACE_NAMES", "\nNO_RACE_NAMES").Replace(string(raw))
	require.Equal(t, []string{
		"pkg/gateway may have races, and NO_RACE of the Makefile keeps it from the race detector",
		"pkg/nothing is in NO_RACE of the Makefile, and there is no such package",
		"pkg/server/edge_test.go has TestAllocations.* of NO_RACE_TESTS, and its package is not in NO_RACE_TEST_PKGS",
		"TestNothing is in NO_RACE_TESTS of the Makefile, and there is no such test",
	}, module(t).NoRace(planted))
}

func TestFilesAreShort(t *testing.T) { none(t, module(t).Files()) }

func TestPackagesAreNamedAfterWhatTheyKnow(t *testing.T) { none(t, module(t).Names()) }

// TestProductMentionsNoMutant, except in files rules.go.
func TestProductMentionsNoMutant(t *testing.T) {
	none(t, module(t).Mutants())
}

func TestPackagesExplainThemselves(t *testing.T) { none(t, module(t).Comments()) }

func TestDependenciesHaveReasons(t *testing.T) {
	bad, err := module(t).Dependencies()
	require.NoError(t, err)
	none(t, bad)
}

// TestTableIsWhole: every layer that is named exists and stands further down,
// so that no two import each other.
func TestTableIsWhole(t *testing.T) {
	below := map[string]bool{}
	for _, l := range layering.Table {
		require.NotEmpty(t, l.Packages, l.Name)
		require.False(t, below[l.Name], "%s is there twice", l.Name)
		for _, i := range l.Imports {
			require.True(t, below[i] || i == l.Name, "%s imports %s, which is not below it", l.Name, i)
		}
		below[l.Name] = true
	}
}

// TestTypesAndCirclesAreSmall: a reader can hold a type, or what calls each other, in mind.
func TestTypesAndCirclesAreSmall(t *testing.T) {
	tree := module(t)
	none(t, append(tree.Types(), tree.Circles()...))
}

// TestConditionsAssignNothing to variables that outlive them.
func TestConditionsAssignNothing(t *testing.T) { none(t, module(t).Inits()) }

// TestTheCommitPathIsStraight: no function of it reaches itself.
func TestTheCommitPathIsStraight(t *testing.T) { none(t, module(t).Recursions()) }
