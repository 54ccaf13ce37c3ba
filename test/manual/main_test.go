package manual

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// buildLine is how the README has the programs built.
const buildLine = "go build -o bin/ ./cmd/..."

// programs is the directory that they are built into, once for all tests.
var programs struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		if err := os.RemoveAll(programs.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// built gives the directory of the programs, which are built with the tutorial's line,
// into a place of the tests' own.
func built(t *testing.T) string {
	t.Helper()
	programs.Do(func() {
		programs.dir, programs.err = os.MkdirTemp("", "linchpin-manual-")
		if programs.err != nil {
			return
		}
		args := strings.Fields(strings.ReplaceAll(buildLine, "bin/", programs.dir+"/"))
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false '-ldflags=-s -w'")
		if out, err := cmd.CombinedOutput(); err != nil {
			programs.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, programs.err)
	return programs.dir
}

// read gives the blocks of a page.
func read(t *testing.T, page string) []Block {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	require.NoError(t, err)
	blocks, err := Blocks(string(raw))
	require.NoError(t, err, page)
	require.NotEmpty(t, blocks, page)
	return blocks
}

// TestPages pastes what stands on the manual's pages into a fresh shell, each into one of
// its own, and runs the programs in Go at their places.
func TestPages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "docs", "manual", "*.md"))
	require.NoError(t, err)
	ran := 0
	for _, f := range files {
		page := "docs/manual/" + filepath.Base(f)
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		blocks, err := Blocks(string(raw))
		require.NoError(t, err, f)
		if len(blocks) == 0 {
			continue
		}
		ran++
		t.Run(filepath.Base(f), func(t *testing.T) {
			s := StartShell(t, built(t), FreePorts(t))
			for _, b := range blocks {
				if b.Go != "" {
					s.RunGo(t, page, b)
				}
				for _, c := range b.Commands {
					s.Run(t, page, c)
				}
			}
			s.Ended(t)
		})
	}
	require.GreaterOrEqual(t, ran, 6)
}
