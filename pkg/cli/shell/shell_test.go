package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/peterh/liner"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// TestMain is a shell itself if it gets the address of a node: the tests on a terminal
// run it that way.
func TestMain(m *testing.M) {
	if addr := os.Getenv("LINCHPIN_TEST_SHELL"); addr != "" {
		root := cli.New(cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
		root.AddCommand(Command(cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
			Size: func() (int, int) { return 24, 80 }}))
		os.Exit(cli.Main(context.Background(), root,
			[]string{"shell", "--addr", addr, "--history", os.Getenv("LINCHPIN_TEST_HISTORY")}))
	}
	goleak.VerifyTestMain(m)
}

// serve serves a store in memory.
func serve(t *testing.T) (addr string) {
	t.Helper()
	return serveBackend(t, servertest.New())
}

func serveBackend(t *testing.T, b server.Backend) (addr string) {
	t.Helper()
	return servertest.Serve(t, b, "", server.Options{}).Addr
}

// runScript runs lines from standard input.
func runScript(t *testing.T, addr, in string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	s := cli.Streams{In: strings.NewReader(in), Out: &o, Err: &e}
	root := cli.New(s)
	root.AddCommand(Command(s))
	code = cli.Main(t.Context(), root, []string{"shell", "--addr", addr})
	return code, o.String(), e.String()
}

// TestRedisHabitsInTheShell: its names, in whatever letters.
func TestRedisHabitsInTheShell(t *testing.T) {
	addr := serve(t)
	code, out, errs := runScript(t, addr, "SET a 1\nMULTI\nset b 2\nINCR n\nSADD team ann\nDEL a\nEXEC\nMGET a b n\n"+
		"multi\nrm b\ndiscard\nGET b\n")
	require.Zero(t, code, errs)
	require.Contains(t, out, "a  (absent)\nb  2\nn  1\ndeleted\n2\n")
	require.Contains(t, errs, "rolled back: nothing was applied")
}

func TestAScriptRunsLineByLine(t *testing.T) {
	code, out, errs := runScript(t, serve(t), `# a comment, and an empty line

put greeting "hello  world"
get greeting
sadd team ann bob ann
begin
incr visits 5
get \
  greeting
put other 1; sadd team eve
`+`call team set.len
rollback
begin
put other 2
sadd team eve
smembers team
commit
get other
add visits 2; incr visits
`)
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, "hello  world\n2\n5\nhello  world\n")
	require.Contains(t, out, "done\n1\nann bob eve\n")
	require.Contains(t, out, "\ncommitted ")
	require.Contains(t, out, "\n2\n   OPERATION", "what was rolled back was not applied")
	require.Contains(t, out, `incr "visits"`)
	require.Contains(t, errs, "rolled back: nothing was applied")
}

