package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go":          "package a\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc FuzzTwo(fz *testing.F) {\n}\n",
		"a/a.go":               "package a\n\nfunc FuzzNoTest(f *testing.F) {}\n",
		"a/b/c_test.go":        "package b\n\nfunc FuzzDeep(f *testing.F) {}\n\nfunc TestFuzzily(t *testing.T) {}\n",
		"a/testdata/d_test.go": "package d\n\nfunc FuzzData(f *testing.F) {}\n",
		"other/go.mod":         "module other\n",
		"other/e_test.go":      "package e\n\nfunc FuzzOther(f *testing.F) {}\n",
	} {
		p := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
	}
	got, err := find([]string{root})
	require.NoError(t, err)
	a := filepath.Join(root, "a")
	require.Equal(t, []target{{a, "FuzzOne"}, {a, "FuzzTwo"}, {filepath.Join(a, "b"), "FuzzDeep"}}, got)
	_, err = find([]string{filepath.Join(root, "absent")})
	require.Error(t, err)
}

func TestCutOff(t *testing.T) {
	const race = "fuzz: elapsed: 2s, execs: 9 (0/sec)\n--- FAIL: FuzzX (2.03s)\n    context deadline exceeded\nFAIL\n" +
		"exit status 1\n"
	require.True(t, cutOff(race))
	require.False(t, cutOff("PASS\nok  \tpkg\t1.0s\n"))
	require.False(t, cutOff("--- FAIL: FuzzX (0.1s)\n    x_test.go:9: context deadline exceeded\n    Failing input "+
		"written to testdata/fuzz/FuzzX/1\nFAIL\n"))
	require.False(t, cutOff("panic: x\n"+race))
}
