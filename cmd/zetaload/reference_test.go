package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// commands are a command and all below it.
func commands(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		all = append(all, commands(sub)...)
	}
	return append(all, c)
}

func TestPageIsGeneratedFromTheHelp(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "zetaload.md"))
	require.NoError(t, err)
	want := reference(newRoot(environment{}))
	require.Equal(t, want, string(page), "docs/zetaload.md is stale; run: make generate")
	require.Equal(t, want, reference(newRoot(environment{})), "the same page each time")

	file := filepath.Join(t.TempDir(), "page.md")
	newProgram(t, nil).ok("reference", file)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(written))
}

func TestPageIsShort(t *testing.T) {
	require.LessOrEqual(t, len(strings.Fields(prose)), 600, "words that no help has")
	require.LessOrEqual(t, len(strings.Fields(reference(newRoot(environment{})))), 1800, "words in all")
}

func TestHelpShowsNoEmptyDefault(t *testing.T) {
	for _, c := range commands(newRoot(environment{})) {
		require.NotContains(t, c.UsageString(), "(default )", c.CommandPath())
	}
}
