package cli

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
)

const (
	// DefaultAddr is where a node listens that was not told otherwise.
	DefaultAddr = "127.0.0.1:7070"
	// DefaultTimeout bounds a command, retries and enquiries included.
	DefaultTimeout = 10 * time.Second

	formatTable = "table"
	formatJSON  = "json"
)

// flags are those that every command has which talks to a cluster.
type flags struct {
	addrs   []string
	timeout time.Duration
	retry   bool
	output  string
	hex     bool
}

// addTo declares the flags; withHex adds --hex, for commands with keys.
func (f *flags) addTo(cmd *cobra.Command, withHex bool) {
	fs := cmd.Flags()
	fs.StringSliceVar(&f.addrs, "addr", []string{DefaultAddr}, "addresses of nodes, separated by commas; the first that answers is used")
	fs.DurationVar(&f.timeout, "timeout", DefaultTimeout, "how long to try, retries included; 0 is without end")
	fs.BoolVar(&f.retry, "retry", true, "try again what lost against others or found nobody, until the timeout")
	fs.StringVarP(&f.output, "output", "o", formatTable, "table, or json: one object a line")
	if withHex {
		fs.BoolVar(&f.hex, "hex", false, "keys and values are given and shown in hexadecimal")
	}
}

// session is what a command has to work with once it is connected.
type session struct {
	*printer
	flags *flags
	db    *client.DB
	cmd   *cobra.Command
}

// connected makes the RunE of a command that talks to a cluster.
func connected(f *flags, run func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if f.output != formatTable && f.output != formatJSON {
			return usagef(cmd, "--output is %q, want table or json", f.output)
		}
		ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
		if f.timeout > 0 {
			ctx, cancel = context.WithTimeout(ctx, f.timeout)
		}
		defer cancel()
		db, err := client.Open(ctx, f.addrs, client.WithRetries(f.retry))
		if err != nil {
			return err
		}
		defer db.Close()
		p := &printer{out: cmd.OutOrStdout(), json: f.output == formatJSON, hex: f.hex}
		return run(ctx, &session{printer: p, flags: f, db: db, cmd: cmd}, args)
	}
}

// bytes reads a key or value from the command line.
func (s *session) bytes(arg string) ([]byte, error) {
	if !s.flags.hex {
		return []byte(arg), nil
	}
	b, err := hex.DecodeString(strings.TrimSpace(arg))
	if err != nil {
		return nil, usagef(s.cmd, "%q is not hexadecimal, which --hex asks for", arg)
	}
	return b, nil
}