func TestTheFirstErrorEndsAScript(t *testing.T) {
	addr := serve(t)
	for _, tc := range []struct {
		name, in   string
		code       int
		says       []string
		saysNot    string
		appliedNot string
	}{
		{"a command's", "get nothing\nput later 1\n", cli.ExitNotFound, []string{"linchpin: "}, "transaction", "later"},
		{"an unknown command", "gte x\n", cli.ExitUsage, []string{`there is no command "gte"; did you mean get?`},
			"transaction", ""},
		{"a condition in a transaction", "begin\nput a 1\nrequire b exists\nput c 1\ncommit\n", cli.ExitCondition,
			[]string{"The transaction is rolled back: nothing was applied."}, "still open", "a"},
		{"a line that cannot be read", "begin\nput d 1\nput d\ncommit\n", cli.ExitUsage,
			[]string{"expected a value", "still open"}, "committed", "d"},
		{"the end in a transaction", "begin\nput e 1\n", cli.ExitUsage, []string{"the input ends with an open transaction"},
			"", "e"},
		{"a commit of nothing", "commit\n", cli.ExitUsage, []string{"there is no open transaction"}, "", ""},
		{"a command that is no operation", "begin\nput f 1\noutcome x\n", cli.ExitUsage,
			[]string{"outcome cannot be part of a transaction", "still open"}, "", "f"},
		{"a write that is read-only", "begin read-only\nput g 1\ncommit\n", cli.ExitUsage, []string{"rolled back"}, "", "g"},
		{"a flag", "get x --nonsense\n", cli.ExitUsage, []string{"unknown flag"}, "", ""},
		{"a second begin", "begin\nbegin\n", cli.ExitUsage, []string{"transactions do not nest", "still open"}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, errs := runScript(t, addr, tc.in)
			require.Equal(t, tc.code, code, "%s%s", out, errs)
			for _, w := range tc.says {
				require.Contains(t, errs, w)
			}
			if tc.saysNot != "" {
				require.NotContains(t, out+errs, tc.saysNot)
			}
			if tc.appliedNot != "" {
				code, out, _ = runScript(t, addr, "get "+tc.appliedNot)
				require.Equal(t, cli.ExitNotFound, code, out)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	addr := serve(t)
	code, out, errs := runScript(t, addr, "put a 1\n\\output json\nget a\nbegin\nget a\ncommit\n\\output table\n\\hex "+
		"on\nget 61\n\\hex\n\\timing on\nget a\n")
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, `"key":"a"`)
	require.Contains(t, out, `"op":"get"`)
	require.Contains(t, out, `"txn_id":`)
	require.Contains(t, out, "\n31\n", "in hexadecimal")
	require.Contains(t, errs, "took ")
	code, _, errs = runScript(t, addr, `\output xml`)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, `\output table, or \output json`)
}

func TestHelpHasExamples(t *testing.T) {
	addr := serve(t)
	for _, c := range []string{"begin", "commit", "rollback", "savepoint", "release", "help", "exit", "get", "zadd", "hot",
		"add", "snapshot create"} {
		code, out, errs := runScript(t, addr, "help "+c)
		require.Equal(t, 0, code, errs)
		require.Contains(t, out, "Examples:", c)
	}
	code, out, errs := runScript(t, addr, "help")
	require.Equal(t, 0, code, errs)
	for _, w := range []string{"begin [read-only]", `\timing`, "  get ", "zrangebyscore"} {
		require.Contains(t, out, w)
	}
}

// typed are lines as a user types them; what the shell has said before each is asked
// for by a test.
type typed struct{ lines []string }

func (l *typed) line(string) (string, error) {
	if len(l.lines) == 0 {
		return "", io.EOF
	}
	first := l.lines[0]
	l.lines = l.lines[1:]
	if first == "^C" {
		return "", errInterrupted
	}
	return first, nil
}

func (*typed) done(string) {}
func (*typed) close()      {}

// newShell is an interactive one without a terminal.
func newShell(t *testing.T, in ...string) (s *Shell, out, errs *bytes.Buffer) {
	t.Helper()
	addr := serve(t)
	db, err := client.Open(t.Context(), []string{addr})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	return &Shell{db: db, settings: cli.Settings{Addrs: []string{addr}, Timeout: 10 * time.Second},
		streams: cli.Streams{Out: out, Err: errs},
		lines:   &typed{in}, interactive: true, interrupts: context.WithCancel}, out, errs
}

func TestOnATerminalAnErrorDoesNotEndTheShell(t *testing.T) {
	s, out, errs := newShell(t, "nonsense", "begin", "put a 1", "put a", "^C", "get a", "commit", "get a", "begin",
		"require b exists", "get a", "begin", "put a 2")
	require.NoError(t, s.run(t.Context()))
	require.Contains(t, errs.String(), "there is no command")
	require.Contains(t, errs.String(), "The transaction is still open.")
	require.Contains(t, out.String(), "done\n1\ncommitted ")
	require.True(t, strings.HasSuffix(out.String(), "1\n1\ndone\n"), out)
	require.Contains(t, errs.String(), "The transaction is rolled back: nothing was applied.")
	require.True(t, strings.HasSuffix(errs.String(), "The open transaction is rolled back: nothing was applied.\n"), errs)
}

func TestSavepoints(t *testing.T) {
	s, out, errs := newShell(t, "begin", "put a 1", "savepoint x", "put a 2", "require b exists", "get a", "commit",
		"rollback to x", "get a", "rollback to y", "rollback to x", "release x", "savepoint", "commit", "get a",
		"savepoint z", "begin read-only", "savepoint z", "rollback")
	require.NoError(t, s.run(t.Context()))
	require.Equal(t, 4, strings.Count(errs.String(),
		`The transaction is still open, but continues only after "rollback to" a savepoint.`), errs)
	require.Contains(t, errs.String(), "savepoint takes the name of a savepoint")
	require.Contains(t, errs.String(), "a read-only transaction has no savepoints")
	require.Contains(t, errs.String(), "there is no open transaction")
	require.True(t, strings.HasSuffix(out.String(), "1\n"), "what the savepoint took back is not applied: %s", out)
	require.Contains(t, out.String(), "committed ")
}

func TestAnInterruptEndsWhatRuns(t *testing.T) {
	s, _, _ := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.interrupts = func(context.Context) (context.Context, context.CancelFunc) { return ctx, cancel }
	require.NoError(t, s.do(t.Context(), "begin"))
	err := s.do(t.Context(), "put a 1")
	require.Error(t, err)
	require.Contains(t, err.Error(), "rolled back")
	require.Nil(t, s.tx)
}

// wounding is a store that gives up each transaction that commits, as if for an older one.
type wounding struct{ *servertest.Store }

func (w wounding) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	tx, err := w.Store.Begin(ctx, o)
	return wounded{tx}, err
}

