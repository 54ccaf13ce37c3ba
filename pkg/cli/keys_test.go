package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestGet(t *testing.T) {
	n := start(t)
	n.run(t, "put", "k", "v").ok(t)
	n.run(t, "incr", "n", "5").ok(t)
	require.Equal(t, "v\n", n.run(t, "get", "k").ok(t))
	require.Equal(t, "v", n.run(t, "get", "k", "--raw").ok(t))
	require.Equal(t, "5\n", n.run(t, "get", "n").ok(t))
	require.Equal(t, "5\n", n.run(t, "get", "n", "--raw").ok(t))
	require.Equal(t, `{"key":"k","found":true,"type":"value","value":"v","version":"0.0.1"}`+"\n",
		n.run(t, "get", "k", "-o", "json").ok(t))
	require.Equal(t, `{"key":"n","found":true,"type":"counter","number":5,"version":"0.0.2"}`+"\n",
		n.run(t, "get", "n", "-o", "json").ok(t))
	n.run(t, "get", "gone").fails(t, 1, `linchpin: NotFound: the key does not exist (key "gone")`)
	require.Equal(t, ran{1, `{"key":"gone","found":false,"version":"0.0.0"}` + "\n", ""},
		n.run(t, "get", "gone", "-o", "json"))
}

func TestTextIsShownAsItIsAndTheRestWithEscapes(t *testing.T) {
	n := start(t)
	for value, shown := range map[string]string{
		"hello world":   "hello world",
		"Größe: 5 µm":   "Größe: 5 µm",
		"":              `""`,
		" x":            `" x"`,
		"a\nb\t":        `"a\nb\t"`,
		"\xff\x00":      `"\xff\x00"`,
		`"quoted"`:      `"\"quoted\""`,
		`back\slash`:    `back\slash`,
		"\u200bnothing": `"\u200bnothing"`,
	} {
		n.runWith(t, value, "put", "k", "-").ok(t)
		require.Equal(t, shown+"\n", n.run(t, "get", "k").ok(t))
		require.Equal(t, value, n.run(t, "get", "k", "--raw").ok(t))
	}
	n.runWith(t, "\xff\xfe", "put", "k", "-").ok(t)
	require.Equal(t, "fffe", objects(t, n.run(t, "get", "k", "-o", "json").ok(t))[0]["value_hex"])
}

func TestHexGoesBothWays(t *testing.T) {
	n := start(t)
	n.run(t, "put", "--hex", "00ff", "cafe").ok(t)
	n.runWith(t, "cafe\n", "put", "--hex", "00ff", "-", "--if-value", "cafe").ok(t)
	require.Equal(t, "cafe\n", n.run(t, "get", "--hex", "00ff").ok(t))
	require.Contains(t, n.run(t, "scan", "--hex", "--prefix", "00").ok(t), "00ff\tvalue\tcafe")
	require.Equal(t, "00ff", objects(t, n.run(t, "scan", "--hex", "-o", "json").ok(t))[0]["key_hex"])
	n.run(t, "get", "--hex", "xyz").fails(t, 2, `"xyz" is not hexadecimal`)
}

func TestPutAndItsConditions(t *testing.T) {
	n := start(t)
	n.run(t, "put", "k", "v", "--if-exists").fails(t, 3, "the key does not exist")
	require.Equal(t, "version 0.0.1\n", n.run(t, "put", "k", "v", "--if-absent").ok(t))
	n.run(t, "put", "k", "w", "--if-absent").fails(t, 3, `the key holds "v", version 0.0.1`)
	require.Equal(t, "version 0.0.2\n", n.run(t, "put", "k", "w", "--if-value", "v").ok(t))
	n.run(t, "put", "k", "x", "--if-value", "").fails(t, 3, `the key holds "w"`)
	require.Equal(t, "0.0.3", objects(t, n.run(t, "put", "k", "x", "--if-version", "0.0.2", "-o",
		"json").ok(t))[0]["version"])
	n.run(t, "put", "k", "y", "--if-version", "0.0.2").fails(t, 3, "version")
	n.run(t, "put", "k", "y", "--if-exists").ok(t)
	n.run(t, "put", "k", "y", "--if-version", "7").fails(t, 2, "want MOVES.SHARD.WRITE")
	n.run(t, "put", "k", "y", "--if-absent", "--if-exists").fails(t, 2, "one condition")
	n.run(t, "put", "k").fails(t, 2, "too few arguments (1); usage: linchpin put KEY VALUE")
	n.run(t, "put", "", "v").fails(t, 2, "the key is empty")
	n.runWith(t, strings.Repeat("x", kv.MaxValueBytes+1), "put", "k", "-").fails(t, 2, "the value has 1048577 bytes")
	n.run(t, "incr", "n").ok(t)
	n.run(t, "put", "n", "v").fails(t, 7, "WrongType")
}

