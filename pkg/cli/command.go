package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
)

// command is a row of a command: its usage, what it does in a line, its help ("": the line), examples, and
// the least and most arguments; most below 0 is no bound.
func command(use, short, long, example string, least, most int) *cobra.Command {
	if long == "" {
		long = short + "."
	}
	return &cobra.Command{Use: use, Short: short, Long: strings.TrimPrefix(long, "\n"),
		Example: strings.TrimPrefix(example, "\n"), Args: arguments(least, most)}
}

// group makes a command that only has other commands.
func group(use, short, long, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := command(use, short, long, example, 0, 0)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// connects makes a command connect to a cluster and run; keys: it has --hex.
func connects(cmd *cobra.Command, keys bool,
	run func(ctx context.Context, s *session, args []string) error) *cobra.Command {
	var f flags
	f.addTo(cmd, keys)
	cmd.RunE = connected(&f, run)
	return cmd
}

// reads makes a command read the keys of its arguments, now or in the past, and show them.
func reads(cmd *cobra.Command, show func(s *session, keys []string, out *outcome) error) *cobra.Command {
	var p past
	p.addTo(cmd)
	return connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		keys, err := s.decodeAll(args)
		if err != nil {
			return err
		}
		ops := make([]client.Op, len(keys))
		for i, key := range keys {
			ops[i] = client.EntryOp(key)
		}
		out, err := s.execute(ctx, &p, ops...)
		if err != nil {
			return err
		}
		s.printReceipt(&out.Receipt)
		return show(s, keys, out)
	})
}

// withDefault sets the default of a flag to a value that is valid, as the flag prints it.
func withDefault(cmd *cobra.Command, flag, value string) *cobra.Command {
	f := cmd.Flags().Lookup(flag)
	_, f.DefValue = f.Value.Set(value), value
	return cmd
}
