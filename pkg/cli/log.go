package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
)

func logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "log",
		Short:   "Show or set what a node logs",
		Long:    `Show or set the log levels of a node.`,
		Example: `  linchpin log level debug --component peers`,
		Args:    arguments(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(logLevelCommand())
	return cmd
}

func logLevelCommand() *cobra.Command {
	var f flags
	var component string
	cmd := &cobra.Command{
		Use:   "level [LEVEL]",
		Short: "Show or set the log levels of a node",
		Long: `Show the log level of each component of a node. With LEVEL (debug, info, warn or error), set it first, for
--component or for all. It holds until the node stops; --log-level of "linchpin start" sets the initial level.`,
		Example: `  linchpin log level
  linchpin log level debug --component peers
  linchpin log level info`,
		Args:      arguments(0, 1),
		ValidArgs: []string{"debug", "info", "warn", "error"},
	}
	f.addTo(cmd, false)
	cmd.Flags().StringVar(&component, "component", "", "set the level of this `component` only")
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		level := ""
		if len(args) == 1 {
			level = args[0]
		} else if component != "" {
			return usagef(s.cmd, "--component needs a LEVEL to set")
		}
		levels, err := s.admin().SetLogLevel(ctx, component, level)
		if err != nil {
			return err
		}
		if level != "" {
			s.changed(client.TxID{})
		}
		return s.logLevels(levels)
	})
	return cmd
}

func (s *printer) logLevels(levels []admin.LogLevel) error {
	t := s.table("COMPONENT", "LEVEL")
	for _, l := range levels {
		if s.json {
			if err := s.object(map[string]string{"component": l.Component, "level": l.Level}); err != nil {
				return err
			}
			continue
		}
		t.row(l.Component, l.Level)
	}
	if s.json {
		return nil
	}
	return t.flush()
}
