package cli

import (
	"github.com/spf13/cobra"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// getCommand makes "get". raw: standard output is a file or a pipe.
func getCommand(raw bool) *cobra.Command {
	var bytes bool
	cmd := command("get KEY", "Print the value of a key", `
Print the value of a key. On a terminal a value that is not printable text is shown as a quoted
string with escapes. Into a file or a pipe the bytes are written as they are stored, without a newline
(--raw=false: as on a terminal). A counter is a number and a newline. --output json adds the type and the version.

If the key does not exist, the exit code is 1.`, `
  linchpin get greeting
  linchpin get picture > picture.png
  linchpin get --output json greeting
  linchpin get --snapshot before-import greeting`, 1, 1)
	cmd.Flags().BoolVar(&bytes, "raw", false, "write the bytes of the value as they are (default: into a file or a pipe)")
	return reads(cmd, func(s *session, keys []string, out *outcome) error {
		return s.printGot(keys[0], out, bytes || raw && !cmd.Flags().Changed("raw"))
	})
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
