package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli"
)

// version is the line that "zetaload version" prints.
func version() string { return "zetaload" + strings.TrimPrefix(cli.ReadBuild().String(), "linchpin") }

func newVersion(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.out, version())
			return err
		},
	}
}