// TestAConditionalPutReportsTheTimeToLiveThatItRemoves.
func TestAConditionalPutReportsTheTimeToLiveThatItRemoves(t *testing.T) {
	n := start(t)
	n.run(t, "put", "k", "v", "--ttl", "1h").ok(t)
	require.Regexp(t, `^version \S+; its time to live \((1h0m0s|59m59\S*s)\) is removed\n$`,
		n.run(t, "put", "k", "w", "--if-value", "v").ok(t))
	require.Equal(t, "never\n", n.run(t, "ttl", "k").ok(t))
	require.Regexp(t, `^version \S+\n$`, n.run(t, "put", "k", "x", "--if-value", "w").ok(t))
	require.Regexp(t, `^version \S+\n$`, n.run(t, "put", "k", "y", "--if-value", "x", "--ttl", "1h").ok(t))
	require.NotEqual(t, "never\n", n.run(t, "ttl", "k").ok(t))
}

// TestTheVersionOfAnAbsentKeyIsACondition: it holds if the key does not exist.
func TestTheVersionOfAnAbsentKeyIsACondition(t *testing.T) {
	n := start(t)
	version := objects(t, n.run(t, "get", "k", "-o", "json").out)[0]["version"].(string)
	n.run(t, "put", "k", "v", "--if-version", version).ok(t)
	n.run(t, "put", "k", "v", "--if-version", version).fails(t, 3, "the key exists")
	n.run(t, "del", "k", "--if-version", version).fails(t, 2, "stands for a key that does not exist")
	n.run(t, "txn", "put l v if version "+version+"; require m version "+version).ok(t)
	n.run(t, "txn", "put l v if version "+version).fails(t, 3, "the key exists")
	n.run(t, "txn", "del l if version "+version).fails(t, 2, "expected")
}

func TestDelOnACondition(t *testing.T) {
	n := start(t)
	n.run(t, "put", "k", "v").ok(t)
	n.run(t, "del", "k", "--if-value", "w").fails(t, 3, `the key holds "v"`)
	n.run(t, "del", "k", "l", "--if-value", "v").fails(t, 2, "--if-value is for one key, there are 2")
	n.run(t, "del", "k", "--if-value", "v", "--if-exists").fails(t, 2, "del takes one condition, there are 2")
	n.run(t, "del", "k", "--if-version", "0.0.9").fails(t, 3, "version")
	require.Equal(t, "k  deleted\n", n.run(t, "del", "k", "--if-version", "0.0.1").ok(t))
	n.run(t, "del", "k", "--if-exists").fails(t, 3, "does not exist")
}

// TestTheReportedSizeIsTheInputs: not that of what was read of it.
func TestTheReportedSizeIsTheInputs(t *testing.T) {
	n := start(t)
	n.runWith(t, strings.Repeat("v", 5_000_000), "put", "k", "-").fails(t, 2, "the value has 5000000 bytes")
	n.runWith(t, strings.Repeat("#", 90_000_000), "txn").fails(t, 2, "the text of the transaction has 90000000 bytes")
}

