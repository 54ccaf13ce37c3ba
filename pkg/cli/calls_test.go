package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// TestCommandsOfDataTypes runs each of them: its command line, and
// what it prints.
func TestCommandsOfDataTypes(t *testing.T) {
	servertest.Tags()
	n := start(t)
	for _, c := range []struct{ line, prints string }{
		{"incrby n 5", "5\n"}, {"decr n", "4\n"}, {"decrby n 6", "-2\n"}, {"decrby n -1", "-1\n"}, {"incrby n 1 --blind", ""},
		{"type n", "counter\n"}, {"call n counter.get", "0\n"},

		{"sadd s b a b", "2\n"}, {"sadd s c --blind", ""}, {"srem s a x", "1\n"}, {"sismember s b", "true\n"},
		{"scard s", "2\n"},
		{"smembers s", "b\nc\n"}, {"type s", "set\n"}, {"get s", "(set)\n"},
		{"smembers s -o json", `{"key":"s","type":"set","method":"set.members","answer":["b","c"]}` + "\n"},
		{"sadd 6b ff00 --hex", "1\n"}, {"smembers k", `"\xff\x00"` + "\n"},
		{"smembers k --output json", `{"key":"k","type":"set","method":"set.members","answer":[{"hex":"ff00"}]}` + "\n"},

		{"hset h f 1 g x", ""}, {"hsetnx h f 9", "false\n"}, {"hincrby h f -3", "-2\n"}, {"hget h f", "-2\n"},
		{"hmget h f none g", "-2\n(absent)\nx\n"},
		{"hlen h", "2\n"}, {"hexists h g", "true\n"}, {"hgetall h", "f  -2\ng  x\n"}, {"hscan h g 5", "g  x\n"},
		{"hdel h f", ""},

		{"zadd z 2 b 1.5 a", ""}, {"zincrby z -1 b", "1\n"}, {"zscore z a", "1.5\n"}, {"zrank z a", "1\n"},
		{"zrevrank z a", "0\n"},
		{"zrange z 0 -1", "b  1\na  1.5\n"}, {"zrevrange z 0 0", "a  1.5\n"}, {"zrangebyscore z -1 1.2", "b  1\n"},
		{"zrangebyscore z 0 9 1", "b  1\n"},
		{"zcard z", "2\n"}, {"zrem z b", ""},

		{"rpush l a b", "2\n"}, {"rpush l c --blind", ""}, {"lrange l 0 -1", "a\nb\nc\n"}, {"lindex l -1", "c\n"},
		{"llen l", "3\n"},
		{"ltrim l -2 -1", ""}, {"lrange l 0 -1", "b\nc\n"},

		{"topadd t 1 a", ""}, {"topadd t 2.5 b", ""}, {"top t 9", "b  2.5\na  1\n"}, {"topmax t", "b  2.5\n"},
		{"sumadd g 1 -1 3", ""}, {"sumstats g",
			"count     3\nsum       3\nmean      1\nmin       -1\nmax       3\nvariance  2.6666666666666665\n"},
		{"bcreate b -5 5 0", ""}, {"badd b 5", "true\n"}, {"badd b 1", "false\n"}, {"bsub b 9", "true\n"}, {"bget b", "-4\n"},
		{"bbounds b", "floor    -5\nceiling  5\n"},

		{"call own tags.weigh -2.5", ""}, {"call own tags.add go db", ""}, {"call own tags.first 1", "db\n-2.5\n"},
		{"type own", "tags\n"},
		{"call own tags.has go --snapshot=none", "!"},
	} {
		r := n.run(t, strings.Fields(c.line)...)
		if c.prints == "!" {
			require.NotZero(t, r.code, c.line)
			continue
		}
		require.Equal(t, c.prints, r.ok(t), c.line)
	}
	require.Len(t, strings.Fields(n.run(t, "newid", "i", "3", "--hex").out), 0, "the key is no hexadecimal number")
	require.Len(t, strings.Fields(n.run(t, "newid", "ab", "3", "--hex").ok(t)), 3)
}

func TestCallsThatFail(t *testing.T) {
	servertest.Tags()
	n := start(t)
	n.run(t, "sadd", "s", "a").ok(t)
	n.run(t, "bcreate", "b", "0", "1").ok(t)
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"hget h f", 1, "the value of the key has no such element"},
		{"zscore z a", 1, "the value of the key has no such element"},
		{"type none", 1, "the key does not exist"},
		{"sadd s", 2, "sadd: too few arguments (1)"},
		{"scard s x", 2, "too many"},
		{"incrby n x", 2, `n of counter.add-get is "x", want a whole number`},
		{"call s set", 2, "is not TYPE.METHOD"},
		{"call s sets.add a", 2, `unknown data type "sets"; the types are value, counter, set`},
		{"call s set.addd a", 2, `the type set has no method "addd"; it has add, remove, contains`},
		{"call s tags.weigh much", 2, `by of tags.weigh is "much", want a number`},
		{"hset h f", 2, "too few"},
		{"hset h f 1 g", 2, "want set field value ..."},
		{"sadd b a", 7, "the key holds a bounded-counter"},
		{"badd b 2 --blind", 3, "OutOfRange: add of a bounded-counter"},
		{"badd c 2 --blind", 1, "NotFound: add of a bounded-counter"},
		{"put k v --if-absent=false", 2, "is false; leave it out"},
		{"put k v --if-exists=false", 2, "is false; leave it out"},
		{"get k --after=", 2, "--after is empty"},
		{"zadd z 0.0000001 a", 2, "add of a sorted-set"},
		{"lrange --nonsense", 2, "unknown flag: --nonsense"},
		{"types nothing", 2, "unknown data type"},
	} {
		n.run(t, strings.Fields(c.line)...).fails(t, c.code, c.says)
	}
}

func TestTypesAreListed(t *testing.T) {
	n := start(t)
	all := n.run(t, "types").ok(t)
	for _, name := range []string{"value", "counter", "set", "map", "sorted-set", "top-k", "summary", "bounded-counter",
		"ids", "list"} {
		require.Contains(t, all, "\n"+name+" ")
	}
	one := n.run(t, "types", "counter").ok(t)
	require.Equal(t, `counter: A signed 64-bit integer. A counter that does not exist is 0.

METHOD     LOCK   DOES
add n      add    Adds n.
get        read   Returns the number.
add-get n  write  Adds n and returns the sum.

LOCK   COMMUTES WITH  AND ON OTHER PARTS WITH
read   read           -
add    add            -
write  -              -
`, one)
	require.Contains(t, n.run(t, "types", "set", "-o", "json").ok(t),
		`{"name":"add","usage":"add member ...","doc":"Adds members.","lock":"add","updates":true,"returns":false}`)
}

func TestATransactionCallsMethods(t *testing.T) {
	n := start(t)
	out := n.run(t, "txn", "call s set.add a b; call s set.members; call z sorted-set.increment m 2.5; call z "+
		"sorted-set.score m").ok(t)
	require.Contains(t, out, `call "s" set.members`)
	require.Contains(t, out, "a b")
	require.Contains(t, out, "2.5")
	out = n.run(t, "txn", "-o", "json", `call s set.contains a; call n counter.add-get 5`).ok(t)
	require.Contains(t, out, `"type":"set","version":"0.0.1","answer":[true]}`)
	require.Contains(t, out, `"answer":[5]`)
}
