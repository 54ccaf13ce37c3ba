package cli

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// past are the flags of commands that can read a past state.
type past struct {
	snapshot, asOf, after string
}

func (p *past) addTo(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&p.snapshot, "snapshot", "", "read the snapshot with this `name` or id")
	fs.StringVar(&p.asOf, "as-of", "", "read the state at this `time`: RFC 3339, or -90s for 90 seconds ago")
	fs.StringVar(&p.after, "after", "", "read a state that includes what this causality `token` covers; \"txn --output "+
		"json\" prints one")
	GroupFlags(fs, "Flags for reading the past (linchpin help past)", "snapshot", "as-of", "after")
}

// reader returns what the command reads: the present state of the connection, or a past one. report
// receives how its calls end. A nil past is the present.
func (p *past) reader(s *session, report *client.Report) (client.Reader, error) {
	db, cmd := s.db.With(client.ReportTo(report)), s.cmd
	if p == nil {
		return db, nil
	}
	if cmd.Flags().Changed("after") && p.after == "" {
		return nil, usagef(cmd, "--after is empty, want a token")
	}
	if p.after != "" {
		token, err := base64.StdEncoding.DecodeString(p.after)
		if err != nil {
			return nil, usagef(cmd, "--after is %q, which is not base64", p.after)
		}
		db = db.With(client.After(token))
	}
	// An empty name is likely to be a variable that is not set: reading the present state would be wrong.
	at, asOf := cmd.Flags().Changed("snapshot"), cmd.Flags().Changed("as-of")
	switch {
	case at && asOf:
		return nil, usagef(cmd, "--snapshot and --as-of exclude each other")
	case at && p.snapshot == "":
		return nil, usagef(cmd, "--snapshot is empty, want a name or an id")
	case at:
		return db.AtSnapshot(p.snapshot), nil
	case !asOf:
		return db, nil
	}
	when, err := parsePast(cmd, p.asOf)
	if err != nil {
		return nil, err
	}
	return db.AsOf(when), nil
}

// parsePast parses the value of --as-of.
func parsePast(cmd *cobra.Command, text string) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil {
		if !strings.HasPrefix(text, "-") {
			return time.Time{}, usagef(cmd, "--as-of %s is in the future; write -%s for that long ago", text,
				strings.TrimPrefix(text, "+"))
		}
		return time.Now().Add(ago), nil
	}
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return when, usagef(cmd, "--as-of is %q, want a time such as 2026-11-22T10:00:00Z, or -90s for 90 seconds ago", text)
	}
	return when, nil
}

// goneError is the error for a past state that is no longer kept. Its exit code is that of a key that
// does not exist.
type goneError struct {
	error
	hint string
}

func (e *goneError) Unwrap() error { return e.error }

// gone makes a goneError of the error for a past state that is no longer kept.
func (p *past) gone(err error) error {
	if err == nil || p == nil || p.snapshot+p.asOf == "" || kv.KindOf(err) != kv.KindTooOld {
		return err
	}
	if p.asOf != "" {
		return &goneError{err, "read at a later time; the history is as long as --history of \"linchpin start\" (10m by " +
			"default), and a snapshot keeps a state for longer"}
	}
	return &goneError{err, "linchpin snapshot list shows the snapshots that are kept"}
}

// printPast reports the past state that was read on standard error, so that the output can be piped.
func (s *session) printPast(r *client.Report) {
	if x := r.Snapshot; x.ID != "" && !s.json {
		s.cmd.PrintErrf("read at snapshot %s of %s\n", x.ID, stamp(x.Time))
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
