package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHabits: what users of Redis and of shells type.
func TestHabits(t *testing.T) {
	n := start(t)
	n.run(t, "set", "a", "1").ok(t)
	require.Equal(t, "b  version 0.0.2\nc  version 0.0.3\n", n.run(t, "mset", "b", "2", "c", "x y").ok(t))
	require.Equal(t, "a  1\nd  (absent)\nc  x y\n", n.run(t, "mget", "a", "d", "c").ok(t))
	got := objects(t, n.run(t, "mget", "a", "d", "-o", "json").ok(t))
	require.Equal(t, "1", got[0]["value"])
	require.Equal(t, false, got[1]["found"])
	require.Equal(t, "2\n", n.run(t, "exists", "a", "b", "d").ok(t))
	require.Equal(t, ran{1, "0\n", ""}, n.run(t, "exists", "d"))
	require.Equal(t, "a\nb\nc\n", n.run(t, "keys").ok(t))
	require.Equal(t, "b\n", n.run(t, "keys", "b*").ok(t))
	n.run(t, "keys", "*b").fails(t, 2, `"*b" is not PREFIX*; to check one key: linchpin exists KEY`)
	n.run(t, "mset", "a", "1", "b").fails(t, 2, "an even number of arguments; there are 3")
	n.run(t, "rm", "a").ok(t)
	n.run(t, "delete", "b").ok(t)
	require.Contains(t, n.run(t, "info").ok(t), "MEMBER")
	require.Contains(t, n.run(t, "txn", "SET k v IF ABSENT; Get k FOR UPDATE; rm k").ok(t), "committed")
}

// TestIntoAFileOrAPipeTheBytes: get writes what was put.
func TestIntoAFileOrAPipeTheBytes(t *testing.T) {
	n := start(t)
	picture := "\x89PNG\r\n\x00\xff"
	n.runWith(t, picture, "put", "picture", "-").ok(t)
	require.Equal(t, `"\x89PNG\r\n\x00\xff"`+"\n", n.run(t, "get", "picture").ok(t))
	n.streams.Raw = true
	require.Equal(t, picture, n.run(t, "get", "picture").ok(t))
	require.Equal(t, `"\x89PNG\r\n\x00\xff"`+"\n", n.run(t, "get", "picture", "--raw=false").ok(t))
}

// TestAScanFitsTheTerminal: values are cut, unless --wide is given, and keys never are.
func TestAScanFitsTheTerminal(t *testing.T) {
	n := start(t)
	key := strings.Repeat("key", 7)
	n.run(t, "put", key, strings.Repeat("values", 50)).ok(t)
	n.run(t, "put", "short", "v").ok(t)
	columns := 60
	n.streams.Size = func() (int, int) { return 24, columns }
	for _, columns = range []int{60, 80, 200} {
		out := n.run(t, "scan").ok(t)
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), columns, out)
		}
		require.Contains(t, out, "…")
		require.Contains(t, out, key+"  value  values")
		require.Contains(t, out, "short"+strings.Repeat(" ", len(key)-len("short"))+"  value  v ")
	}
	require.Contains(t, n.run(t, "scan", "--wide").ok(t), strings.Repeat("values", 50))
	columns = 0 // not known
	require.Contains(t, n.run(t, "scan").ok(t), strings.Repeat("values", 50))
}

// TestAPipeIsNotPadded: a long value does not make the other rows long.
func TestAPipeIsNotPadded(t *testing.T) {
	n := start(t)
	n.run(t, "put", "a", strings.Repeat("x", 1<<20)).ok(t)
	var script strings.Builder
	for i := range 300 {
		fmt.Fprintf(&script, "put b%03d v\n", i)
	}
	n.runWith(t, script.String(), "txn").ok(t)
	out := n.run(t, "scan").ok(t)
	require.Less(t, len(out), 1<<20+300*40)
	require.True(t, strings.Contains(out, "\nb007\tvalue\tv\t0.0.9\n"))
}

