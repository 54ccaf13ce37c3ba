package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func getCommand() *cobra.Command {
	var f flags
	var raw bool
	var p past
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Print what a key holds",
		Long: `Print the value of a key: text as it is, anything else as a quoted string with
escapes, a counter as a number. With --raw the bytes of the value come out
exactly as they are stored, without a newline. With --output json there are the
type and the version too.

If the key does not exist, nothing is printed and the exit code is 1.`,
		Example: `  linchpin get greeting
  linchpin get --raw picture > picture.png
  linchpin get --output json greeting
  linchpin get --snapshot before-import greeting`,
		Args: arguments(1, 1),
	}
	f.addTo(cmd, true)
	p.addTo(cmd)
	cmd.Flags().BoolVar(&raw, "raw", false, "write the bytes of the value as they are")
	cmd.RunE = readsKey(cmd, &f, &p, func(s *session, key []byte, out *client.Outcome) error {
		return s.printGot(key, out, raw)
	})
	return cmd
}

// readsKey makes the RunE of a command that reads a key, now or in the past.
func readsKey(cmd *cobra.Command, f *flags, p *past, show func(s *session, key []byte, out *client.Outcome) error) func(*cobra.Command, []string) error {
	return connected(f, func(ctx context.Context, s *session, args []string) error {
		key, err := s.bytes(args[0])
		if err != nil {
			return err
		}
		var out client.Outcome
		how, err := p.options(cmd, &out)
		if err != nil {
			return err
		}
		if _, err := s.db.With(how...).Execute(ctx, client.Get(key)); err != nil {
			return p.told(err)
		}
		s.tellPast(&out)
		s.tellWait(&out.Receipt)
		return show(s, key, &out)
	})
}

func (s *session) printGot(key []byte, out *client.Outcome, raw bool) error {
	r := &out.Results[0]
	missing := &kv.Error{Kind: kv.KindNotFound, Text: "the key does not exist", Key: key, Op: -1}
	if s.json {
		it := s.keyItem(key)
		if it.Found = &r.Found; r.Found {
			it = it.holding(s.printer, r.Type, r.TypeName, r.Value, r.Number, r.Version)
			it.TTL = ttlMillis(r)
		}
		it.receiptAnswer = s.receiptObject(&out.Receipt)
		if err := s.object(it); err != nil || r.Found {
			return err
		}
		return &quietError{ExitNotFound}
	}
	switch {
	case !r.Found:
		return missing
	case raw && r.Type == client.TypeRegister:
		_, err := s.out.Write(r.Value)
		return err
	}
	return s.printf("%s\n", s.value(r.Type, r.TypeName, r.Value, r.Number))
}
