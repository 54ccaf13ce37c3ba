package cli

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
)

// tableRows is the number of rows of a table that are kept to find the widths of the columns.
const tableRows = 200

// scanning says what a scan lists.
type scanning struct {
	prefix                   string
	limit                    int
	keysOnly, reverse, count bool
}

func scanCommand(size func() (lines, columns int)) *cobra.Command {
	var f flags
	var o scanning
	var p past
	cmd := command("scan [START [END]]", "List keys and values in order", `
List the keys from START up to but without END, in the order of their bytes, with their types, values and
versions. Without END the scan goes to the last key, without START from the first. All rows are of one
moment after the start of the command.

On a terminal values are cut to fit. Into a file or a pipe the columns are separated by single tabs.`, `
  linchpin scan
  linchpin scan user:100 user:200 --limit 20
  linchpin scan --prefix log: --reverse --limit 5
  linchpin scan --prefix user: --count
  linchpin scan --as-of -5m`, 0, 2)
	cmd.Aliases = []string{"ls"}
	f.addTo(cmd, true)
	f.widens(cmd, size, "do not cut values to fit the terminal")
	p.addTo(cmd)
	fs := cmd.Flags()
	fs.StringVar(&o.prefix, "prefix", "", "list the keys with this `prefix`")
	fs.IntVar(&o.limit, "limit", 0, "stop after this `number` of keys; 0 for none")
	fs.BoolVar(&o.keysOnly, "keys-only", false, "list keys without values")
	fs.BoolVar(&o.reverse, "reverse", false, "begin with the last key")
	fs.BoolVar(&o.count, "count", false, "print only the number of keys")
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		if o.limit < 0 {
			return usagef(cmd, "--limit is %d, want 0 or more", o.limit)
		}
		if fs.Changed("prefix") && len(args) > 0 {
			return usagef(cmd, "--prefix and START exclude each other")
		}
		return s.scan(ctx, &p, &o, args)
	})
	return cmd
}

// scan lists the keys of a scan.
func (s *session) scan(ctx context.Context, p *past, o *scanning, args []string) error {
	keys, err := s.bounds(args, o.prefix)
	if err != nil {
		return err
	}
	var report client.Report
	r, err := p.reader(s, &report)
	if err != nil {
		return err
	}
	opts := []client.ScanOption{client.Limit(o.limit)}
	if o.reverse {
		opts = append(opts, client.Reverse())
	}
	entries := r.Scan(ctx, keys, opts...)
	if o.count {
		err = s.printCount(entries)
	} else {
		err = s.printScan(entries, o.keysOnly)
	}
	s.printPast(&report)
	s.printReceipt(&report.Receipt)
	return p.gone(err)
}

// printCount prints how many entries there are.
func (s *printer) printCount(entries iter.Seq2[client.Entry, error]) error {
	n := 0
	for _, err := range entries {
		if err != nil {
			return err
		}
		n++
	}
	if s.json {
		return s.object(map[string]int{"keys": n})
	}
	return s.printf("%d\n", n)
}

// bounds is the range of a scan.
func (s *session) bounds(args []string, prefix string) (r client.Range, err error) {
	if prefix != "" {
		prefix, err = s.decode(prefix)
		return client.Prefix(prefix), err
	}
	if len(args) > 0 {
		r.Start, err = s.decode(args[0])
		if err != nil {
			return r, err
		}
	}
	if len(args) > 1 {
		r.End, err = s.decode(args[1])
	}
	return r, err
}

// printScan prints a row for each entry as it arrives: on a terminal in a table, whose widths are found
// for tableRows at a time, and into files without padding.
func (s *session) printScan(entries iter.Seq2[client.Entry, error], keysOnly bool) error {
	write, flush := s.scanRows()
	n := 0
	for e, err := range entries {
		if err != nil {
			return errors.Join(err, flush())
		}
		if n == 0 && !keysOnly && !s.json {
			if err := write([]string{"KEY", "TYPE", "VALUE", "VERSION"}); err != nil {
				return err
			}
		}
		n++
		switch {
		case s.json && keysOnly:
			err = s.object(s.keyItem(e.Key))
		case s.json:
			err = s.object(s.entryItem(&e))
		case keysOnly:
			err = s.printf("%s\n", s.text(e.Key))
		default:
			err = write([]string{s.text(e.Key), string(e.Type), s.value(e.Type, e.Value, e.Number), e.Version.String()})
		}
		if err != nil {
			return err
		}
	}
	if n == 0 {
		s.none("no keys")
	}
	return flush()
}

// scanRows returns how rows of a scan are written, and what is called after the last one.
func (s *session) scanRows() (write func([]string) error, flush func() error) {
	if s.flags.size == nil || s.flags.wide {
		return func(cells []string) error { return s.printf("%s\n", strings.Join(cells, "\t")) }, func() error { return nil }
	}
	t := s.table()
	t.shrink = 2
	return func(cells []string) error {
		if t.columns > 0 {
			cells[t.shrink] = shortened(cells[t.shrink], max(t.columns, leastCell)) // a long value is not kept
		}
		t.row(cells...)
		if len(t.rows) < tableRows {
			return nil
		}
		return t.flush()
	}, t.flush
}
