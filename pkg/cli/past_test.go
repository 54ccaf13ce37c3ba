package cli_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// readAt holds that a command succeeded, and reported on standard error at what it
// read. It gives what it printed.
func (r ran) readAt(t *testing.T, id string) string {
	t.Helper()
	require.Equal(t, 0, r.code, "%s%s", r.out, r.errs)
	require.Regexp(t, `^read at snapshot `+id+` of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\n$`, r.errs)
	return r.out
}

func TestSnapshotsAreMadeListedAndDropped(t *testing.T) {
	n := start(t)
	const stamp = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
	require.Equal(t, ran{0, "", "no snapshots\n"}, n.run(t, "snapshot", "list"))
	require.Empty(t, n.run(t, "snapshot", "list", "-o", "json").ok(t))
	require.Regexp(t, `^NAME +ID +TIME +EXPIRES\none +@serverte-1 +`+stamp+`  `+stamp+`\n$`,
		n.run(t, "snapshot", "create", "one").ok(t))
	made := objects(t, n.run(t, "snapshot", "create", "two", "--ttl", "90m", "-o", "json").ok(t))[0]
	require.Equal(t, "@serverte-2", made["id"])
	require.Equal(t, "two", made["name"])
	require.Equal(t, 90*time.Minute, timeOf(t, made["expires"]).Sub(timeOf(t, made["time"])).Round(time.Minute))
	token, err := base64.StdEncoding.DecodeString(made["token"].(string))
	require.NoError(t, err)
	_, err = vclock.Decode(token)
	require.NoError(t, err)

	listed := objects(t, n.run(t, "snapshot", "list", "-o", "json").ok(t))
	require.Len(t, listed, 2)
	require.Equal(t, made, listed[1])
	require.Equal(t, 24*time.Hour, timeOf(t, listed[0]["expires"]).Sub(timeOf(t, listed[0]["time"])).Round(time.Minute))
	require.Regexp(t, `\none +@serverte-1 .*\ntwo +@serverte-2 .*\n$`, n.run(t, "snapshot", "list").ok(t))

	require.Regexp(t, `\none +@serverte-1 `, n.run(t, "snapshot", "drop", "one").ok(t))
	require.Equal(t, made, objects(t, n.run(t, "snapshot", "drop", "@serverte-2", "-o", "json").ok(t))[0])
	n.run(t, "snapshot", "drop", "one").fails(t, 1, "NotFound")
	require.Empty(t, n.run(t, "snapshot", "list", "-o", "json").ok(t))
}

func timeOf(t *testing.T, v any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, v.(string))
	require.NoError(t, err)
	return at
}

func TestMistakesWithSnapshots(t *testing.T) {
	n := start(t)
	n.run(t, "snapshot", "create", "s").ok(t)
	for text, c := range map[string]struct {
		code int
		args []string
	}{
		`snapshot "s" already exists`:                  {3, []string{"create", "s"}},
		"has an invalid character":                     {2, []string{"create", "a b"}},
		"the snapshot has no name":                     {2, []string{"create", ""}},
		"the name has 201 bytes; the limit is 200":     {2, []string{"create", strings.Repeat("x", 201)}},
		"--ttl is 0s, want a millisecond or more":      {2, []string{"create", "x", "--ttl", "0"}},
		"--ttl is -1h0m0s, want a millisecond or more": {2, []string{"create", "x", "--ttl", "-1h"}},
		"the limit is 2160 h":                          {2, []string{"create", "x", "--ttl", "2161h"}},
		"create: too few arguments (0)":                {2, []string{"create"}},
		"create: too many arguments (2)":               {2, []string{"create", "x", "y"}},
		"list: too many arguments (1)":                 {2, []string{"list", "x"}},
		"drop: too few arguments (0)":                  {2, []string{"drop"}},
		"NotFound":                                     {1, []string{"drop", "none"}},
		`"@17" is not a snapshot id`:                   {2, []string{"drop", "@17"}},
		"belongs to another cluster":                   {2, []string{"drop", "@3f9a01c2-17"}},
		`--output is "yaml"`:                           {2, []string{"list", "-o", "yaml"}},
	} {
		n.run(t, append([]string{"snapshot"}, c.args...)...).fails(t, c.code, text)
	}
	require.Len(t, objects(t, n.run(t, "snapshot", "list", "-o", "json").ok(t)), 1)
	require.Contains(t, run(t, "", "snapshot").ok(t), "Commands:")
}

// inPast are commands that read key k, and what they show of it.
var inPast = []struct {
	name string
	args []string
}{{"get", []string{"get", "k"}}, {"scan", []string{"scan", "k"}}, {"txn", []string{"txn", "get k"}}}

