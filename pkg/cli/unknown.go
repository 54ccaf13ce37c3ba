package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/cli/config"
)

// leastPrefix is the number of letters from which on a name that begins with the word is suggested.
const leastPrefix = 2

// nearEnough is the greatest distance of a suggestion from a word: one letter of a short word, two
// of a longer one.
func nearEnough(word string) int {
	if len(word) < 5 {
		return 1
	}
	return 2
}

// NoCommand is the error for a word that is no command of cmd. It names the commands that are spelt
// alike, or what linchpin has instead of a command of Redis.
func NoCommand(cmd *cobra.Command, word string) error {
	text := fmt.Sprintf("there is no command %q", word)
	if cmd.HasParent() {
		text += fmt.Sprintf(" of %q", cmd.CommandPath())
	} else if instead := habits[strings.ToLower(word)]; instead != "" {
		return &UsageError{Text: text, Hint: instead, Command: cmd.CommandPath()}
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	return &UsageError{Text: text + didYouMean(word, names, ""), Command: cmd.CommandPath()}
}

// unknownCommand finds a word that is no command before the flags behind it are
// parsed: the error would name those.
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

// inSmallLetters is a command line whose command is in small letters: Redis has it either way.
func inSmallLetters(root *cobra.Command, args []string) []string {
	if len(args) == 0 || strings.ToLower(args[0]) == args[0] {
		return args
	}
	small := slices.Concat([]string{strings.ToLower(args[0])}, args[1:])
	cmd, _, err := root.Find(small[:1])
	if err != nil || cmd == root {
		return args
	}
	return small
}

// flagError is the error for a flag that the command does not have, or that does not take its value.
func flagError(cmd *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := bad.GetFlag()
		return &UsageError{Text: config.Wrong(f, "--"+f.Name, bad.GetValue(), err), Command: cmd.CommandPath()}
	}
	text := err.Error()
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		text += didYouMean(unknown.GetSpecifiedName(), names, "--")
	}
	return &UsageError{Text: text, Command: cmd.CommandPath()}
}

// didYouMean names those that are spelt like a word: those at the least distance, and those that
// begin with it.
func didYouMean(word string, names []string, before string) string {
	least := nearEnough(word)
	for _, name := range names {
		least = min(least, config.Distance(word, name))
	}
	var near []string
	for _, name := range names {
		if config.Distance(word, name) == least || len(word) >= leastPrefix && strings.HasPrefix(name, word) {
			near = append(near, before+name)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// habits are commands of Redis that linchpin does not have, and what to type instead.
var habits = map[string]string{
	"lpush":  "a list grows at its end: linchpin rpush KEY VALUE",
	"lpop":   "to take the first value of a list: linchpin shell, begin, lindex KEY 0, ltrim KEY 1 -1, commit",
	"rpop":   "to take the last value of a list: linchpin shell, begin, lindex KEY -1, ltrim KEY 0 -2, commit",
	"ping":   "to check a node: linchpin health",
	"setex":  "linchpin put KEY VALUE --ttl 30s",
	"psetex": "linchpin put KEY VALUE --ttl 30s",
	"setnx":  "linchpin put KEY VALUE --if-absent",
	"watch": "read the key with \"get --output json\" and write it with \"put --if-version\"; or use a " +
		"transaction: linchpin shell, begin",
	"unwatch":   "a transaction needs no watch: linchpin shell, begin",
	"multi":     "linchpin txn 'OPERATION; OPERATION', or linchpin shell, begin",
	"exec":      "linchpin txn 'OPERATION; OPERATION', or linchpin shell, begin",
	"pexpire":   "linchpin expire KEY 1500ms",
	"pttl":      "linchpin ttl KEY --output json",
	"dbsize":    "linchpin scan --count",
	"flushall":  `to delete all keys: linchpin txn 'delrange "" ""'`,
	"flushdb":   `to delete all keys: linchpin txn 'delrange "" ""'`,
	"hkeys":     "linchpin hgetall KEY",
	"hvals":     "linchpin hgetall KEY",
	"subscribe": "linchpin has no publish and subscribe",
	"publish":   "linchpin has no publish and subscribe",
}
