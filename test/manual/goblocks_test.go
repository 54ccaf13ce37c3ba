package manual

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/docs"
)

// ownTypes is the page whose program is a server: its lines say how it is built.
const ownTypes = "docs/own-types.md"

// TestGoOnPagesRuns: each program and each fragment on a page compiles, and does what it is
// there for. Those of the manual are run by TestPages.
func TestGoOnPagesRuns(t *testing.T) {
	t.Parallel()
	pages, err := docs.Load(root)
	require.NoError(t, err)
	ran := map[string]int{}
	for _, p := range pages {
		blocks, err := Blocks(p.Text)
		require.NoError(t, err, p.Path)
		var programs []Block
		for _, b := range blocks {
			if b.Go != "" {
				programs = append(programs, b)
			}
		}
		if len(programs) == 0 || strings.HasPrefix(p.Path, "docs/manual/") || p.Path == ownTypes {
			continue
		}
		ran[p.Path] = len(programs)
		t.Run(p.Path, func(t *testing.T) {
			s := StartShell(t, built(t), FreePorts(t))
			out, code := s.Do(t, `linchpin start --store d1 --listen :7070 > log1 2>&1 & n1=$!
linchpin start --store d2 --listen :7001 > log2 2>&1 & n2=$!
linchpin health --addr 127.0.0.1:7070 --wait 30s && linchpin health --addr 127.0.0.1:7001 --wait 30s`)
			require.Zero(t, code, out)
			for _, b := range programs {
				s.RunGo(t, p.Path, b)
			}
			out, code = s.Do(t, "kill $n1 $n2; wait $n1 && wait $n2")
			require.Zero(t, code, out)
		})
	}
	require.Equal(t, 1, ran["README.md"])
}

// TestATypeOfOnesOwnIsBuilt: the lines of the page about own types, in a directory with
// the program that it shows.
func TestATypeOfOnesOwnIsBuilt(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	s := StartShell(t, t.TempDir(), FreePorts(t))
	// What is built is checked against the checkout's sums. The rest, which go mod tidy looks at for
	// versions only, is not: the server that has their sums is not always there.
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "go.sum"), sums, 0o644))
	_, code := s.Do(t, "export GOSUMDB=off")
	require.Zero(t, code)
	programs, commands := 0, 0
	for _, b := range read(t, ownTypes) {
		if b.Go != "" {
			programs++
			require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "main.go"), []byte(b.Go), 0o644))
		}
		for _, c := range b.Commands {
			commands++
			c.Text = strings.ReplaceAll(c.Text, "PATH_OF_THE_CHECKOUT", checkout)
			s.Run(t, ownTypes, c)
		}
	}
	require.Equal(t, 1, programs)
	require.Positive(t, commands)
}
