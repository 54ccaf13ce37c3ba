package program

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
)

const page = "../../docs/cli.md"

// maxPageWords bounds docs/cli.md: "linchpin COMMAND --help" has the rest.
const maxPageWords = 2000

// TestThePageOfTheCommandLineIsFresh: docs/cli.md is what the commands' help makes of it, names every command, and is
// short.
func TestThePageOfTheCommandLineIsFresh(t *testing.T) {
	root := cli.New(cli.Streams{})
	s := cli.Streams{In: strings.NewReader("")}
	root.AddCommand(added(s)...)
	text := cli.Reference(root)
	old, err := os.ReadFile(page)
	require.NoError(t, err)
	require.True(t, text == string(old), "docs/cli.md is stale; run: make generate")
	require.LessOrEqual(t, len(strings.Fields(text)), maxPageWords)
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			require.Contains(t, text, "`"+cmd.Name(), cmd.Name())
		}
	}
}

func TestAStalePageIsNoticed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cli.md")
	reference := func(args ...string) (int, string) {
		var errs bytes.Buffer
		code := run(context.Background(), cli.Streams{In: strings.NewReader(""), Out: &errs, Err: &errs},
			append([]string{"reference", file}, args...))
		return code, errs.String()
	}
	code, _ := reference("--check")
	require.NotZero(t, code, "there is none")
	code, said := reference()
	require.Zero(t, code, said)
	code, said = reference("--check")
	require.Zero(t, code, said)
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	code, said = reference("--check")
	require.NotZero(t, code)
	require.Contains(t, said, "is stale; run: make generate")
}

// TestFlagsOfStartStandInGroups: each flag once, and none outside of the groups.
func TestFlagsOfStartStandInGroups(t *testing.T) {
	var out bytes.Buffer
	require.Zero(t, run(context.Background(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out},
		[]string{"start", "--help"}))
	help := out.String()
	for _, g := range startGroups {
		_, of, ok := strings.Cut(help, "\n"+g.title+":\n")
		require.True(t, ok, g.title)
		of, _, _ = strings.Cut(of, "\n\n")
		for _, name := range strings.Fields(g.flags) {
			require.Contains(t, of, "--"+name+" ", g.title)
		}
	}
	_, loose, _ := strings.Cut(help, "\nFlags:\n")
	loose, _, _ = strings.Cut(loose, "\n\n")
	require.Equal(t, "  -h, --help   help for start", loose)
}
