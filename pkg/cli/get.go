package cli

import (
	"github.com/spf13/cobra"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// getCommand makes "get". file: it writes to one.
func getCommand(file bool) *cobra.Command {
	var f flags
	var raw bool
	var p past
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Print what a key holds",
		Long: `Print the value of a key: text as it is, anything else as a quoted string with
escapes, a counter as a number. Into a file, and with --raw, the bytes of the value
come out exactly as they are stored, without a newline. With --output json there are
the type and the version too.

If the key does not exist, nothing is printed and the exit code is 1.`,
		Example: `  linchpin get greeting
  linchpin get picture > picture.png
  linchpin get --raw picture | file -
  linchpin get --output json greeting
  linchpin get --snapshot before-import greeting`,
		Args: arguments(1, 1),
	}
	f.addTo(cmd, true)
	p.addTo(cmd)
	cmd.Flags().BoolVar(&raw, "raw", false, "write the bytes of the value as they are")
	cmd.RunE = readsKeys(cmd, &f, &p, func(s *session, keys [][]byte, out *client.Outcome) error {
		return s.printGot(keys[0], out, raw || file && !cmd.Flags().Changed("raw"))
	})
	return cmd
}

func (s *session) printGot(key []byte, out *client.Outcome, raw bool) error {
	r := &out.Results[0]
	switch {
	case s.json:
		it := s.gotItem(key, r)
		it.receiptAnswer = s.receiptObject(&out.Receipt)
		err := s.object(it)
		if err == nil && !r.Found {
			err = &quietError{ExitNotFound}
		}
		return err
	case !r.Found:
		return missing(key)
	case raw && r.Type == client.TypeRegister:
		_, err := s.out.Write(r.Value)
		return err
	}
	return s.printf("%s\n", s.value(r.Type, r.TypeName, r.Value, r.Number))
}
