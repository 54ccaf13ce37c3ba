package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/config"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Size is the number of lines and columns, if Out is a terminal; else it is nil.
	Size func() (lines, columns int)
	// Raw: Out is a file or a pipe, to which "linchpin get" writes the bytes of a value.
	Raw bool
}

const rootHelp = `linchpin is a distributed, strictly serializable key-value store for workloads with hot keys.

"linchpin demo" shows it at work, and "linchpin start" starts a node. The other commands connect to a
node, by default to 127.0.0.1:7070:

  linchpin put greeting hello
  linchpin get greeting
  linchpin txn 'require greeting exists; incr visits; get greeting'

Each flag has an environment variable:

  export LINCHPIN_ADDR=10.0.0.1:7070,10.0.0.2:7070   # --addr
  export LINCHPIN_CERTS_DIR=$HOME/certs              # --certs-dir: use TLS`

// New makes the root command with all commands that connect to a cluster.
func New(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "linchpin",
		Short:         "A distributed, strictly serializable key-value store for workloads with hot keys",
		Long:          rootHelp,
		Version:       ReadBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		// Cobra's own check of unknown commands would not count as usage.
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return NoCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Lookup(config.FileFlag) != nil {
				return nil // such a command resolves its flags from its file as well
			}
			if _, err := config.Resolve(cmd.Flags(), config.Options{}); err != nil {
				return &UsageError{Text: err.Error(), Command: cmd.CommandPath()}
			}
			return nil
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(flagError)
	helpers(root, s.Size)
	root.AddCommand(getCommand(s.Raw), putCommand(), mgetCommand(), msetCommand(), existsCommand(), keysCommand(),
		delCommand(),
		scanCommand(s.Size), incrCommand(), expireCommand(), persistCommand(), ttlCommand(), txnCommand(), outcomeCommand(),
		statusCommand(), shardsCommand(), hotCommand(s.Size), receiptsCommand(s.Size), waitsCommand(s.Size),
		snapshotCommand(),
		versionCommand(), callCommand(), typeCommand(), typesCommand(), backupCommand(), restoreCommand(), userCommand(),
		certCommand(),
		clusterCommand(), drainCommand(), reclaimCommand(), logCommand(), debugCommand(), healthCommand(), manCommand(),
		referenceCommand())
	root.AddCommand(topics()...)
	for i := range shortcuts {
		root.AddCommand(shortcuts[i].command())
	}
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
	}
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	arrange(root)
	return root
}

// Main runs a command line and returns the exit code. It writes errors to the root's standard error.
func Main(ctx context.Context, root *cobra.Command, args []string) int {
	arrange(root) // a program may have added commands
	asUsageErrors(root)
	args = inSmallLetters(root, args)
	root.SetArgs(args)
	cmd, err := root, unknownCommand(root, args)
	if err == nil {
		cmd, err = Run(ctx, root)
	}
	if err == nil {
		return ExitOK
	}
	format := ""
	if f := cmd.Flags().Lookup("output"); f != nil {
		format = f.Value.String()
	}
	PrintError(root.ErrOrStderr(), err, format == formatJSON)
	return ExitCode(err)
}

// asUsageErrors makes UsageErrors of cobra's errors about arguments.
func asUsageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, usage := errors.AsType[*UsageError](err); err == nil || usage {
				return err
			}
			return &UsageError{Text: err.Error(), Command: cmd.CommandPath()}
		}
	}
	for _, sub := range cmd.Commands() {
		asUsageErrors(sub)
	}
}
