package debian

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program writes a shell script.
func program(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestServicesAreRefusedWhereThereIsNoPolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy-rc.d")
	restore, err := refuseServices(path)
	require.NoError(t, err)
	require.True(t, refuses(path))
	require.Equal(t, []string{"policy-rc.d"}, names(t, filepath.Dir(path)))
	require.NoError(t, restore())
	require.Empty(t, names(t, filepath.Dir(path)))
}

func TestAPolicyThatAllowsServicesComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy-rc.d")
	program(t, path, "exit 0")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	restore, err := refuseServices(path)
	require.NoError(t, err)
	require.True(t, refuses(path))
	require.NoError(t, restore())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	require.Equal(t, []string{"policy-rc.d"}, names(t, filepath.Dir(path)))
}

func TestAPolicyThatRefusesIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy-rc.d")
	program(t, path, "exit 101 # mine")
	restore, err := refuseServices(path)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "mine")
	require.NoError(t, restore())
	require.Equal(t, []string{"policy-rc.d"}, names(t, filepath.Dir(path)))
}

func TestNoServicesCanBeRefusedWhereNothingCanBeWritten(t *testing.T) {
	_, err := refuseServices(filepath.Join(t.TempDir(), "gone", "policy-rc.d"))
	require.Error(t, err)
}

func TestTheHighestVersionIsFoundBeforePath(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"9.6", "15", "17"} {
		program(t, filepath.Join(dir, v, "bin", "sh"), "")
	}
	p := Program{Name: "sh", Dirs: []string{filepath.Join(dir, "*", "bin")}}
	path, ok := p.Find()
	require.True(t, ok)
	require.Equal(t, filepath.Join(dir, "17", "bin", "sh"), path)

	path, ok = Program{Name: "sh", Dirs: []string{filepath.Join(dir, "none", "bin")}}.Find()
	require.True(t, ok)
	require.False(t, strings.HasPrefix(path, dir))
	_, ok = Program{Name: "no-such-program-anywhere"}.Find()
	require.False(t, ok)
}

func TestUnavailablePackageDoesNotPreventOthers(t *testing.T) {
	var calls []string
	known := false
	err := installAll([]string{"gone", "late", "there"}, func(args ...string) error {
		what := args[len(args)-1]
		calls = append(calls, what)
		known = known || what == "update"
		if what == "gone" || what == "late" && !known {
			return errors.New("no package " + what)
		}
		return nil
	})
	require.EqualError(t, err, "no package gone")
	require.Equal(t, []string{"gone", "update", "gone", "late", "there"}, calls)

	calls = nil
	require.NoError(t, installAll([]string{"there", "late"}, func(args ...string) error {
		calls = append(calls, args[len(args)-1])
		if len(calls) == 2 {
			return errors.New("no package late")
		}
		return nil
	}))
	require.Equal(t, []string{"there", "late", "update", "late"}, calls)
}
