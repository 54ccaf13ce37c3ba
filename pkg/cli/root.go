package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/config"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Size is the number of lines and columns, if Out is a terminal; else it is nil.
	Size func() (lines, columns int)
	// File: Out is a file, into which "linchpin get" writes the bytes of a value.
	File bool
}

// New makes the root command with all commands that talk to a cluster.
func New(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "linchpin",
		Short: "A distributed, transactional key-value store that does not mind contention",
		Long: `linchpin is a distributed, transactional key-value store for skewed work.

Start a cluster with "linchpin start", or have a look with "linchpin demo". The
other commands talk to a running node, by default the one at 127.0.0.1:7070:

  linchpin put greeting hello
  linchpin get greeting
  linchpin txn 'require greeting exists; incr visits; get greeting'

Each flag has an environment variable, so that it need not be given each time:

  export LINCHPIN_ADDR=10.0.0.1:7070,10.0.0.2:7070   # for --addr
  export LINCHPIN_CERTS_DIR=$HOME/certs              # for --certs-dir: with TLS

Each command has more to say with --help.`,
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
				return nil // it reads a file as well, and sees to it itself
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &UsageError{Text: err.Error() + suggestFlag(cmd, err), Command: cmd.CommandPath()}
	})
	root.AddCommand(getCommand(s.File), putCommand(), mgetCommand(), msetCommand(), existsCommand(), keysCommand(s.Size), delCommand(), scanCommand(s.Size), incrCommand(), expireCommand(), persistCommand(), ttlCommand(), txnCommand(),
		outcomeCommand(), statusCommand(), shardsCommand(), hotCommand(s.Size), receiptsCommand(s.Size), waitsCommand(s.Size), snapshotCommand(), versionCommand(),
		callCommand(), typeCommand(), typesCommand(), backupCommand(), restoreCommand(), userCommand(), certCommand(), clusterCommand(),
		drainCommand(), reclaimCommand(), logCommand(), debugCommand(), healthCommand(), manCommand())
	root.AddGroup(&cobra.Group{ID: groupAll, Title: "Available Commands:"}, &cobra.Group{ID: groupTypes, Title: "Commands of data types:"})
	root.SetHelpCommandGroupID(groupAll)
	root.SetCompletionCommandGroupID(groupAll)
	for i := range shortcuts {
		cmd := shortcuts[i].command()
		cmd.GroupID = groupTypes
		root.AddCommand(cmd)
	}
	return root
}

// The groups of commands in the root's help.
const (
	groupAll   = "all"
	groupTypes = "types"
)

// Main runs a command line and returns the exit code. Errors are told on the
// root's standard error.
func Main(ctx context.Context, root *cobra.Command, args []string) int {
	for _, cmd := range root.Commands() { // those that others have added, too
		if cmd.GroupID == "" {
			cmd.GroupID = groupAll
		}
	}
	mistakes(root)
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
	Tell(root.ErrOrStderr(), err, format == formatJSON)
	return ExitCode(err)
}

// mistakes makes what cobra says of arguments mistakes on the command line.
func mistakes(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, told := errors.AsType[*UsageError](err); err == nil || told {
				return err
			}
			return &UsageError{Text: err.Error(), Command: cmd.CommandPath()}
		}
	}
	for _, sub := range cmd.Commands() {
		mistakes(sub)
	}
}

// Tell writes a command's error for people, or as one JSON object.
func Tell(w io.Writer, err error, asJSON bool) {
	if quiet := (*quietError)(nil); errors.As(err, &quiet) {
		return
	}
	text, hint := describe(err)
	failed, ok := errors.AsType[*client.Error](err)
	if !ok {
		failed = &client.Error{}
	}
	if asJSON {
		o := map[string]any{"error": text, "kind": kindOf(err), "exit_code": ExitCode(err)}
		if hint != "" {
			o["hint"] = hint
		}
		if id := txnOf(err); !id.IsZero() {
			o["txn_id"] = id.String()
		}
		if r := (&printer{}).receiptObject(&failed.Receipt); r.Why != "" {
			o["why"] = r.Why
			if r.Waited != nil {
				o["waited"] = r.Waited
			}
			if r.Aborted != nil {
				o["aborted"] = r.Aborted
			}
		}
		_ = json.NewEncoder(w).Encode(o) // there is nowhere to tell of a failure
		return
	}
	fmt.Fprintln(w, "linchpin:", text)
	if hint != "" {
		fmt.Fprintln(w, "hint:", hint)
	}
	if why := failed.Receipt.String(); why != "" {
		fmt.Fprintln(w, "why:", why)
	}
}

// describe parts an error into what happened and what to do.
func describe(err error) (text, hint string) {
	if u, ok := errors.AsType[*UsageError](err); ok {
		return u.Text, fmt.Sprintf("see: %s --help", u.Command)
	}
	text = err.Error()
	if e, ok := errors.AsType[*OutputError](err); ok {
		return text, e.hint()
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		hint = e.Hint
		text = strings.TrimSuffix(text, ". "+e.Receipt.String())
	} else if e, ok := errors.AsType[*kv.Error](err); ok {
		hint = e.Hint
	}
	// Errors end in their hint and their receipt; here each gets a line of its own.
	return strings.TrimSuffix(text, "; "+hint), hint
}

// txnOf is the transaction that an error names, zero if it names none.
func txnOf(err error) kv.TxnID {
	if e, ok := errors.AsType[*OutputError](err); ok {
		return e.TxnID
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.ID
	}
	return kv.TxnID{}
}

func kindOf(err error) string {
	if _, ok := errors.AsType[*UsageError](err); ok {
		return "Usage"
	}
	if _, ok := errors.AsType[*OutputError](err); ok {
		return "Output"
	}
	return kv.KindOf(err).String()
}
