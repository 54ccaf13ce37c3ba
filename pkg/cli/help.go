package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupMark is the annotation of flags that stand in a group of their own in the help.
const groupMark = "linchpin_group"

// ConnectionFlags is the group of the flags that say which cluster a command talks to, and how. It
// stands at the end of each help.
const ConnectionFlags = "Connection flags"

// GroupFlags puts flags under a title in the help. Groups stand in the order of their first flags;
// flags in no group come before them. It panics if there is no such flag.
func GroupFlags(fs *pflag.FlagSet, title string, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, groupMark, []string{title}); err != nil {
			panic("cli: " + err.Error())
		}
	}
}

// flagGroup are flags with a title.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups are the visible flags of a command in their groups.
func flagGroups(cmd *cobra.Command) (groups []flagGroup) {
	groups = []flagGroup{{"Flags", pflag.NewFlagSet("", pflag.ContinueOnError)}}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		title := "Flags"
		if in := f.Annotations[groupMark]; len(in) > 0 {
			title = in[0]
		}
		i := slices.IndexFunc(groups, func(g flagGroup) bool { return g.title == title })
		if i < 0 {
			i = len(groups)
			groups = append(groups, flagGroup{title, pflag.NewFlagSet("", pflag.ContinueOnError)})
		}
		groups[i].flags.SortFlags = cmd.Flags().SortFlags
		groups[i].flags.AddFlag(f)
	})
	// The sort is stable: it only moves the flags of the connection behind the others.
	slices.SortStableFunc(groups, func(a, b flagGroup) int { return last(a.title) - last(b.title) })
	return slices.DeleteFunc(groups, func(g flagGroup) bool { return !g.flags.HasFlags() })
}

func last(title string) int {
	if title == ConnectionFlags {
		return 1
	}
	return 0
}

// widths of the help: that of the terminal, but at most widest, and usualWidth without one.
const usualWidth, widest = 80, 100

// helpers sets how help and usage are printed. size is that of the terminal, nil if there is none.
func helpers(root *cobra.Command, size func() (lines, columns int)) {
	width := func() int {
		if size == nil {
			return usualWidth
		}
		_, columns := size()
		if columns <= 0 {
			return usualWidth
		}
		return min(columns, widest)
	}
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), usage(cmd, width()))
		return err
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		text := filled(cmd.Long, width())
		if !cmd.IsAdditionalHelpTopicCommand() {
			text += "\n" + usage(cmd, width())
		}
		_, _ = fmt.Fprint(cmd.OutOrStdout(), text) // the output reports its errors (output.failed)
	})
}

// usage is what the help of a command has below its text.
func usage(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	subCommands(&b, cmd)
	for _, g := range flagGroups(cmd) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(width))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\"%s COMMAND --help\" shows more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// subCommands lists the commands of a command, in their groups.
func subCommands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	width := 0
	for _, sub := range cmd.Commands() {
		width = max(width, len(sub.Name()))
	}
	titles := []*cobra.Group{{Title: "Commands:"}}
	if groups := cmd.Groups(); len(groups) > 0 {
		titles = groups
	}
	for _, g := range titles {
		fmt.Fprintf(b, "\n%s\n", g.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(b, "  %-*s  %s\n", width, sub.Name(), sub.Short)
			}
		}
	}
	topics := slices.DeleteFunc(slices.Clone(cmd.Commands()),
		func(c *cobra.Command) bool { return !c.IsAdditionalHelpTopicCommand() })
	if len(topics) > 0 {
		b.WriteString("\nTopics (linchpin help TOPIC):\n")
	}
	for _, t := range topics {
		fmt.Fprintf(b, "  %-*s  %s\n", width, t.Name(), t.Short)
	}
}
