package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/linchpindb/linchpin/pkg/backup"
	"github.com/linchpindb/linchpin/pkg/client"
)

func backupCommand() *cobra.Command {
	return group("backup", "Create and verify backups of the whole cluster", `
A backup is a file with all keys of a cluster at one moment, of all data types. "linchpin restore" writes it into
an empty cluster of any size, which is also how the members of a cluster, or its number of shards, are changed.
It has no snapshots, history, users, or rules for hot keys.`, `
  linchpin backup create monday.backup
  linchpin backup verify monday.backup`,
		backupCreate(), backupVerify())
}

func backupCreate() *cobra.Command {
	var o backup.CreateOptions
	var asOf string
	cmd := command("create FILE", "Copy the whole cluster into a file", `
Copy all keys at one moment into a file, which must not exist. No writer is blocked: the backup reads a
snapshot, which it drops at the end.

The unfinished file is FILE.partial. If the command is interrupted, --continue resumes it while the snapshot is
kept (--keep); the backup is then of the moment of the first attempt.

Of a cluster that has lost most replicas of a shard for good, --as-of or --snapshot with an id copies a state that
the others have.

If FILE is -, the backup is written to standard output and its summary to standard error. It cannot be resumed.`, `
  linchpin backup create monday.backup
  linchpin backup create - | ssh vault 'cat > monday.backup'
  linchpin backup create import.backup --snapshot before-import
  linchpin backup create lost.backup --as-of 2026-11-22T10:00:00Z`, 1, 1)
	cmd.Flags().StringVar(&o.Snapshot, "snapshot", "",
		"copy the snapshot with this `name` or id, instead of the present state")
	cmd.Flags().StringVar(&asOf, "as-of", "",
		"copy the state at this `time`, instead of the present one: RFC 3339, or -90s for 90 seconds ago")
	cmd.Flags().BoolVar(&o.Continue, "continue", false, "resume the interrupted backup in FILE.partial")
	cmd.Flags().DurationVar(&o.Keep, "keep", 24*time.Hour, "for how long an interrupted backup can be resumed")
	cmd.MarkFlagsMutuallyExclusive("snapshot", "as-of")
	cmd.MarkFlagsMutuallyExclusive("continue", "as-of")
	return withDefault(connects(cmd, false, func(ctx context.Context, s *session, args []string) error {
		if o.Keep < time.Minute {
			return usagef(s.cmd, "--keep is %v, want a minute or more", o.Keep)
		}
		if cmd.Flags().Changed("as-of") {
			var err error
			o.AsOf, err = parsePast(cmd, asOf)
			if err != nil {
				return err
			}
		}
		if args[0] == standardOutput {
			return s.backupToOutput(ctx, cmd, o)
		}
		show := newShow(cmd, -1)
		o.Program, o.Progress = ReadBuild().Version, func(keys, bytes uint64) { show.set("copied", keys) }
		h, footer, err := backup.Create(ctx, s.db, args[0], o)
		show.end()
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printBackup(args[0], &h, &footer)
	}), "timeout", "0s")
}

// standardOutput is the FILE for it.
const standardOutput = "-"

// backupToOutput writes a backup to the standard output, unless that is a terminal.
func (s *session) backupToOutput(ctx context.Context, cmd *cobra.Command, o backup.CreateOptions) error {
	if o.Continue {
		return usagef(cmd, "--continue needs a file")
	}
	out := cmd.OutOrStdout()
	f, ok := out.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) {
		return usagef(cmd, "standard output is a terminal; redirect it to a file or a program")
	}
	o.Program = ReadBuild().Version
	h, footer, err := backup.CreateTo(ctx, s.db, out, o)
	if err != nil {
		return err
	}
	s.changed(client.TxID{})
	summary := &session{printer: &printer{out: cmd.ErrOrStderr(), json: s.json}, cmd: cmd}
	return summary.printBackup(standardOutput, &h, &footer)
}

func backupVerify() *cobra.Command {
	output := formatTable
	cmd := command("verify FILE", "Verify a backup and show its contents", `
Read a backup to its end, verify all its checksums, and show its cluster, its time and its size. No cluster is needed.`,
		`  linchpin backup verify monday.backup`, 1, 1)
	outputFlag(cmd, &output)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkFormat(cmd, output); err != nil {
			return err
		}
		h, f, err := backup.Verify(args[0])
		if err != nil {
			return err
		}
		s := &session{printer: &printer{out: cmd.OutOrStdout(), json: output == formatJSON}, cmd: cmd}
		return s.printBackup(args[0], &h, &f)
	}
	return cmd
}

func restoreCommand() *cobra.Command {
	var o backup.RestoreOptions
	cmd := command("restore FILE", "Write a backup into an empty cluster", `
Write all keys of a backup into a cluster without keys, of any size, and compare the whole cluster with the
file. The cluster must not be used by others until the command has succeeded. Nothing is written if the file is
damaged, if it has data types that the cluster does not know, or if the cluster has keys.

--continue resumes an interrupted restore.`,
		`  linchpin restore monday.backup`, 1, 1)
	cmd.Flags().BoolVar(&o.Continue, "continue", false, "resume an interrupted restore of the same backup")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "check whether it can be restored, and write nothing")
	return withDefault(connects(cmd, false, func(ctx context.Context, s *session, args []string) error {
		var show *show
		o.Progress = func(doing string, keys, of uint64) {
			if show == nil {
				show = newShow(cmd, int64(of))
			}
			show.set(doing, keys)
		}
		h, footer, err := backup.Restore(ctx, s.db, args[0], o)
		show.end()
		if err != nil {
			return err
		}
		s.changed(client.TxID{})
		return s.printBackup(args[0], &h, &footer)
	}), "timeout", "0s")
}

func (s *printer) printBackup(path string, h *backup.Header, f *backup.Footer) error {
	if s.json {
		return s.object(struct {
			File string `json:"file"`
			*backup.Header
			*backup.Footer
		}{path, h, f})
	}
	t := s.table("FILE", "CLUSTER", "SNAPSHOT", "TIME", "KEYS", "BYTES")
	t.row(backup.Shown(path), backup.Shown(h.Cluster), backup.Shown(h.Snapshot), stamp(h.Time),
		strconv.FormatUint(f.Keys, 10), strconv.FormatUint(f.Bytes, 10))
	return t.flush()
}

// show reports the progress of a long command on standard error: as a bar on a terminal, and else as a
// line every 10 s.
type show struct {
	cmd   *cobra.Command
	of    int64
	bar   *progressbar.ProgressBar
	doing string
	last  time.Time
}

// lineEvery is the time between two lines of progress.
const lineEvery = 10 * time.Second

func newShow(cmd *cobra.Command, of int64) *show {
	return &show{cmd: cmd, of: of, last: time.Now()}
}

func (s *show) set(doing string, keys uint64) {
	if f, ok := s.cmd.ErrOrStderr().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if s.bar == nil || s.doing != doing {
			s.bar = progressbar.NewOptions64(s.of, progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(doing),
				progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		s.doing = doing
		_ = s.bar.Set64(int64(keys)) // an error of the bar does not end the command
		return
	}
	if time.Since(s.last) < lineEvery {
		return
	}
	s.last = time.Now()
	words := []string{doing, fmt.Sprint(keys)}
	if s.of >= 0 {
		words = append(words, "of", fmt.Sprint(s.of))
	}
	s.cmd.PrintErrln(strings.Join(append(words, "keys"), " "))
}

func (s *show) end() {
	if s != nil && s.bar != nil {
		_ = s.bar.Finish()
	}
}
