package cli

import (
	"context"
	"encoding/hex"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/identity"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
)

const (
	// DefaultAddr is the address of a node that was started without --listen.
	DefaultAddr = "127.0.0.1:7070"
	// DefaultTimeout bounds a command, its retries and its queries of outcomes included.
	DefaultTimeout = 10 * time.Second

	formatTable = "table"
	formatJSON  = "json"
)

// flags are those of every command that connects to a cluster.
type flags struct {
	addrs   []string
	timeout time.Duration
	// lasts: the timeout is for the connection, and for each repetition of what the command does.
	lasts bool
	retry bool
	// wait: for shards whose node is known to be down.
	wait   bool
	output string
	hex    bool
	// size is that of the terminal, of commands whose tables depend on it; wide shows all columns.
	size func() (lines, columns int)
	wide bool
	// caller authenticates the user.
	caller identity.Flags
}

// addTo declares the flags; withHex adds --hex, for commands with keys.
func (f *flags) addTo(cmd *cobra.Command, withHex bool) {
	fs := cmd.Flags()
	fs.StringSliceVar(&f.addrs, "addr", []string{DefaultAddr},
		"nodes, as `HOST:PORT,...`; the first one that responds is used")
	fs.DurationVar(&f.timeout, "timeout", DefaultTimeout, "bound on the whole command, retries included; 0 for none")
	fs.BoolVar(&f.retry, "retry", true, "retry conflicts and unavailable nodes until --timeout")
	fs.BoolVar(&f.wait, "wait-for-shards", false,
		"wait until --timeout for shards whose node is down, instead of failing at once")
	outputFlag(cmd, &f.output)
	f.caller.AddTo(fs)
	GroupFlags(fs, ConnectionFlags, append([]string{"addr", "timeout", "retry", "wait-for-shards"}, identity.Names...)...)
	if withHex {
		fs.BoolVar(&f.hex, "hex", false, "read and show keys and values in hexadecimal")
	}
}

// outputFlag declares --output.
func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", formatTable, "output `format`: table, or json with one object per line")
}

// checkFormat rejects an unknown --output.
func checkFormat(cmd *cobra.Command, output string) error {
	if output != formatTable && output != formatJSON {
		return usagef(cmd, "--output is %q, want table or json", output)
	}
	return nil
}

// widens declares --wide; with says what it adds.
func (f *flags) widens(cmd *cobra.Command, size func() (lines, columns int), with string) {
	f.size = size
	cmd.Flags().BoolVar(&f.wide, "wide", false, with)
}

// printer makes what a command prints with.
func (f *flags) printer(out io.Writer) *printer {
	p := &printer{out: out, json: f.output == formatJSON, hex: f.hex}
	if f.size != nil && !f.wide {
		p.columns = func() int {
			_, columns := f.size()
			return columns
		}
	}
	return p
}

// session is a command that is connected.
type session struct {
	*printer
	flags *flags
	db    *client.DB
	// opts authenticate the caller, for connections to other nodes.
	opts []client.Option
	cmd  *cobra.Command
}

// connected makes the RunE of a command that connects to a cluster.
func connected(f *flags, run func(ctx context.Context, s *session, args []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		return f.connect(cmd, func(ctx context.Context, conn *connection) error {
			if f.lasts {
				ctx = cmd.Context()
			}
			return run(ctx, &session{printer: f.printer(cmd.OutOrStdout()), flags: f, db: conn.db, opts: conn.opts, cmd: cmd},
				args)
		})
	}
}

// connect runs a function with a connection. Its context ends after --timeout.
func (f *flags) connect(cmd *cobra.Command, run func(ctx context.Context, conn *connection) error) error {
	if err := checkFormat(cmd, f.output); err != nil {
		return err
	}
	ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
	if f.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
	}
	defer cancel()
	conn, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer conn.close()
	return run(ctx, conn)
}

// admin returns the calls of operators.
func (s *session) admin() *admin.Admin { return admin.New(s.db) }

// open connects to another node than that of --addr, in the same way. Its calls are not retried.
func (s *session) open(ctx context.Context, addr string) (*client.DB, error) {
	db, err := client.Open(ctx, []string{addr}, s.opts...)
	if err != nil {
		return nil, err
	}
	return db.With(client.NoRetry()), nil
}

// connection is one to a cluster.
type connection struct {
	db *client.DB
	// opts authenticate the caller.
	opts  []client.Option
	close func()
}

// open connects. A command of a shell uses the shell's connection, unless its flags differ.
func (f *flags) open(ctx context.Context) (*connection, error) {
	shared, _ := ctx.Value(sharedConnection{}).(*connection)
	if shared != nil && f.retry && !f.wait {
		return &connection{shared.db, shared.opts, func() {}}, nil
	}
	if shared != nil {
		return f.dial(ctx, shared.opts, func() {})
	}
	opts, done, err := f.caller.Options()
	if err != nil {
		return nil, err
	}
	return f.dial(ctx, opts, done)
}

// dial connects; done is called when the connection is closed, or there is none.
func (f *flags) dial(ctx context.Context, opts []client.Option, done func()) (*connection, error) {
	db, err := client.Open(ctx, f.addrs, opts...)
	if err != nil {
		done()
		return nil, err
	}
	if !f.retry {
		db = db.With(client.NoRetry())
	}
	if f.wait {
		db = db.With(client.WaitForNodes())
	}
	return &connection{db, opts, func() { _ = db.Close(); done() }}, nil
}

// decode reads a key or value from the command line.
func (s *session) decode(arg string) (string, error) {
	if !s.flags.hex {
		return arg, nil
	}
	b, err := hex.DecodeString(strings.TrimSpace(arg))
	if err != nil {
		return "", usagef(s.cmd, "%q is not hexadecimal; --hex reads keys and values in hexadecimal", arg)
	}
	return string(b), nil
}

// decodeAll reads keys and values from the command line.
func (s *session) decodeAll(args []string) ([]string, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		word, err := s.decode(arg)
		if err != nil {
			return nil, err
		}
		words[i] = word
	}
	return words, nil
}
