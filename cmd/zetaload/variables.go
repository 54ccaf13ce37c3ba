package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/cli/config"
	"github.com/linchpindb/linchpin/pkg/cli/identity"
)

// connectionFlags are those that zetaload has in common with linchpin. Each has an
// environment variable, such as LINCHPIN_ADDR for --addr.
var connectionFlags = append([]string{"addr"}, identity.Names...)

func isConnection(name string) bool { return slices.Contains(connectionFlags, name) }

// readVariables sets the connection flags that the command line has not set from the
// environment. They do not count as changed: a cluster in this process ignores them.
func readVariables(c *cobra.Command) error {
	var fs pflag.FlagSet
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if isConnection(f.Name) && !f.Changed {
			fs.AddFlag(f)
		}
	})
	_, err := config.Resolve(&fs, config.Options{})
	fs.VisitAll(func(f *pflag.Flag) { f.Changed = false })
	if err != nil {
		return &cli.UsageError{Text: err.Error(), Command: c.CommandPath()}
	}
	return nil
}
