package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// referenceCommand writes docs/cli.md, for "make generate". It is hidden.
func referenceCommand() *cobra.Command {
	var check bool
	cmd := command("reference FILE", "Write the page of the command line", `
Write the page of the command line, in Markdown, from the help of the commands.`,
		`  linchpin reference docs/cli.md`, 1, 1)
	cmd.Hidden = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text := []byte(Reference(cmd.Root()))
		if !check {
			return os.WriteFile(args[0], text, 0o644)
		}
		old, err := os.ReadFile(args[0])
		if err == nil && !bytes.Equal(old, text) {
			err = fmt.Errorf("%s is stale; run: make generate", args[0])
		}
		return err
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; fail if the file is stale")
	return cmd
}

const referenceHead = `# The command line

<!-- Generated from the help of the commands: change that, and run "make generate". -->

` + "`linchpin COMMAND --help`" + ` shows more about each command, with its flags and examples.

## Commands
`

const referenceFlags = `
## Flags

Commands that connect to a cluster have the flags

%s
Each flag has an environment variable: ` + "`LINCHPIN_ADDR` for `--addr`, `LINCHPIN_CERTS_DIR` for " +
	"`--certs-dir`" + `. Two minus signs end the
flags: ` + "`linchpin put -- key -v`" + `.
`

// Reference is docs/cli.md, from the help of the commands of root.
func Reference(root *cobra.Command) string {
	root.InitDefaultCompletionCmd()
	arrange(root)
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n**%s**\n\n", strings.TrimSuffix(g.Title, ":"))
		for _, cmd := range root.Commands() {
			if cmd.GroupID == g.ID && cmd.IsAvailableCommand() && !isShortcut(cmd) && cmd.Name() != "help" {
				commandLines(&b, cmd)
			}
		}
	}
	fmt.Fprintf(&b, referenceFlags, connectionLines(root))
	b.WriteString("\n## Data types\n\n`call` calls every method of a [data type](types.md). These commands are " +
		"shorter, with the names of Redis:\n\n")
	typeLines(&b)
	for _, s := range []struct{ title, command string }{{"Hot keys", "hot"}, {"Reading the past", "past"},
		{"Transactions in lines", "txn"},
		{"The shell", "shell"}, {"Output", "output"}, {"Exit codes", "exit-codes"}} {
		if cmd, _, err := root.Find([]string{s.command}); err == nil && cmd != root {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.title, inMarkdown(cmd.Long))
		}
	}
	return b.String()
}

func isShortcut(cmd *cobra.Command) bool {
	return slices.ContainsFunc(shortcuts, func(x shortcut) bool { return x.name == cmd.Name() })
}

// commandLines lists a command, or those of it that run.
func commandLines(b *strings.Builder, cmd *cobra.Command) {
	if len(cmd.Commands()) == 0 || cmd.Flags().Lookup("addr") != nil {
		name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
		_, arguments, _ := strings.Cut(cmd.Use, " ")
		also := ""
		if len(cmd.Aliases) > 0 {
			also = " (" + strings.Join(cmd.Aliases, ", ") + ")"
		}
		fmt.Fprintf(b, "- `%s`%s: %s\n", strings.TrimSpace(name+" "+arguments), also, cmd.Short)
	}
	if cmd.Name() == "completion" {
		fmt.Fprintf(b, "- `completion SHELL`: %s\n", cmd.Short)
		return
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			commandLines(b, sub)
		}
	}
}

// connectionLines lists the flags of commands that connect.
func connectionLines(root *cobra.Command) string {
	cmd, _, err := root.Find([]string{"get"})
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, g := range flagGroups(cmd) {
		if g.title == ConnectionFlags {
			g.flags.VisitAll(func(f *pflag.Flag) {
				value, about := pflag.UnquoteUsage(f)
				if value != "" {
					value = " " + value
				}
				fmt.Fprintf(&b, "- `--%s%s`: %s\n", f.Name, value, about)
			})
		}
	}
	return b.String()
}

// typeLines lists the commands of each data type.
func typeLines(b *strings.Builder) {
	var types []string
	commands := make(map[string][]string)
	for i := range shortcuts {
		typ, _, _ := strings.Cut(shortcuts[i].method, ".")
		if commands[typ] == nil {
			types = append(types, typ)
		}
		commands[typ] = append(commands[typ], "`"+shortcuts[i].name+"`")
	}
	for _, typ := range types {
		fmt.Fprintf(b, "- %s: %s\n", typ, strings.Join(commands[typ], ", "))
	}
}

// inMarkdown is a help text with its indented lines in fences.
func inMarkdown(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		code, indented := strings.CutPrefix(line, "  ")
		switch {
		case indented && !fenced:
			b.WriteString("```text\n")
		case !indented && fenced:
			b.WriteString("```\n")
		}
		fenced = indented
		if !fenced {
			code = strings.ReplaceAll(code, `\`, `\\`)
		}
		b.WriteString(code)
	}
	if fenced {
		b.WriteString("```\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
