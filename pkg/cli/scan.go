package cli

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
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
	cmd := &cobra.Command{
		Use:     "scan [START [END]]",
		Aliases: []string{"ls"},
		Short:   "List keys and values in order",
		Long: `List the keys from START up to but without END, in the order of their bytes, with their types, values and
versions. Without END the scan goes to the last key, without START from the first. All rows are of one
moment after the start of the command.

On a terminal values are cut to fit. Into a file or a pipe the columns are separated by single tabs.`,
		Example: `  linchpin scan
  linchpin scan user:100 user:200 --limit 20
  linchpin scan --prefix log: --reverse --limit 5
  linchpin scan --prefix user: --count
  linchpin scan --as-of -5m`,
		Args: arguments(0, 2),
	}
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
	start, end, err := s.bounds(args, o.prefix)
	if err != nil {
		return err
	}
	var out client.Outcome
	how, err := p.options(s.cmd, &out)
	if err != nil {
		return err
	}
	pairs := s.db.With(how...).Scan(ctx, start, end, client.ScanOptions{Limit: o.limit, Reverse: o.reverse})
	if o.count {
		err = s.printCount(pairs)
	} else {
		err = s.printScan(pairs, o.keysOnly)
	}
	s.printPast(&out)
	s.printReceipt(&out.Receipt)
	return p.gone(err)
}

// printCount prints how many pairs there are.
func (s *session) printCount(pairs iter.Seq2[client.Pair, error]) error {
	n := 0
	for _, err := range pairs {
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
func (s *session) bounds(args []string, prefix string) (start, end []byte, err error) {
	if prefix != "" {
		start, err = s.bytes(prefix)
		return start, afterPrefix(start), err
	}
	if len(args) > 0 {
		start, err = s.bytes(args[0])
		if err != nil {
			return nil, nil, err
		}
	}
	if len(args) > 1 {
		end, err = s.bytes(args[1])
	}
	return start, end, err
}

// afterPrefix is the least key that is greater than all that begin with p;
// nil if there is none.
func afterPrefix(p []byte) []byte {
	end := append([]byte(nil), p...)
	for len(end) > 0 {
		end[len(end)-1]++
		if end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}

// printScan prints a row for each pair as it arrives: on a terminal in a table, whose widths are found
// for tableRows at a time, and elsewhere without padding.
func (s *session) printScan(pairs iter.Seq2[client.Pair, error], keysOnly bool) error {
	write, flush := s.scanRows()
	n := 0
	for p, err := range pairs {
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
			err = s.object(s.keyItem(p.Key))
		case s.json:
			err = s.object(s.pairItem(&p))
		case keysOnly:
			err = s.printf("%s\n", s.text(p.Key))
		default:
			err = write([]string{s.text(p.Key), p.TypeName, s.value(p.Type, p.TypeName, p.Value, p.Number), p.Version.String()})
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
