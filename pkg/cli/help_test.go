package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestHelpFitsTheTerminal: no line is longer, whatever the help texts' own lines are, and no word is lost.
func TestHelpFitsTheTerminal(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		text := filled(cmd.Long, usualWidth)
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), usualWidth, "%s: %s",
				cmd.CommandPath(), line)
		}
		require.Equal(t, strings.Fields(cmd.Long), strings.Fields(text), cmd.CommandPath())
	}
	visit(New(Streams{}))
	var out bytes.Buffer
	s := Streams{In: strings.NewReader(""), Out: &out, Err: &out, Size: func() (int, int) { return 24, 60 }}
	require.Zero(t, Main(context.Background(), New(s), []string{"get", "--help"}))
	text, _, _ := strings.Cut(out.String(), "Usage:")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(line), 61, text)
	}
}

func TestVersionsAreShort(t *testing.T) {
	for _, c := range [][3]string{
		{"v0.0.0-20261124045631-190440a9496d", "", "devel-190440a94"}, {"v0.2.1-0.20261124045631-190440a9496d+dirty", "",
			"devel-190440a94"},
		{"(devel)", "190440a9496dffff", "devel-190440a94"}, {"(devel)", "", "devel"}, {"", "", "devel"},
		{"v1.2.3", "190440a9496dffff", "v1.2.3"},
		{"v1.2.3-rc.1", "", "v1.2.3-rc.1"},
	} {
		require.Equal(t, c[2], shortVersion(c[0], c[1]))
	}
}
