package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// putFlags are the condition and the time to live of a put.
type putFlags struct {
	conditions
	ttl time.Duration
}

func putCommand() *cobra.Command {
	var c putFlags
	cmd := command("put KEY VALUE", "Set a key to a value", `
Set a key to a value and print the version of the write. If VALUE is a single minus sign, the value is
read from standard input.

With one of the --if flags the key is set only if the condition holds. If it does not, nothing changes, the
exit code is 3, and the error shows what the key holds. Versions are shown by "put" and "get --output json".

With --ttl the key expires: it is deleted after that time. Without --ttl a put removes the time to live that
the key had; a put with a condition reports that.`, `
  linchpin put greeting hello
  linchpin put picture - < picture.png
  linchpin put leader node-2 --if-value node-1
  linchpin put session:17 alice --ttl 30m`, 2, 2)
	cmd.Aliases = []string{"set"}
	c.addTo(cmd, true)
	cmd.Flags().DurationVar(&c.ttl, "ttl", 0, "let the key expire after this time, 1ms to 87600h (default: never)")
	return connects(cmd, true, func(ctx context.Context, s *session, args []string) error {
		ops, err := s.putOps(&c, args)
		if err != nil {
			return err
		}
		out, err := s.execute(ctx, nil, ops...)
		if err != nil {
			return err
		}
		return s.printPut(out)
	})
}

// putOps are the operations of a put. A put with a condition and without a time to live has a read
// before it, of the time to live that it removes.
func (s *session) putOps(c *putFlags, args []string) ([]client.Op, error) {
	flag, err := c.given(s.cmd)
	if err != nil {
		return nil, err
	}
	key, err := s.decode(args[0])
	if err != nil {
		return nil, err
	}
	value, err := s.valueArgument(args[1])
	if err != nil {
		return nil, err
	}
	var opts []client.PutOption
	condition, err := c.condition(s, flag)
	if err != nil {
		return nil, err
	}
	if condition != nil {
		opts = append(opts, condition)
	}
	expires := s.cmd.Flags().Changed("ttl")
	if expires {
		opts = append(opts, client.TTL(c.ttl))
	}
	ops := []client.Op{client.PutOp(key, []byte(value), opts...)}
	if expires || flag == "" || flag == "if-absent" {
		return ops, nil
	}
	return append([]client.Op{client.GetForUpdateOp(key)}, ops...), nil
}

// valueArgument reads a value from the command line, or from standard input.
func (s *session) valueArgument(arg string) (string, error) {
	if arg != "-" {
		return s.decode(arg)
	}
	most := kv.MaxValueBytes
	if s.flags.hex {
		most = 2*kv.MaxValueBytes + 2
	}
	b, err := readInput(s.cmd.InOrStdin(), "the value", most,
		"a value has at most 1 MiB; store a larger one in several keys")
	if err != nil {
		return "", err
	}
	return s.decode(string(b))
}

// maxCounted is how much of an input that is too long is read, to say how long it is.
const maxCounted = 1 << 30

// readInput reads all of an input of at most most bytes. The error for a longer one has its length.
func readInput(in io.Reader, what string, most int, hint string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err != nil || len(b) <= most {
		return b, err
	}
	more, err := io.Copy(io.Discard, io.LimitReader(in, maxCounted))
	size := fmt.Sprint(int64(len(b)) + more)
	if err != nil || more == maxCounted {
		size = "more than " + size
	}
	return nil, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: what + " has " + size + " bytes", Hint: hint}
}

// printPut prints the version of a put, and whether its time to live was removed.
func (s *session) printPut(out *outcome) error {
	lost := ""
	if len(out.Results) > 1 {
		lost = lostTTL(&out.Results[0])
		out.Results = out.Results[1:]
	}
	return s.printWritten(out, lost)
}

// printWritten prints the version of a single write, and a remark.
func (s *session) printWritten(out *outcome, remark string) error {
	if out.ResultsLost {
		return s.resultsLost(out, "the version is")
	}
	v := out.Results[0].Version.String()
	if s.json {
		return s.object(struct {
			Version string `json:"version"`
			TxnID   string `json:"txn_id"`
			receiptAnswer
		}{v, out.TxID.String(), s.receiptObject(&out.Receipt)})
	}
	s.printReceipt(&out.Receipt)
	return s.printf("version %s%s\n", v, remark)
}