func TestDel(t *testing.T) {
	n := start(t)
	n.run(t, "put", "a", "1").ok(t)
	require.Equal(t, "a     deleted\ngone  did not exist\n", n.run(t, "del", "a", "gone").ok(t))
	require.Equal(t, `{"key":"a","found":false}`+"\n", n.run(t, "del", "a", "-o", "json").ok(t))
	n.run(t, "del").fails(t, 2, "too few")
}

func TestIncr(t *testing.T) {
	n := start(t)
	require.Equal(t, "1\n", n.run(t, "incr", "n").ok(t))
	require.Equal(t, "11\n", n.run(t, "incr", "n", "10").ok(t))
	require.Equal(t, "8\n", n.run(t, "incr", "--", "n", "-3").ok(t))
	require.Equal(t, "7\n", n.run(t, "incr", "n", "-1", "--timeout", "9s").ok(t))
	require.Equal(t, "8\n", n.run(t, "incr", "n").ok(t))
	require.Contains(t, n.run(t, "incr", "--help").ok(t), "incr KEY [DELTA]")
	require.Empty(t, n.run(t, "incr", "n", "--blind").ok(t))
	require.Equal(t, float64(10), objects(t, n.run(t, "incr", "n", "-o", "json").ok(t))[0]["number"])
	require.Equal(t, "n", objects(t, n.run(t, "incr", "n", "--blind", "-o", "json").ok(t))[0]["key"])
	n.run(t, "incr", "n", "1", "2").fails(t, 2, "too many")
	n.run(t, "incr", "n", "-x").fails(t, 2, "unknown shorthand flag")
	n.run(t, "incr", "n", "lots").fails(t, 2, `"lots" is not a whole number`)
	n.run(t, "incr", "n", "9223372036854775807").fails(t, 3, "OutOfRange")
}

func TestScan(t *testing.T) {
	n := start(t)
	n.run(t, "txn", "put a 1", "put b 22", "incr c 3", "put d/1 x", "put d/2 y", "put e z").ok(t)
	require.Equal(t, "KEY\tTYPE\tVALUE\tVERSION\nb\tvalue\t22\t0.0.2\nc\tcounter\t3\t0.0.3\n",
		n.run(t, "scan", "b", "d").ok(t))
	require.Equal(t, "d/1\nd/2\n", n.run(t, "scan", "--prefix", "d/", "--keys-only").ok(t))
	require.Equal(t, "a\nb\n", n.run(t, "scan", "--limit", "2", "--keys-only").ok(t))
	got := objects(t, n.run(t, "scan", "c", "-o", "json").ok(t))
	require.Len(t, got, 4)
	require.Equal(t, map[string]any{"key": "c", "type": "counter", "number": float64(3), "version": "0.0.3"}, got[0])
	require.Equal(t, map[string]any{"key": "a"}, objects(t, n.run(t, "scan", "-o", "json", "--keys-only").ok(t))[0])
	require.Equal(t, "e\nd/2\n", n.run(t, "ls", "--reverse", "--limit", "2", "--keys-only").ok(t))
	require.Equal(t, "2\n", n.run(t, "scan", "--prefix", "d/", "--count").ok(t))
	require.Equal(t, `{"keys":0}`+"\n", n.run(t, "scan", "x", "--count", "-o", "json").ok(t))
	n.run(t, "scan", "b", "a").fails(t, 2, "is empty")
	n.run(t, "scan", "a", "--prefix", "b").fails(t, 2, "exclude each other")
	n.run(t, "scan", "--limit", "-1").fails(t, 2, "want 0 or more")
}

func TestAPrefixOfTheGreatestBytesScansToTheEnd(t *testing.T) {
	n := start(t)
	n.run(t, "put", "--hex", "fe", "00").ok(t)
	n.run(t, "put", "--hex", "ff01", "00").ok(t)
	require.Equal(t, "ff01\n", n.run(t, "scan", "--hex", "--prefix", "ff", "--keys-only").ok(t))
	require.Equal(t, "fe\n", n.run(t, "scan", "--hex", "--prefix", "fe", "--keys-only").ok(t))
}