type wounded struct{ server.Tx }

func (w wounded) Commit(context.Context) gateway.Response {
	w.Rollback()
	return gateway.Response{ID: w.ID(), Attempts: 1,
		Err: kv.Errorf(kv.KindAborted, "an older transaction waited for a lock")}
}

func TestACommitThatFailsSaysWhy(t *testing.T) {
	code, _, errs := runScript(t, serveBackend(t, wounding{servertest.New()}), "begin\nput a 1\ncommit\n")
	require.Contains(t, errs, "an older transaction waited for a lock")
	require.Contains(t, errs, "The transaction is rolled back: nothing was applied.")
	require.Equal(t, cli.ExitCode(kv.Errorf(kv.KindAborted, "")), code)
}

// TestAnInterruptEndsAScriptThatWaitsForItsInput: so it does if a transaction is open.
func TestAnInterruptEndsAScriptThatWaitsForItsInput(t *testing.T) {
	addr := serve(t)
	for _, lines := range []string{"put a 1\n", "begin\nput a 2\n"} {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		late := time.AfterFunc(20*time.Second, func() { close(over) })
		first := true
		in := reader(func(b []byte) (int, error) {
			if first {
				first = false
				return copy(b, lines), nil
			}
			cancel()
			<-over
			return 0, io.EOF
		})
		var errs bytes.Buffer
		s := cli.Streams{In: in, Out: io.Discard, Err: &errs}
		root := cli.New(s)
		root.AddCommand(Command(s))
		code := cli.Main(ctx, root, []string{"shell", "--addr", addr})
		require.True(t, late.Stop(), "only the end of its input has ended it")
		close(over)
		require.Equal(t, cli.ExitCode(kv.Errorf(kv.KindCancelled, "")), code)
		require.Contains(t, errs.String(), "interrupted")
		require.Equal(t, strings.HasPrefix(lines, "begin"),
			strings.Contains(errs.String(), "the open transaction is rolled back"), errs.String())
	}
}