// TestEmptyResultsSaySo on standard error, so that a pipe stays empty.
func TestEmptyResultsSaySo(t *testing.T) {
	n := start(t)
	for _, line := range []string{"scan", "scan --prefix x", "keys", "keys x*", "scan --keys-only"} {
		require.Equal(t, ran{0, "", "no keys\n"}, n.run(t, strings.Fields(line)...), line)
	}
	require.Empty(t, n.run(t, "scan", "-o", "json").ok(t))
	require.Equal(t, ran{0, "", "no moves\n"}, n.run(t, "hot", "moves"))
	require.Equal(t, ran{0, "", "no snapshots\n"}, n.run(t, "snapshot", "list"))
	require.Equal(t, ran{0, "", "no users\n"}, n.run(t, "user", "list"))
	require.Contains(t, n.run(t, "hot").ok(t), "no hot keys\nmode: auto\n")
}

// TestCommandsOfRedisHaveAnAnswer, in capitals as well.
func TestCommandsOfRedisHaveAnAnswer(t *testing.T) {
	n := start(t)
	n.run(t, "SET", "a", "1").ok(t)
	require.Equal(t, "1\n", n.run(t, "GET", "a").ok(t))
	for word, hint := range map[string]string{"lpush": "linchpin rpush", "LPOP": "ltrim KEY 1 -1",
		"ping": "linchpin health", "setex": "--ttl 30s", "watch": "put --if-version"} {
		r := n.run(t, word, "a", "b")
		r.fails(t, 2, `there is no command "`+word+`"`)
		require.Contains(t, r.errs, "hint: ")
		require.Contains(t, r.errs, hint)
	}
}

// TestOnlyNearNamesAreSuggested.
func TestOnlyNearNamesAreSuggested(t *testing.T) {
	for word, suggested := range map[string]string{"foo": "", "gte": "get", "scna": "scan", "statsu": "status",
		"xyzzy": "", "rceipts": "receipts", "sna": "snapshot"} {
		r := run(t, "", word)
		if suggested == "" {
			require.NotContains(t, r.errs, "did you mean", word)
			continue
		}
		require.Contains(t, r.errs, "did you mean "+suggested, word)
	}
}

// TestMistakesSayWhatToType.
func TestMistakesSayWhatToType(t *testing.T) {
	n := start(t)
	n.run(t, "put", "n", "5").ok(t)
	n.run(t, "put", "word", "x").ok(t)
	for line, hint := range map[string]string{
		"expire n -5s":        "to delete a key at once: linchpin del KEY",
		"expire n 30":         `"30" has no unit; write 30s for seconds`,
		"put n 5 --ttl 30":    `--ttl is "30", which has no unit; write 30s for seconds`,
		"get n --timeout 5":   `--timeout is "5", which has no unit; write 5s for seconds`,
		"scan --limit few":    `--limit is "few", want a whole number`,
		"incr n":              "to make it a counter: linchpin del n, then linchpin incrby n 5",
		"incrby n 3":          "to make it a counter: linchpin del n, then linchpin incrby n 5",
		"incr word":           "linchpin type word shows what the key holds",
		"backup create /no/x": "there is no directory /no; create it",
	} {
		r := n.run(t, strings.Fields(line)...)
		require.NotZero(t, r.code, line)
		require.Contains(t, r.errs, hint, line)
	}
	require.Contains(t, run(t, "", "backup", "verify", "/no/x").errs,
		"there is no directory /no; create it, or name another file")
	r := n.run(t, "txn", "incr n")
	require.Contains(t, r.errs, "linchpin del n, then linchpin incrby n 5")
}

// TestConnectionFlagsStandAtTheEnd of each help, in a group of their own.
func TestConnectionFlagsStandAtTheEnd(t *testing.T) {
	for _, name := range []string{"get", "put", "hot", "status", "zadd", "incr"} {
		help := run(t, "", name, "--help").ok(t)
		_, connection, ok := strings.Cut(help, "\nConnection flags:\n")
		require.True(t, ok, name)
		require.NotContains(t, connection, ":\n ", name)
		for _, flag := range []string{"--addr", "--timeout", "--retry", "--tls-ca", "--token-file"} {
			require.Contains(t, connection, flag+" ", name)
			require.Equal(t, 1, strings.Count(help, "\n      "+flag+" "), name)
		}
	}
	for _, name := range []string{"exit-codes", "output", "past"} {
		require.NotEmpty(t, run(t, "", "help", name).ok(t))
	}
}

func TestVersionIsAFlag(t *testing.T) {
	require.Equal(t, run(t, "", "version").ok(t), run(t, "", "--version").ok(t))
}
