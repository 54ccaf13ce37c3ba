package cli

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// tableRows is after how many rows of a table the widths are found anew. A
// scan can be long, and its rows are not kept.
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
		Short:   "List keys in order",
		Long: `List the keys from START up to but without END, in the order of their bytes, with
what they hold. Without END to the last key, without START from the first. All is
as it was at one moment after the command was started.

Keys and values are shown as "linchpin get" shows them.`,
		Example: `  linchpin scan
  linchpin scan user:100 user:200 --limit 20
  linchpin scan --prefix log: --reverse --limit 5
  linchpin scan --prefix user: --count
  linchpin scan --as-of -5m`,
		Args: arguments(0, 2),
	}
	f.addTo(cmd, true)
	f.fits(cmd, size)
	p.addTo(cmd)
	fs := cmd.Flags()
	fs.StringVar(&o.prefix, "prefix", "", "list the keys that begin with this instead")
	fs.IntVar(&o.limit, "limit", 0, "stop after so many keys; 0 is all")
	fs.BoolVar(&o.keysOnly, "keys-only", false, "show no values")
	fs.BoolVar(&o.reverse, "reverse", false, "begin with the last key")
	fs.BoolVar(&o.count, "count", false, "print only how many keys there are")
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		if o.limit < 0 {
			return usagef(cmd, "--limit is %d, want 0 or more", o.limit)
		}
		if fs.Changed("prefix") && len(args) > 0 {
			return usagef(cmd, "--prefix and START do not go together")
		}
		return s.scan(ctx, &p, &o, args)
	})
	return cmd
}

// scan lists what a scan asks for.
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
	s.tellPast(&out)
	s.tellWait(&out.Receipt)
	return p.told(err)
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

// bounds gives the range that the command line asks for.
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

func (s *session) printScan(pairs iter.Seq2[client.Pair, error], keysOnly bool) error {
	var t *table
	n := 0
	for p, err := range pairs {
		if err != nil {
			return s.afterRows(t, err)
		}
		n++
		if s.json {
			it := s.keyItem(p.Key)
			if !keysOnly {
				it = s.pairItem(&p)
			}
			if err := s.object(it); err != nil {
				return err
			}
			continue
		}
		switch {
		case t == nil && keysOnly:
			t = s.table()
		case t == nil:
			t = s.table("KEY", "TYPE", "VALUE", "VERSION")
		}
		if keysOnly {
			t.row(s.text(p.Key))
		} else {
			t.row(s.text(p.Key), p.TypeName, s.value(p.Type, p.TypeName, p.Value, p.Number), p.Version.String())
		}
		if n%tableRows == 0 {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	return s.afterRows(t, nil)
}

// afterRows writes what a table has kept back, also before an error.
func (s *session) afterRows(t *table, err error) error {
	if t != nil {
		if e := t.flush(); err == nil {
			return e
		}
	}
	return err
}
