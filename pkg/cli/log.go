package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
)

func logCommand() *cobra.Command {
	return group("log", "Show or set what a node logs", `
Show or set the log levels of a node.`, `  linchpin log level debug --component peers`,
		logLevelCommand())
}

func logLevelCommand() *cobra.Command {
	var component string
	cmd := command("level [LEVEL]", "Show or set the log levels of a node", `
Show the log level of each component of a node. With LEVEL (debug, info, warn or error), set it first, for
--component or for all. It holds until the node stops; --log-level of "linchpin start" sets the initial level.`, `
  linchpin log level
  linchpin log level debug --component peers
  linchpin log level info`, 0, 1)
	cmd.ValidArgs = []string{"debug", "info", "warn", "error"}
	cmd.Flags().StringVar(&component, "component", "", "set the level of this `component` only")
	return connects(cmd, false, func(ctx context.Context, s *session, args []string) error {
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
