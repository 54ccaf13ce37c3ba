package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli/identity"
)

// commands are all that can be run, with their flags.
func commands(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		all = append(all, commands(sub)...)
	}
	return append(all, c)
}

func TestTheManualTellsEveryFlag(t *testing.T) {
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "zetaload.md"))
	require.NoError(t, err)
	told := strings.FieldsFunc(string(manual), func(r rune) bool { return !strings.ContainsRune("-abcdefghijklmnopqrstuvwxyz", r) })
	n := 0
	for _, c := range commands(newRoot(environment{})) {
		c.Flags().VisitAll(func(flag *pflag.Flag) {
			if slices.Contains(identity.Names, flag.Name) {
				return // docs/security.md has them
			}
			n++
			require.Contains(t, told, "--"+flag.Name, c.CommandPath())
		})
	}
	require.Greater(t, n, 100)
}

func TestHelpTellsNoEmptyDefault(t *testing.T) {
	for _, c := range commands(newRoot(environment{})) {
		require.NotContains(t, c.UsageString(), "(default )", c.CommandPath())
	}
}
