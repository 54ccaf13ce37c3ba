package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// putFlags are the conditions, of which there can be one.
type putFlags struct {
	ifAbsent, ifExists bool
	ifValue, ifVersion string
	ttl                time.Duration
}

func putCommand() *cobra.Command {
	var f flags
	var c putFlags
	cmd := &cobra.Command{
		Use:     "put KEY VALUE",
		Aliases: []string{"set"},
		Short:   "Set a key to a value",
		Long: `Set a key to a value and print the version that this makes. If VALUE is a single
minus sign the value is read from standard input, every byte of it.

With one of the --if flags the key is only set if that holds; else nothing
changes, the exit code is 3, and the message tells what the key holds. Versions
are those that put and "get --output json" print.

With --ttl the key expires: it is deleted when that time is over, or soon after.
Without it the key stays, also if it was to expire before.`,
		Example: `  linchpin put greeting hello
  linchpin put picture - < picture.png
  linchpin put leader node-2 --if-value node-1
  linchpin put session:17 alice --ttl 30m`,
		Args: arguments(2, 2),
	}
	f.addTo(cmd, true)
	fs := cmd.Flags()
	fs.BoolVar(&c.ifAbsent, "if-absent", false, "only if the key does not exist")
	fs.BoolVar(&c.ifExists, "if-exists", false, "only if the key exists")
	fs.StringVar(&c.ifValue, "if-value", "", "only if the key has this value")
	fs.StringVar(&c.ifVersion, "if-version", "", "only if the key's value is of this version, as in 0.3.1742")
	fs.DurationVar(&c.ttl, "ttl", 0, "the key expires after this time, 1ms to 87600h")
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		op, err := s.putOp(&c, args)
		if err != nil {
			return err
		}
		out, err := s.execute(ctx, op)
		if err != nil {
			return err
		}
		return s.printWritten(out)
	})
	return cmd
}

func (s *session) putOp(c *putFlags, args []string) (op client.Op, err error) {
	given := 0
	for _, name := range []string{"if-absent", "if-exists", "if-value", "if-version"} {
		if s.cmd.Flags().Changed(name) {
			given++
		}
	}
	if given > 1 {
		return op, usagef(s.cmd, "put takes one condition, there are %d", given)
	}
	key, err := s.bytes(args[0])
	if err != nil {
		return op, err
	}
	value, err := s.valueArgument(args[1])
	if err != nil {
		return op, err
	}
	op = client.Put(key, value)
	if s.cmd.Flags().Changed("ttl") {
		op = op.WithTTL(c.ttl)
	}
	switch fs := s.cmd.Flags(); {
	case fs.Changed("if-absent") && !c.ifAbsent, fs.Changed("if-exists") && !c.ifExists:
		return op, usagef(s.cmd, "a condition is given as false; leave it out, or use the opposite one")
	case c.ifAbsent:
		op = op.IfAbsent()
	case c.ifExists:
		op = op.IfExists()
	case fs.Changed("if-value"):
		old, err := s.bytes(c.ifValue)
		if err != nil {
			return op, err
		}
		op = op.IfValue(old)
	case fs.Changed("if-version"):
		v, err := kv.ParseVersion(c.ifVersion)
		if err != nil {
			return op, usagef(s.cmd, "--if-version is %q, want MOVES.SHARD.WRITE as in 0.3.1742", c.ifVersion)
		}
		op = op.IfVersion(v)
	}
	return op, nil
}

// valueArgument reads a value from the command line, or from standard input.
func (s *session) valueArgument(arg string) ([]byte, error) {
	if arg != "-" {
		return s.bytes(arg)
	}
	most := kv.MaxValueBytes
	if s.flags.hex {
		most = 2*kv.MaxValueBytes + 2
	}
	b, err := readInput(s.cmd.InOrStdin(), "the value", most, "a value has at most 1048576 bytes; store a larger one in several keys")
	if err != nil || !s.flags.hex {
		return b, err
	}
	return s.bytes(string(b))
}

// maxCounted is how much of an input that is too long is read, to say how long it is.
const maxCounted = 1 << 30

// readInput reads all of an input of no more than most bytes, or says how many it has.
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

// printWritten tells the version of a single write.
func (s *session) printWritten(out *client.Outcome) error {
	if out.ResultsLost {
		return s.resultsLost(out, "the version is")
	}
	v := out.Results[0].Version.String()
	if s.json {
		return s.object(struct {
			Version string `json:"version"`
			TxnID   string `json:"txn_id"`
			receiptAnswer
		}{v, out.ID.String(), s.receiptObject(&out.Receipt)})
	}
	s.tellWait(&out.Receipt)
	return s.printf("version %s\n", v)
}
