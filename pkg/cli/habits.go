package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Commands of Redis that stand for several operations. Commands that stand for one are aliases of it.

func mgetCommand() *cobra.Command {
	return reads(command("mget KEY...", "Print the values of several keys", `
Print the values of several keys at one moment, one per line. A key that does not exist is shown as (absent); that is
not an error.`,
		`  linchpin mget greeting visits`, 1, -1), func(s *session, keys []string, out *outcome) error {
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
}

func existsCommand() *cobra.Command {
	return reads(command("exists KEY...", "Print how many of the keys exist", `
Print how many of the keys exist. If none exists, the exit code is 1, for "if linchpin exists KEY" in a script.`,
		`  linchpin exists greeting`, 1, -1), func(s *session, _ []string, out *outcome) error {
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
}

func msetCommand() *cobra.Command {
	cmd := command("mset KEY VALUE [KEY VALUE...]", "Set several keys in one transaction", `
Set several keys to a value each in one transaction, and print the versions of the writes.`,
		`  linchpin mset greeting hello farewell bye`, 2, -1)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 || len(args)%2 != 0 {
			return usagef(cmd, "mset takes a value for each key, an even number of arguments; there are %d", len(args))
		}
		return nil
	}
	return connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		words, err := s.decodeAll(args)
		if err != nil {
			return err
		}
		var ops []client.Op
		for i := 0; i < len(words); i += 2 {
			ops = append(ops, client.PutOp(words[i], []byte(words[i+1])))
		}
		out, err := s.execute(ctx, nil, ops...)
		if err != nil {
			return err
		}
		return s.printSet(words, out)
	})
}

func (s *session) printSet(words []string, out *outcome) error {
	if out.ResultsLost {
		return s.resultsLost(out, "the versions are")
	}
	s.printReceipt(&out.Receipt)
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

func keysCommand() *cobra.Command {
	var f flags
	var p past
	cmd := command("keys [PREFIX*]", "List the keys with a prefix", `
List all keys in order, or those with a prefix. The pattern is PREFIX*; there are no other patterns. Short for
"linchpin scan --keys-only --prefix PREFIX".`,
		`  linchpin keys 'user:*'`, 0, 1)
	f.addTo(cmd, true)
	p.addTo(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		prefix := ""
		if len(args) > 0 {
			var ok bool
			prefix, ok = strings.CutSuffix(args[0], "*")
			if !ok || strings.ContainsAny(prefix, "*?[") {
				return usagef(cmd, "%q is not PREFIX*; to check one key: linchpin exists KEY", args[0])
			}
		}
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			return s.scan(ctx, &p, &scanning{prefix: prefix, keysOnly: true}, nil)
		})(cmd, args)
	}
	return cmd
}

// gotItem is a key and its value as JSON. The version of a key that does not exist is 0.0.0.
func (s *printer) gotItem(key string, r *pb.Result) item {
	it := s.keyItem(key)
	it.Found, it.Version = &r.Found, kv.Version{}.String()
	if r.Found {
		it = s.heldItem(it, r)
		it.TTL = ttlMillis(r)
	}
	return it
}

// missing is the error for a key that does not exist.
func missing(key string) error {
	return &kv.Error{Kind: kv.KindNotFound, Text: "the key does not exist", Key: []byte(key), Op: -1}
}
