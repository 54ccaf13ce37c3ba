package cli

import (
	"github.com/spf13/cobra"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// getCommand makes "get". raw: standard output is a file or a pipe.
func getCommand(raw bool) *cobra.Command {
	var f flags
	var bytes bool
	var p past
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Print the value of a key",
		Long: `Print the value of a key. On a terminal a value that is not printable text is shown as a quoted
string with escapes. Into a file or a pipe the bytes are written as they are stored, without a newline
(--raw=false: as on a terminal). A counter is a number and a newline. --output json adds the type and the version.

If the key does not exist, the exit code is 1.`,
		Example: `  linchpin get greeting
  linchpin get picture > picture.png
  linchpin get --output json greeting
  linchpin get --snapshot before-import greeting`,
		Args: arguments(1, 1),
	}
	f.addTo(cmd, true)
	p.addTo(cmd)
	cmd.Flags().BoolVar(&bytes, "raw", false, "write the bytes of the value as they are (default: into a file or a pipe)")
	cmd.RunE = readsKeys(&f, &p, func(s *session, keys []string, out *outcome) error {
		return s.printGot(keys[0], out, bytes || raw && !cmd.Flags().Changed("raw"))
	})
	return cmd
}

func (s *printer) printGot(key string, out *outcome, raw bool) error {
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
	case raw && r.Type == pb.DataType_VALUE:
		_, err := s.out.Write(r.Value)
		return err
	}
	return s.printf("%s\n", s.held(r))
}
