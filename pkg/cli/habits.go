package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// The commands of Redis that are several operations, or none of ours, under their
// names there. Those that are one of ours are aliases of it.

func mgetCommand() *cobra.Command {
	var f flags
	var p past
	cmd := &cobra.Command{
		Use:   "mget KEY...",
		Short: "Print what several keys hold",
		Long: `Print what several keys hold, a line each, all as it was at one moment. A key that does
not exist is shown as (absent); that is no error.`,
		Example: `  linchpin mget greeting visits`,
		Args:    arguments(1, -1),
	}
	f.addTo(cmd, true)
	p.addTo(cmd)
	cmd.RunE = readsKeys(cmd, &f, &p, func(s *session, keys [][]byte, out *client.Outcome) error {
		if !s.json {
			t := s.table()
			for i := range keys {
				t.row(s.text(keys[i]), s.resultText("get", &out.Results[i]))
			}
			return t.flush()
		}
		for i := range keys {
			if err := s.object(s.gotItem(keys[i], &out.Results[i])); err != nil {
				return err
			}
		}
		return nil
	})
	return cmd
}

func existsCommand() *cobra.Command {
	var f flags
	var p past
	cmd := &cobra.Command{
		Use:   "exists KEY...",
		Short: "Print how many of some keys exist",
		Long: `Print how many of some keys exist. If none does the exit code is 1, so that
"if linchpin exists KEY" can be written in a script.`,
		Example: `  linchpin exists greeting`,
		Args:    arguments(1, -1),
	}
	f.addTo(cmd, true)
	p.addTo(cmd)
	cmd.RunE = readsKeys(cmd, &f, &p, func(s *session, _ [][]byte, out *client.Outcome) error {
		n := 0
		for i := range out.Results {
			if out.Results[i].Found {
				n++
			}
		}
		err := s.printf("%d\n", n)
		if s.json {
			err = s.object(map[string]int{"exist": n})
		}
		if err == nil && n == 0 {
			err = &quietError{ExitNotFound}
		}
		return err
	})
	return cmd
}

// readsKeys makes the RunE of a command that reads keys, now or in the past.
func readsKeys(cmd *cobra.Command, f *flags, p *past,
	show func(s *session, keys [][]byte, out *client.Outcome) error) func(*cobra.Command, []string) error {
	return connected(f, func(ctx context.Context, s *session, args []string) error {
		keys, ops := make([][]byte, len(args)), make([]client.Op, len(args))
		for i, arg := range args {
			key, err := s.bytes(arg)
			if err != nil {
				return err
			}
			keys[i], ops[i] = key, client.Get(key)
		}
		var out client.Outcome
		how, err := p.options(cmd, &out)
		if err != nil {
			return err
		}
		_, err = s.db.With(how...).Execute(ctx, ops...)
		if err != nil {
			return p.told(err)
		}
		s.tellPast(&out)
		s.tellWait(&out.Receipt)
		return show(s, keys, &out)
	})
}

func msetCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:     "mset KEY VALUE [KEY VALUE...]",
		Short:   "Set several keys, all in one transaction",
		Long:    `Set several keys to a value each, all in one transaction, and print the versions.`,
		Example: `  linchpin mset greeting hello farewell bye`,
	}
	f.addTo(cmd, true)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 || len(args)%2 != 0 {
			return usagef(cmd, "mset: a value for each key, so an even number of arguments; there are %d", len(args))
		}
		return nil
	}
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		words := make([][]byte, len(args))
		for i, arg := range args {
			var err error
			words[i], err = s.bytes(arg)
			if err != nil {
				return err
			}
		}
		var ops []client.Op
		for i := 0; i < len(words); i += 2 {
			ops = append(ops, client.Put(words[i], words[i+1]))
		}
		out, err := s.execute(ctx, ops...)
		if err != nil {
			return err
		}
		return s.printSet(words, out)
	})
	return cmd
}

func (s *session) printSet(words [][]byte, out *client.Outcome) error {
	if out.ResultsLost {
		return s.resultsLost(out, "the versions are")
	}
	s.tellWait(&out.Receipt)
	t := s.table()
	for i := range out.Results {
		version := out.Results[i].Version
		if !s.json {
			t.row(s.text(words[2*i]), "version "+version.String())
			continue
		}
		it := s.keyItem(words[2*i])
		it.Version = shownVersion(version)
		if err := s.object(it); err != nil {
			return err
		}
	}
	return t.flush()
}

func keysCommand(size func() (lines, columns int)) *cobra.Command {
	var f flags
	var p past
	cmd := &cobra.Command{
		Use:   "keys [PREFIX*]",
		Short: "List the keys that begin so",
		Long: `List keys in their order: all of them, or with a pattern that ends in * those that
begin so. It is "linchpin scan --keys-only --prefix PREFIX".`,
		Example: `  linchpin keys 'user:*'`,
		Args:    arguments(0, 1),
	}
	f.addTo(cmd, true)
	f.fits(cmd, size)
	p.addTo(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		prefix := ""
		if len(args) > 0 {
			var ok bool
			prefix, ok = strings.CutSuffix(args[0], "*")
			if !ok || strings.ContainsAny(prefix, "*?[") {
				return usagef(cmd, "%q is no pattern that is known: want PREFIX*; \"linchpin exists KEY\" asks for one key", args[0])
			}
		}
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			return s.scan(ctx, &p, &scanning{prefix: prefix, keysOnly: true}, nil)
		})(cmd, args)
	}
	return cmd
}

// gotItem is what a key holds, as JSON.
func (s *session) gotItem(key []byte, r *client.Result) item {
	it := s.keyItem(key)
	it.Found = &r.Found
	if r.Found {
		it = it.holding(s.printer, r.Type, r.TypeName, r.Value, r.Number, r.Version)
		it.TTL = ttlMillis(r)
	}
	return it
}

// missing is the error for a key that does not exist.
func missing(key []byte) error {
	return &kv.Error{Kind: kv.KindNotFound, Text: "the key does not exist", Key: key, Op: -1}
}
