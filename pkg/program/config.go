package program

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/cli/config"
)

func configCommand(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Show or check the settings of a node",
		Long:    `Show or check the settings of "linchpin start".`,
		Example: `  linchpin config check /etc/linchpin/linchpin.yaml`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(configShowCommand(s), configCheckCommand(s))
	return c
}

func configShowCommand(s cli.Streams) *cobra.Command {
	var o startOptions
	var output string
	c := &cobra.Command{
		Use:   "show [FLAGS OF START]",
		Short: "Show the settings of a node and their sources",
		Long: `Show each setting of "linchpin start", its value and its source, as if the node were started here with
the same flags: the command line precedes the environment (LINCHPIN_CACHE_MB for --cache-mb), then the file of
--config, then the default. Secrets are not shown. "linchpin debug zip" has the settings of a running node.`,
		Example: `  linchpin config show --config /etc/linchpin/linchpin.yaml
  LINCHPIN_CACHE_MB=512 linchpin config show --output json`,
		Args:    cobra.NoArgs,
		PreRunE: o.resolve,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := o.check(c); err != nil {
				return err
			}
			return showSettings(s, c, o.settings, output)
		},
	}
	o.addTo(c.Flags())
	c.Flags().StringVarP(&output, "output", "o", "table", "output `format`: table, or json with one object per line")
	return c
}

// check makes all checks of start.
func (o *startOptions) check(c *cobra.Command) (ok bool, err error) {
	opt, err := o.options(c)
	if err != nil {
		return false, err
	}
	if _, err := o.operation.level(); err != nil {
		return false, err
	}
	if opt.Dir == "" {
		opt.Dir = "." // the command line may have it
	}
	return true, opt.Validate()
}

func showSettings(s cli.Streams, c *cobra.Command, ss []config.Setting, output string) error {
	switch output {
	case "json":
		e := json.NewEncoder(s.Out)
		for i := range ss {
			if ss[i].Name == "output" {
				continue
			}
			if err := e.Encode(map[string]string{"setting": ss[i].Name, "value": ss[i].Shown(),
				"from": ss[i].From}); err != nil {
				return err
			}
		}
		return nil
	case "table":
	default:
		return &cli.UsageError{Text: fmt.Sprintf("--output is %q, want table or json", output), Command: c.CommandPath()}
	}
	w := tabwriter.NewWriter(s.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for i := range ss {
		if ss[i].Name != "output" {
			fmt.Fprintf(w, "%s\t%s\t%s\n", ss[i].Name, ss[i].Shown(), ss[i].From)
		}
	}
	return w.Flush()
}

func configCheckCommand(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file",
		Long: `Check whether "linchpin start --config FILE" accepts the file: every setting exists, stands there
once, and has a valid value. All errors are reported at once, with exit code 2.`,
		Example: `  linchpin config check /etc/linchpin/linchpin.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var o startOptions
			of := &cobra.Command{Use: "start"}
			o.addTo(of.Flags())
			if err := of.Flags().Set(config.FileFlag, args[0]); err != nil {
				return err
			}
			// The environment does not belong to the file.
			ss, err := config.Resolve(of.Flags(), config.Options{Env: func(string) (string, bool) { return "", false }})
			if err == nil {
				_, err = o.check(of)
			}
			if err != nil {
				return &cli.UsageError{Text: err.Error(), Command: c.CommandPath()}
			}
			n := 0
			for i := range ss {
				if ss[i].From != "default" {
					n++
				}
			}
			_, err = fmt.Fprintf(s.Out, "%s is valid: %d settings\n", args[0], n)
			return err
		},
	}
}