func TestCommandsReadAtASnapshot(t *testing.T) {
	n := start(t)
	n.run(t, "put", "k", "old").ok(t)
	n.run(t, "snapshot", "create", "s").ok(t)
	n.run(t, "put", "k", "new").ok(t)
	for _, c := range inPast {
		for _, at := range []string{"s", "@serverte-1"} {
			out := n.run(t, append(c.args, "--snapshot", at)...).readAt(t, "@serverte-1")
			require.Contains(t, out, "old", c.name)
			require.NotContains(t, out, "new", c.name)
		}
		require.Contains(t, n.run(t, append(c.args, "--snapshot", "s", "-o", "json")...).ok(t), `"value":"old"`,
			"objects alone can be read by programs")
		require.Contains(t, n.run(t, c.args...).ok(t), "new", c.name)
		n.run(t, append(c.args, "--snapshot", "none")...).fails(t, 1, "NotFound")
	}
	require.Equal(t, "@serverte-1", objects(t,
		n.run(t, "txn", "get k", "--snapshot", "s", "-o", "json").ok(t))[0]["snapshot"])
	n.run(t, "txn", "put k x", "--snapshot", "s").fails(t, 2, "a transaction that writes cannot read at a snapshot")
	n.run(t, "get", "none", "--snapshot", "s").failsAfter(t, 1, "read at snapshot @serverte-1", "the key does not exist")
}

// failsAfter is fails for a command that has printed something before.
func (r ran) failsAfter(t *testing.T, code int, before, message string) {
	t.Helper()
	require.Contains(t, r.errs, before)
	r.fails(t, code, message)
}

func TestCommandsReadAsOfATime(t *testing.T) {
	n := start(t)
	n.run(t, "put", "k", "v").ok(t)
	for _, c := range inPast {
		for given, want := range map[string]time.Time{
			"2026-11-22T10:00:00Z":           time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC),
			"2026-11-22T10:00:00.25+02:00":   time.Date(2026, 11, 22, 8, 0, 0, 250_000_000, time.UTC),
			"2026-11-22T10:00:00.123456789Z": time.Date(2026, 11, 22, 10, 0, 0, 123_456_789, time.UTC),
		} {
			n.run(t, append(c.args, "--as-of", given)...).ok(t)
			require.Equal(t, txn.TxnOptions{At: txn.SnapshotRef{AsOf: want.UnixNano()}}, *n.how.Load(), c.name)
		}
		begin := time.Now()
		n.run(t, append(c.args, "--as-of", "-90s")...).ok(t)
		got := time.Unix(0, n.how.Load().At.AsOf)
		require.False(t, got.Before(begin.Add(-90*time.Second)), c.name)
		require.False(t, got.After(time.Now().Add(-90*time.Second)), c.name)
	}
}

func TestATokenOfOneCommandIsTheNextOnes(t *testing.T) {
	n := start(t)
	token, ok := objects(t, n.run(t, "txn", "put k v", "-o", "json").ok(t))[0]["token"].(string)
	require.True(t, ok)
	raw, err := base64.StdEncoding.DecodeString(token)
	require.NoError(t, err)
	for _, c := range inPast {
		n.run(t, append(c.args, "--after", token)...).ok(t)
		require.Equal(t, raw, n.how.Load().After.Encode(), c.name)
	}
	plan := objects(t, n.run(t, "txn", "get k", "-o", "json").ok(t))[0]["plan"]
	require.Nil(t, plan, "this store takes locks")
}

func TestMistakesWithThePast(t *testing.T) {
	n := start(t)
	for _, c := range inPast {
		for text, args := range map[string][]string{
			"--snapshot and --as-of exclude each other":                {"--snapshot", "s", "--as-of", "-5s"},
			"--snapshot is empty, want a name or an id":                {"--snapshot", ""},
			`--as-of is "", want a time such as`:                       {"--as-of", ""},
			`--as-of is "yesterday", want a time such as`:              {"--as-of", "yesterday"},
			`--as-of is "2026-11-22", want a time such as`:             {"--as-of", "2026-11-22"},
			"--as-of 5s is in the future; write -5s for that long ago": {"--as-of", "5s"},
			"--as-of +5s is in the future; write -5s":                  {"--as-of", "+5s"},
			`--after is "no base64!", which is not base64`:             {"--after", "no base64!"},
			"the token is not one that linchpin gave out": {"--after",
				base64.StdEncoding.EncodeToString([]byte("noise"))},
			"as_of is not positive":                   {"--as-of", "1969-01-01T00:00:00Z"},
			"has an invalid character":                {"--snapshot", "a b"},
			"--output is \"xml\", want table or json": {"--snapshot", "s", "-o", "xml"},
		} {
			n.run(t, append(c.args, args...)...).fails(t, 2, text)
		}
		require.Nil(t, n.how.Load(), "nothing of this came to the store")
	}
	for _, verb := range []string{"put", "del", "incr"} {
		run(t, "", verb, "--snapshot", "s", "k").fails(t, 2, "unknown flag: --snapshot")
	}
}
