package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
)

// refusing is a standard output that cannot be written.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

// writing are the commands that commit a transaction, with what comes before; each is run on keys of
// its own. Commands of data types come with a key and the least arguments.
var writing = map[string][][]string{
	"put":     {{"put", "k", "v"}},
	"mset":    {{"mset", "k", "v", "l", "w"}},
	"incr":    {{"incr", "n"}},
	"del":     {{"put", "k", "v"}, {"del", "k"}},
	"expire":  {{"put", "k", "v"}, {"expire", "k", "1h"}},
	"persist": {{"put", "k", "v"}, {"persist", "k"}},
	"txn":     {{"txn", "put k v; incr n"}},
	"call":    {{"call", "s", "set.add-count", "a"}},
	"incrby":  {{"incrby", "n", "2"}}, "decr": {{"decr", "n"}}, "decrby": {{"decrby", "n", "2"}},
	"sadd": {{"sadd", "s", "a"}}, "srem": {{"sadd", "s", "a"}, {"srem", "s", "a"}},
	"hset": {{"hset", "h", "f", "v"}}, "hsetnx": {{"hsetnx", "h", "f", "v"}},
	"hdel":    {{"hset", "h", "f", "v"}, {"hdel", "h", "f"}},
	"hincrby": {{"hincrby", "h", "f", "2"}},
	"zadd":    {{"zadd", "z", "1", "a"}}, "zincrby": {{"zincrby", "z", "1", "a"}},
	"zrem":    {{"zadd", "z", "1", "a"}, {"zrem", "z", "a"}},
	"bcreate": {{"bcreate", "b", "0", "9", "5"}}, "badd": {{"bcreate", "b", "0", "9", "5"}, {"badd", "b", "1"}},
	"bsub":   {{"bcreate", "b", "0", "9", "5"}, {"bsub", "b", "1"}},
	"sumadd": {{"sumadd", "g", "1"}}, "topadd": {{"topadd", "t", "1", "a"}},
	"rpush": {{"rpush", "l", "a"}}, "ltrim": {{"rpush", "l", "a"}, {"ltrim", "l", "0", "0"}},
}

// silent print nothing but in JSON.
var silent = strings.Fields("ltrim zrem hset bcreate hdel zadd sumadd topadd")

// changing are those that change something else than keys.
var changing = map[string][][]string{
	"snapshot create": {{"snapshot", "create", "s"}},
	"snapshot drop":   {{"snapshot", "create", "s"}, {"snapshot", "drop", "s"}},
	"hot pin":         {{"hot", "pin", "k"}}, "hot ban": {{"hot", "ban", "k"}}, "hot unpin": {{"hot", "unpin", "k"}},
	"hot mode":    {{"hot", "mode", "pinned"}},
	"user create": {{"user", "create", "alice", "--read", ""}},
	"user grant":  {{"user", "create", "alice"}, {"user", "grant", "alice", "--read", "a"}},
	"user revoke": {{"user", "create", "alice", "--read", "a"}, {"user", "revoke", "alice", "--read", "a"}},
	"user rotate": {{"user", "create", "alice"}, {"user", "rotate", "alice"}},
	"user drop":   {{"user", "create", "alice"}, {"user", "drop", "alice"}},
}

// reading change nothing (newid: but which ids are free), or their changes have tests of their own (drain, reclaim,
// backup, restore, user import).
var regexpID = regexp.MustCompile(`[0-9a-f]{32}`)

var reading = strings.Fields(`get mget exists keys scan ttl outcome status shards hot receipts waits type types health
	debug log drain reclaim backup restore snapshot user
	sumstats bbounds bget hexists hget hgetall hlen hmget hscan lindex llen lrange newid scard sismember smembers top
	topmax zcard zrange zrangebyscore zrank zrevrange zrevrank zscore`)

