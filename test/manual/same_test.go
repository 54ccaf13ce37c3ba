package manual

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSame: what differs each time may differ, and nothing else.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		same            bool
	}{
		{"the same", "5\n", "5\n", true},
		{"another number", "5\n", "6\n", false},
		{"another word", "value Ada", "value Eve", false},
		{"a version", "version 0.0.1", "version 0.8.1742", true},
		{"what is no version", "version 0.0.1", "version none", false},
		{"a time", "at 2026-11-22T04:16:34.095Z", "at 2027-01-01T00:00:00Z", true},
		{"a transaction", "committed 18ea09a9c614e268fc0b3e461b17a494, attempt 1",
			"committed 18ea09a9c614e268fc0b3e461b17a495, attempt 1", true},
		{"its attempts", "committed 18ea09a9c614e268fc0b3e461b17a494, attempt 1",
			"committed 18ea09a9c614e268fc0b3e461b17a494, attempt 2", false},
		{"a snapshot", "at @c17c49d6-2", "at @00000000-11", true},
		{"a time that something took", "for 94 ms", "for 1.5s", true},
		{"a long one", "for 94ms", "for 1m30.5s", true},
		{"the width of columns", "KEY     TYPE", "KEY       TYPE  ", true},
		{"words that are one", "KEY TYPE", "KEYTYPE", false},
		{"anything in a line", "node ... serves", "node n1 at 127.0.0.1:1 serves", true},
		{"anything in a line, and something else after it", "node ... serves", "node n1 waits", false},
		{"any lines", "a\n...\nz", "a\nb\nc\nz", true},
		{"no line at all", "a\n...\nz", "a\nz", true},
		{"a line that is missing", "a\n...\nz", "a\nb\nc", false},
		{"one line more", "a", "a\nb", false},
		{"one line less", "a\nb", "a", false},
		{"nothing", "", "", true},
		{"nothing is wanted", "", "a\n", false},
		{"signs that mean something in patterns", "a.c (x|y) [1]*", "a.c (x|y) [1]*", true},
		{"they are not patterns", "a.c", "abc", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Same(c.want, c.got); c.same {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "the page says")
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	page := strings.ReplaceAll(`# Title

'''sh
not run
'''

<!-- run -->
'''sh
linchpin put a b
#> version 0.0.1
linchpin put a 'b
c'
linchpin put a c --if-absent
#> linchpin: ConditionFailed: ...
#>
#>   hint
'''

'''go
package main
'''

<!-- run -->
'''sh
A=1   # a comment

for n in 1 2; do
  echo $n
done
'''
`, "'''", "```")
	blocks, err := Blocks(page)
	require.NoError(t, err)
	require.Equal(t, []Block{
		{Line: 8, Commands: []Command{
			{9, "linchpin put a b", true, "version 0.0.1\n"},
			{11, "linchpin put a 'b\nc'", true, ""},
			{13, "linchpin put a c --if-absent", true, "linchpin: ConditionFailed: ...\n\n  hint\n"},
		}},
		{Line: 19, Go: "package main\n"},
		{Line: 24, Commands: []Command{
			{25, "A=1   # a comment", false, ""},
			{27, "for n in 1 2; do\n  echo $n\ndone", false, ""},
		}},
	}, blocks)
	require.True(t, blocks[0].Commands[2].Fails())
	require.False(t, blocks[0].Commands[0].Fails())
	for text, why := range map[string]string{
		"<!-- run -->\n\n```sh\nx\n```\n":               "no block",
		"<!-- run -->\n```go\nx\n```\n":                 "no block",
		"<!-- run -->":                                  "no block",
		"<!-- run -->\n```sh\nx\n":                      "no end",
		"<!-- run -->\n```sh\n#> x\n```\n":              "begins with a command",
		"<!-- run -->\n```sh\nfor i in 1; do\n```\n":    "does not understand",
		"<!-- run -->\n```sh\nwait\n```\n":              "everything that the reader has started",
		"<!-- run -->\n```sh\nwait; echo\n```\n":        "everything that the reader has started",
		"<!-- run -->\n```sh\nkill 1; wait || x\n```\n": "everything that the reader has started",
		"<!-- run -->\n```sh\nkill $(jobs -p)\n```\n":   "everything that the reader has started",
	} {
		_, err := Blocks(text)
		require.ErrorContains(t, err, why, text)
	}
	for _, text := range []string{"wait $node", "kill $node; wait $node", "linchpin health --wait 30s", "await"} {
		_, err := Blocks("<!-- run -->\n```sh\n" + text + "\n```\n")
		require.NoError(t, err, text)
	}
}

// TestALoadIsMadeOnceMoreOnlyForWantOfTime: not where the store is at fault.
func TestALoadIsMadeOnceMoreOnlyForWantOfTime(t *testing.T) {
	const says = "zetaload: 3 of 100 transactions did not commit for other reasons than contention: "
	for _, c := range []struct {
		kinds string
		again bool
	}{
		{"3 DeadlineExceeded\n", true},
		{"2 Unavailable, 1 OutcomeUnknown; node n2 (127.0.0.1:7002) is down\n", true},
		{"2 Unavailable, 1 Internal\n", false},
		{"3 Corrupt\n", false},
		{"2 Internal, 1 Unavailable\n", false},
		{"2 DeadlineExceeded; 1 of 4 scans failed for other reasons than contention: 1 Corrupt\n", false},
	} {
		require.Equal(t, c.again, busy.MatchString("all 97 committed\n"+says+c.kinds+"more\n"), c.kinds)
	}
}

// TestShell: what one step sets and starts, the next one has; a page that leaves
// something running fails.
func TestShell(t *testing.T) {
	s := StartShell(t, t.TempDir(), FreePorts(t))
	out, code := s.Do(t, "A=7001; sleep 60 & echo started")
	require.Equal(t, "started\n", out)
	require.Zero(t, code)
	out, _ = s.Do(t, `echo "$A" is not 7001s; pwd`)
	require.Equal(t, s.ports["7001"]+" is not 7001s\n"+s.Dir+"\n", out)
	_, code = s.Do(t, "(exit 3)")
	require.Equal(t, 3, code)
	out, _ = s.Do(t, "jobs -r")
	require.Contains(t, out, "sleep 60")
	out, code = s.Do(t, "kill $(jobs -p); wait") // which pages must not
	require.Empty(t, out)
	require.NotEqual(t, -1, code)
	s.Ended(t)
}
