package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	root.AddCommand(getCommand(s.Raw), putCommand(), mgetCommand(), msetCommand(), existsCommand(), keysCommand(), delCommand(),
		scanCommand(s.Size), incrCommand(), expireCommand(), persistCommand(), ttlCommand(), txnCommand(), outcomeCommand(),
		statusCommand(), shardsCommand(), hotCommand(s.Size), receiptsCommand(s.Size), waitsCommand(s.Size), snapshotCommand(),
		versionCommand(), callCommand(), typeCommand(), typesCommand(), backupCommand(), restoreCommand(), userCommand(), certCommand(),
		clusterCommand(), drainCommand(), reclaimCommand(), logCommand(), debugCommand(), healthCommand(), manCommand(), referenceCommand())
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

const (
	groupTypes = "Data types"
	groupOther = "Other commands"
)

// commandGroups are the groups of commands in the help, in order. Commands of data types are in the
// group of these.
var commandGroups = []struct{ title, commands string }{
	{"Keys", "get put del scan mget mset exists keys incr expire persist ttl"},
	{groupTypes, "call type types"},
	{"Transactions", "txn outcome shell"},
	{"The past", "snapshot backup restore"},
	{"Contention", "receipts waits hot"},
	{"Nodes", "start demo status shards health drain reclaim log debug config"},
	{"Security", "cluster cert user"},
	{groupOther, ""},
}

// arrange puts the commands of the root into their groups.
func arrange(root *cobra.Command) {
	group := make(map[string]string)
	for _, g := range commandGroups {
		for name := range strings.FieldsSeq(g.commands) {
			group[name] = g.title
		}
	}
	for i := range shortcuts {
		group[shortcuts[i].name] = groupTypes
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = cmp.Or(group[cmd.Name()], groupOther)
	}
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

// PrintError writes a command's error for people, or as one JSON object.
func PrintError(w io.Writer, err error, asJSON bool) {
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
		_ = json.NewEncoder(w).Encode(o) // a failure cannot be reported anywhere
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
		return u.Text, cmp.Or(u.Hint, fmt.Sprintf("see: %s --help", u.Command))
	}
	if f, ok := errors.AsType[*fs.PathError](err); ok && kv.KindOf(err) == kv.KindInternal {
		return err.Error(), fileHint(f)
	}
	text = err.Error()
	if e, ok := errors.AsType[*OutputError](err); ok {
		return text, e.hint()
	}
	if e, ok := errors.AsType[*goneError](err); ok {
		text, _ = describe(e.error)
		return text, e.hint
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		hint = cmp.Or(e.Hint, typeHint(e))
		text = strings.TrimSuffix(text, ". "+e.Receipt.String())
	} else if e, ok := errors.AsType[*kv.Error](err); ok {
		hint = e.Hint
	}
	// Errors end in their hint and their receipt; here each gets a line of its own.
	return strings.TrimSuffix(text, "; "+hint), hint
}

// typeHint is the hint for a key of another type, "" for other errors.
func typeHint(e *client.Error) string {
	if e.Kind != kv.KindWrongType || len(e.Key) == 0 {
		return ""
	}
	return fmt.Sprintf("linchpin type %s shows what the key holds; to change its type, delete it first", kv.Shown(e.Key))
}

// fileHint says what to do about a file that cannot be used.
func fileHint(e *fs.PathError) string {
	dir := filepath.Dir(e.Path)
	_, missing := os.Stat(dir)
	switch {
	case errors.Is(e, fs.ErrNotExist) && errors.Is(missing, fs.ErrNotExist):
		return fmt.Sprintf("there is no directory %s; create it, or name another file", dir)
	case errors.Is(e, fs.ErrNotExist):
		return "check the name of the file"
	case errors.Is(e, fs.ErrPermission):
		return "check the permissions, or name another file"
	}
	return "name another file"
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
