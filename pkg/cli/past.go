package cli

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// past are the flags of commands that can read a state of the past.
type past struct {
	snapshot, asOf, after string
}

func (p *past) addTo(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&p.snapshot, "snapshot", "", "read the state that this snapshot keeps, by its `name` or id")
	fs.StringVar(&p.asOf, "as-of", "", "read the newest state of the history that is not younger than this `time`: RFC 3339, or as long ago as -90s")
	fs.StringVar(&p.after, "after", "", "read nothing older than what this `token` tells of; \"txn --output json\" prints one, in base64")
}

// options gives what the flags ask for; o hears of the state that was read.
func (p *past) options(cmd *cobra.Command, o *client.Outcome) ([]client.CallOption, error) {
	out := []client.CallOption{client.Into(o)}
	if cmd.Flags().Changed("after") && p.after == "" {
		return nil, usagef(cmd, "--after is empty, want a token")
	}
	if p.after != "" {
		token, err := base64.StdEncoding.DecodeString(p.after)
		if err != nil {
			return nil, usagef(cmd, "--after is %q, which is not base64", p.after)
		}
		out = append(out, client.After(token))
	}
	// An empty name is likely to be a variable that is not set. It is not to be
	// answered from the present.
	at, asOf := cmd.Flags().Changed("snapshot"), cmd.Flags().Changed("as-of")
	switch {
	case at && asOf:
		return nil, usagef(cmd, "--snapshot and --as-of do not go together")
	case at && p.snapshot == "":
		return nil, usagef(cmd, "--snapshot is empty, want a name or an id")
	case at:
		return append(out, client.AtSnapshot(p.snapshot)), nil
	case !asOf:
		return out, nil
	}
	if ago, err := time.ParseDuration(p.asOf); err == nil {
		if !strings.HasPrefix(p.asOf, "-") {
			return nil, usagef(cmd, "--as-of %s is in the future; for that long ago write -%s", p.asOf, p.asOf)
		}
		return append(out, client.AsOf(time.Now().Add(ago))), nil
	}
	when, err := time.Parse(time.RFC3339Nano, p.asOf)
	if err != nil {
		return nil, usagef(cmd, "--as-of is %q, want a time such as 2026-11-22T10:00:00Z, or how long ago, as -90s", p.asOf)
	}
	return append(out, client.AsOf(when)), nil
}

// goneError is a state of the past that is no longer kept: as little there as a
// key that does not exist.
type goneError struct{ error }

func (e *goneError) Unwrap() error { return e.error }

// told marks the errors of reads in the past.
func (p *past) told(err error) error {
	if err != nil && p.snapshot+p.asOf != "" && kv.KindOf(err) == kv.KindTooOld {
		return &goneError{err}
	}
	return err
}

// tellPast names the state of the past that was read, on standard error, so
// that what was read can be piped.
func (s *session) tellPast(o *client.Outcome) {
	if x := o.Snapshot; x != nil && !s.json {
		s.cmd.PrintErrf("read at snapshot %s of %s\n", x.ID, stamp(x.Time))
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
