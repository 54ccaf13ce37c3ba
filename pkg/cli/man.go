package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: `Write a manual page for each command into DIR, which is made if it is not there. They
are what --help says, for "man linchpin-start".`,
		Example: `  linchpin man /usr/local/share/man/man1
  linchpin man man && man -l man/linchpin-start.1`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.InitDefaultCompletionCmd()
			// No date, so that the same program writes the same pages.
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "LINCHPIN", Section: "1", Source: "linchpin " + ReadBuild().Version, Manual: "linchpin"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			pages, err := filepath.Glob(filepath.Join(args[0], "linchpin*.1"))
			if err != nil {
				return err
			}
			return (&printer{out: cmd.OutOrStdout()}).printf("%d pages are in %s\n", len(pages), args[0])
		},
	}
}