// TestAnOutputErrorAfterACommitHasItsCode: a command that has written and cannot say so exits with a code
// that means "applied", and names its transaction.
func TestAnOutputErrorAfterACommitHasItsCode(t *testing.T) {
	for name, lines := range writing {
		for _, format := range []string{"table", "json"} {
			if format == "table" && slices.Contains(silent, name) {
				continue // there is nothing that it could not write
			}
			t.Run(name+" "+format, func(t *testing.T) {
				for _, err := range []error{syscall.ENOSPC, syscall.EPIPE} {
					n := start(t)
					errs := n.refused(t, err, format, lines)
					id := regexpID.FindString(errs)
					require.NotEmpty(t, id, errs)
					require.Contains(t, n.run(t, "outcome", id).ok(t), "Committed")
				}
			})
		}
	}
	for name, lines := range changing {
		t.Run(name, func(t *testing.T) {
			n := start(t)
			require.Contains(t, n.refused(t, syscall.ENOSPC, "json", lines), "the command has succeeded")
		})
	}
}

// refused runs the last line with an output that cannot be written, and those before with one that can.
func (n *node) refused(t *testing.T, because error, format string, lines [][]string) string {
	t.Helper()
	var errs bytes.Buffer
	for i, line := range lines {
		errs.Reset()
		s := cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &errs}
		want := cli.ExitOK
		if i == len(lines)-1 {
			s.Out, want = refusing{because}, cli.ExitOutput
		}
		at := len(line)
		root := cli.New(s)
		if cmd, rest, err := root.Find(line); err == nil && cmd != root {
			at = len(line) - len(rest)
		}
		args := slices.Concat(line[:at], []string{"--addr", n.addr, "--output", format}, line[at:])
		require.Equal(t, want, cli.Main(context.Background(), root, args), "%v: %s", line, errs.String())
	}
	if format == "json" {
		var o map[string]any
		require.NoError(t, json.Unmarshal(errs.Bytes(), &o), errs.String())
		require.Equal(t, float64(cli.ExitOutput), o["exit_code"])
		require.Equal(t, "Output", o["kind"])
	}
	return errs.String()
}

// TestEachCommandIsKnownToWriteOrNot: a new command has to be named above.
func TestEachCommandIsKnownToWriteOrNot(t *testing.T) {
	var visit func(cmd *cobra.Command, path string)
	visit = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			full := strings.TrimSpace(path + " " + sub.Name())
			visit(sub, full)
			_, writes := writing[full]
			_, changes := changing[full]
			top, _, _ := strings.Cut(full, " ")
			if sub.Flags().Lookup("addr") == nil || writes || changes || slices.Contains(reading, top) {
				continue
			}
			t.Errorf("%q is not known to write or not", full)
		}
	}
	visit(cli.New(cli.Streams{}), "")
}

// TestAReaderWhoseOutputIsClosedIsQuiet: as in "linchpin scan | head".
func TestAReaderWhoseOutputIsClosedIsQuiet(t *testing.T) {
	n := start(t)
	n.run(t, "put", "k", "v").ok(t)
	var errs bytes.Buffer
	root := cli.New(cli.Streams{In: strings.NewReader(""), Out: refusing{syscall.EPIPE}, Err: &errs})
	require.Equal(t, cli.ExitOutput, cli.Main(context.Background(), root, []string{"scan", "--addr", n.addr}))
	require.Empty(t, errs.String())
}

// TestABackupWhoseOutputFailsIsThere, and so is what was restored.
func TestABackupWhoseOutputFailsIsThere(t *testing.T) {
	n, other := start(t), start(t)
	n.run(t, "put", "k", "v").ok(t)
	file := filepath.Join(t.TempDir(), "b")
	n.refused(t, syscall.ENOSPC, "table", [][]string{{"backup", "create", file}})
	n.run(t, "backup", "verify", file)
	other.refused(t, syscall.ENOSPC, "table", [][]string{{"restore", file}})
	require.Equal(t, "v\n", other.run(t, "get", "k").ok(t))
}
