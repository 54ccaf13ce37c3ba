package cli_test

import (
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
	n.run(t, "keys", "*b").fails(t, 2, `"*b" is no pattern that is known: want PREFIX*`)
	n.run(t, "mset", "a", "1", "b").fails(t, 2, "an even number of arguments; there are 3")
	n.run(t, "rm", "a").ok(t)
	n.run(t, "delete", "b").ok(t)
	require.Contains(t, n.run(t, "info").ok(t), "MEMBER")
	require.Contains(t, n.run(t, "txn", "SET k v IF ABSENT; Get k FOR UPDATE; rm k").ok(t), "committed")
}

// TestIntoAFileTheBytes: what get writes into a file is what was put.
func TestIntoAFileTheBytes(t *testing.T) {
	n := start(t)
	picture := "\x89PNG\r\n\x00\xff"
	n.runWith(t, picture, "put", "picture", "-").ok(t)
	require.Equal(t, `"\x89PNG\r\n\x00\xff"`+"\n", n.run(t, "get", "picture").ok(t))
	n.streams.Raw = true
	require.Equal(t, picture, n.run(t, "get", "picture").ok(t))
	require.Equal(t, `"\x89PNG\r\n\x00\xff"`+"\n", n.run(t, "get", "picture", "--raw=false").ok(t))
}

// TestTablesFitTheTerminal: no line is wider, unless all is asked for; a sentence is
// set in lines, and loses no word.
func TestTablesFitTheTerminal(t *testing.T) {
	n := start(t)
	long := strings.Repeat("key", 30)
	n.run(t, "put", long, strings.Repeat("value ", 30)).ok(t)
	n.run(t, "put", "short", "v").ok(t)
	columns := 60
	n.streams.Size = func() (int, int) { return 24, columns }
	for _, columns = range []int{60, 80, 200} {
		out := n.run(t, "scan").ok(t)
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), columns, out)
		}
		require.Contains(t, out, "…")
		require.Contains(t, out, "short")
	}
	require.Contains(t, n.run(t, "scan", "--wide").ok(t), long)
	columns = 0 // not known
	require.Contains(t, n.run(t, "scan").ok(t), long)
}

func TestVersionIsAFlag(t *testing.T) {
	require.Equal(t, run(t, "", "version").ok(t), run(t, "", "--version").ok(t))
}