// reader is an input that a function gives.
type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// TestTheEndOfTheInputGivesUpALineThatGoesOn: on a terminal; a script's last line can
// end in a backslash.
func TestTheEndOfTheInputGivesUpALineThatGoesOn(t *testing.T) {
	s, out, errs := newShell(t, `put a 1 \`)
	require.NoError(t, s.run(t.Context()))
	require.Empty(t, out.String()+errs.String(), "nothing has run")
	code, said, _ := runScript(t, serve(t), `put a 1 \`)
	require.Zero(t, code)
	require.Contains(t, said, "version ")
}

func TestCompletion(t *testing.T) {
	s, _, _ := newShell(t)
	for _, line := range []string{"put fruit:apple 1", "put fruit:pear 2", "put zebra 3", `put "with space" 4`,
		"incr visits"} {
		require.NoError(t, s.do(t.Context(), line))
	}
	for _, tc := range []struct {
		head, before string
		has          []string
		hasNot       string
	}{
		{"ge", "", []string{"get"}, "put"},
		{"beg", "", []string{"begin"}, "get"},
		{`\ti`, "", []string{`\timing`}, "get"},
		{"get fru", "get ", []string{"fruit:apple", "fruit:pear"}, "zebra"},
		{"get a; put z", "get a; put ", []string{"zebra"}, "fruit:pear"},
		{"get wi", "get ", nil, "with space"},
		{"call team set.ad", "call team ", []string{"set.add", "set.add-count"}, "set.len"},
		{"hot p", "hot ", []string{"pin"}, "ban"},
		{"snapshot ", "snapshot ", []string{"create", "drop", "list"}, ""},
		{"scan --pre", "scan ", []string{"--prefix"}, "--limit"},
		{"help zr", "help ", []string{"zrange", "zrem"}, "get"},
		{"types so", "types ", []string{"sorted-set"}, "set"},
		{`\output j`, `\output `, []string{"json"}, "table"},
		{"begin r", "begin ", []string{"read-only"}, ""},
		{"get a b", "get a ", nil, ""},
	} {
		before, offers := s.complete(tc.head)
		require.Equal(t, tc.before, before, tc.head)
		require.Subset(t, offers, tc.has, tc.head)
		if tc.hasNot != "" {
			require.NotContains(t, offers, tc.hasNot, tc.head)
		}
		if tc.has == nil {
			require.Empty(t, offers, tc.head)
		}
	}
}

func TestKeysThatAreSeenAreBounded(t *testing.T) {
	var k seenKeys
	for i := range 2 * maxSeen {
		k.note([]string{"get", strings.Repeat("k", i%maxSeen+1)})
	}
	require.Len(t, k.keys, maxSeen)
	k.note([]string{"status", "x"})
	require.NotContains(t, k.keys, "x")
}

func TestHistoryIsForItsOwnerOnlyAndHasNoSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "history")
	h := history{path}
	require.NoError(t, h.load(func(io.Reader) (int, error) { return 0, errors.New("there is none yet") }))
	require.NoError(t, h.save(func(w io.Writer) (int, error) { return io.WriteString(w, "get a\n") }))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	dir, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), dir.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
	require.NoError(t, history{}.save(nil))
	target := path
	path = filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(target, path))
	require.NoError(t, history{path}.save(func(w io.Writer) (int, error) { return io.WriteString(w, "get b\n") }))
	read, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "get b\n", string(read), "what a link is to is written, and not the link")

	require.True(t, kept("put greeting hello"))
	for _, c := range []string{"", " put private x", "user add ann --password s3cret", "get a --Token=abc",
		"login --client-secret x"} {
		require.False(t, kept(c), c)
	}
}

// TestALineThatIsTooLongDoesNotCostTheHistoryBehindIt: nor does one that is not text.
func TestALineThatIsTooLongDoesNotCostTheHistoryBehindIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	require.NoError(t, os.WriteFile(path, []byte("get a\nput b "+strings.Repeat("x", 5000)+"\nget \xff\nget c\n"), 0o600))
	e := &editor{State: liner.NewLiner(), history: history{path}, errs: io.Discard}
	require.NoError(t, e.history.load(e.ReadHistory))
	e.close()
	saved, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "get a\nget c\n", string(saved))
}
