package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// spelling is by how many letters a name that is suggested differs.
const spelling = 2

// NoCommand is the error for a word that is no command of cmd. It names the
// commands that are spelt alike.
func NoCommand(cmd *cobra.Command, word string) error {
	text := fmt.Sprintf("there is no command %q", word)
	cmd.SuggestionsMinimumDistance = spelling
	if cmd.HasParent() {
		text += fmt.Sprintf(" of %q", cmd.CommandPath())
	}
	return &UsageError{Text: text + didYouMean(likeliest(word, cmd.SuggestionsFor(word)), ""), Command: cmd.CommandPath()}
}

// unknownCommand finds a word that is no command before the flags behind it are
// looked at: those would be called unknown in its stead.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	root.InitDefaultHelpCmd() // which cobra adds when it runs, as the next one
	root.InitDefaultCompletionCmd(args...)
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return nil // the command itself says what is wrong
	}
	if cmd.Args == nil || cmd.Args(cmd, rest[:1]) == nil {
		return nil // an argument
	}
	return NoCommand(cmd, rest[0])
}

// suggestFlag names the flags of cmd that are spelt like the one that it does not have.
func suggestFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	// Commands have what flags have not: a search for names that are spelt alike.
	names := &cobra.Command{SuggestionsMinimumDistance: spelling}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Hidden: f.Hidden, Run: func(*cobra.Command, []string) {}})
	})
	word := unknown.GetSpecifiedName()
	return didYouMean(likeliest(word, names.SuggestionsFor(word)), "--")
}

func didYouMean(near []string, before string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + before + strings.Join(near, " or "+before) + "?"
}

// likeliest are the suggestions that begin as what was typed does, if there are
// such.
func likeliest(typed string, near []string) []string {
	same := slices.DeleteFunc(slices.Clone(near), func(s string) bool { return s[0] != typed[0] })
	if len(same) > 0 {
		return same
	}
	return near
}
