package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	cmd := command("man DIR", "Write manual pages", `
Write a manual page for each command, with the text of its --help, into DIR, which is created if it does not exist.`, `
  linchpin man /usr/local/share/man/man1
  linchpin man man && man -l man/linchpin-start.1`, 1, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		root := cmd.Root()
		root.InitDefaultCompletionCmd()
		// No date, so that the same program writes the same pages.
		root.DisableAutoGenTag = true
		header := &doc.GenManHeader{Title: "LINCHPIN", Section: "1", Source: "linchpin " + ReadBuild().Version,
			Manual: "linchpin"}
		if err := doc.GenManTree(root, header, args[0]); err != nil {
			return err
		}
		pages, err := filepath.Glob(filepath.Join(args[0], "linchpin*.1"))
		if err != nil {
			return err
		}
		return (&printer{out: cmd.OutOrStdout()}).printf("wrote %d pages to %s\n", len(pages), args[0])
	}
	return cmd
}
