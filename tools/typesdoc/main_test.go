package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
)

func TestPageHasEveryMethodAndLock(t *testing.T) {
	text, err := write(adt.All())
	require.NoError(t, err)
	for _, declared := range adt.All() {
		_, section, found := strings.Cut(text, "\n## "+declared.Name+"\n")
		require.True(t, found, declared.Name)
		section, _, _ = strings.Cut(section, "\n## ")
		for _, m := range declared.Methods {
			require.Contains(t, section, "| `"+m.Usage()+"` |")
			require.NotEmpty(t, m.Doc, "%s of a %s", m.Name, declared.Name)
		}
		for _, k := range declared.Kinds {
			require.Contains(t, section, "\n"+k.Name, "lock of a %s", declared.Name)
		}
	}
	require.Contains(t, text, "\nsubtract*  xx..x..x\n", "the table of a bounded counter")
}

func TestStalePageFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "types.md")
	some := adt.All()[:3]
	require.Error(t, run(path, some, true), "there is none")
	require.NoError(t, run(path, some, false))
	require.NoError(t, run(path, some, true))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(text, 'x'), 0o644))
	require.ErrorContains(t, run(path, some, true), "stale; run: make generate")
}
