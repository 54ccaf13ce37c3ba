package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// experiment is a command line for one that takes a second.
func experiment(more ...string) []string {
	return append([]string{"experiment", "hot-or-not", "--keys", "300", "--clients", "8", "--skews", "0.5,1.2", "--modes",
		"1", "--delay-net", "0s",
		"--duration", "100ms", "--warm", "0s", "--rounds", "1"}, more...)
}

func TestAnExperimentWritesATableAndFiles(t *testing.T) {
	p, dir := newProgram(t, nil), t.TempDir()
	args := experiment()
	for _, kind := range []string{"csv", "json", "svg", "html"} {
		args = append(args, "--"+kind, filepath.Join(dir, "out."+kind))
	}
	out := p.ok(args...)
	require.Regexp(t, `skew +mode +tx/s`, out)
	require.Regexp(t, `1\.2 +1 +\d+ `, out)
	require.Contains(t, out, "\nrepeat: zetaload experiment hot-or-not --skews 0.5,1.2 --modes 1 --keys 300 --load 300 ")
	require.Contains(t, p.err.String(), "round 1 of 1, skew 1.2, 1 hot key: ")
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, 4, "nothing else is left")
	for kind, want := range map[string]string{"csv": "skew,mode,rounds,", "json": `"zetaload.hot-or-not/1"`,
		"svg": "</svg>", "html": "</html>"} {
		text, err := os.ReadFile(filepath.Join(dir, "out."+kind))
		require.NoError(t, err)
		require.Contains(t, string(text), want)
	}
	repeat := out[strings.LastIndex(out, "repeat: zetaload ")+len("repeat: zetaload "):]
	p.ok(strings.Fields(repeat)...)
}

func TestAnExperimentSaysWhatIsWrongWithItsFlags(t *testing.T) {
	p, dir := newProgram(t, nil), t.TempDir()
	for args, want := range map[string]string{
		"--modes warm":            `--modes: unknown mode "warm"; use 2pc, auto, or a number of hot keys`,
		"--modes 301":             "mode 301: there are only 300 keys",
		"--skews -1":              "skew -1; it must be finite and at least 0",
		"--skews x":               "--skews",
		"--rounds 0":              "0 rounds; the range is 1 to 100",
		"--duration 0s":           "a duration of 0s; it must be above 0",
		"--load 301":              "301 keys are to be loaded, but there are 300",
		"--csv " + dir:            "--csv: " + dir + " is a directory",
		"--html " + dir + "/no/x": "--html: ",
		"--svg " + dir + "/a --json " + dir + "/no/x": "--json: ",
		"more": "unknown command",
	} {
		require.Equal(t, exitUsage, p.run(experiment(strings.Fields(args)...)...), args)
		require.Contains(t, p.err.String(), want, args)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
