package cli_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// hotReply has a key that has been moved, and of one that is about to be.
func hotReply() *msg.HotStatusResponse {
	return &msg.HotStatusResponse{Mode: 1, Busy: 0.417, Rules: []msg.HotRule{{Key: []byte("visits"), Order: 1},
		{Key: []byte("tmp/"), Prefix: true, Order: 2}},
		Keys: []msg.HotKey{
			{Key: []byte("hot\x00"), Shard: 8, Heat: 12.345, Waited: int64(1500 * time.Millisecond),
				EstimatedWait: int64(2 * time.Second),
				Waits: msg.KeyWaits{Lock: int64(1200 * time.Millisecond), Held: int64(290 * time.Millisecond),
					Retry: int64(10 * time.Millisecond), Read: 1000, Holds: 3.21, Queue: 17},
				Since:  time.Now().Add(-90 * time.Second).UnixNano(),
				Reason: "moved to the hot shard 1m30s ago: its wait rate was 1.5s/s"},
			{Key: []byte("visits"), Shard: 3, Heat: 2, Order: 1, Moving: true, Reason: "pinned"},
			{Key: []byte("tmp/1"), Shard: 1, Heat: 1, Order: 2, Reason: "banned"}}}
}

func TestHotKeysAreShownWithModeAndRules(t *testing.T) {
	n := start(t)
	n.heat = hotReply
	n.hot = []hotshard.KeyHeat{{Key: []byte("visits"), Shard: 3, Nanos: 1e9, Count: 7},
		{Key: []byte("warm"), Shard: 2, Nanos: 1e6, Count: 1}}
	require.Equal(t, ""+
		"KEY        SHARD  WAIT/S   SINCE  WHY\n"+
		"\"hot\\x00\"  s8     1500 ms  1m30s  waits\n"+
		"visits     s3     -        -      pinned, moving\n"+
		"tmp/1      s1     -        -      banned\n"+
		"warm       s2     -        -      -\n"+
		"mode: auto\nhot shard: busy 42 % of the time\nrules: visits pinned, tmp/ banned (prefix)\n", n.run(t, "hot").ok(t))
	require.Contains(t, n.run(t, "hot", "--wide").ok(t), ""+
		"KEY        SHARD  WAIT/S   SINCE  WHY             CONFLICTS/S  OF WHICH                                   "+
		"HOLDS/S  WAITERS  REASON\n"+
		"\"hot\\x00\"  s8     1500 ms  1m30s  waits           12.3         locks 1200 ms, held 290 ms, retries 10 ms  3.2 "+
		"     17       moved to the hot shard 1m30s ago: its wait rate was 1.5s/s\n")
	require.Equal(t, 1+1+3, strings.Count(n.run(t, "hot", "--limit", "1").ok(t), "\n"))

	got := objects(t, n.run(t, "hot", "-o", "json").ok(t))
	require.Len(t, got, 5)
	require.Equal(t, map[string]any{"key": "visits", "shard": 3.0, "conflicts_per_s": 2.0, "wait_us_per_s": 0.0,
		"estimated_wait_us_per_s": 0.0,
		"lock_wait_us_per_s":      0.0, "held_us_per_s": 0.0, "read_wait_us_per_s": 0.0, "retry_us_per_s": 0.0,
		"holds_per_s": 0.0,
		"waiters":     0.0,
		"policy":      "pinned", "moving": true, "reason": "pinned", "waited_us": 1_000_000.0, "waits": 7.0}, got[1])
	for field, want := range map[string]float64{"wait_us_per_s": 1_500_000, "lock_wait_us_per_s": 1_200_000,
		"held_us_per_s": 290_000, "retry_us_per_s": 10_000,
		"read_wait_us_per_s": 1, "holds_per_s": 3.21, "waiters": 17} {
		require.Equal(t, want, got[0][field], field)
	}
	require.WithinDuration(t, time.Now().Add(-90*time.Second), timeOf(t, got[0]["moved"]), 5*time.Second)
	require.Equal(t, map[string]any{"mode": "auto", "utilization": 0.417,
		"rules": []any{map[string]any{"key": "visits", "prefix": false, "policy": "pinned"},
			map[string]any{"key": "tmp/", "prefix": true, "policy": "banned"}}}, got[4])
}

// TestHotKeysSayWhyInAWord: with which key one was moved, and that clients hold the locks of an idle hot shard.
func TestHotKeysSayWhyInAWord(t *testing.T) {
	n := start(t)
	busy := 0.0
	n.heat = func() *msg.HotStatusResponse {
		return &msg.HotStatusResponse{Mode: 1, Busy: busy, Keys: []msg.HotKey{
			{Key: []byte("a"), Shard: 8, Waited: int64(10 * time.Second),
				Waits: msg.KeyWaits{Lock: int64(9960 * time.Millisecond)}, Since: time.Now().UnixNano(),
				Reason: `moved to the hot shard 4s ago: its wait rate was 10s/s, and it was written together with "b"`},
			{Key: []byte("b"), Shard: 8, Since: time.Now().UnixNano(),
				Reason: `moved to the hot shard 4s ago: it was written 0.585/s together with "a\"\n", whose wait rate was 10s/s`}}}
	}
	columns := 80
	n.streams.Size = func() (int, int) { return 24, columns }
	out := n.run(t, "hot").ok(t)
	require.Regexp(t, `\na +s8 +10 s +0s +waits\nb +s8 +- +0s +with "a\\"\\n"\n`, out)
	require.Contains(t, out, "hot shard: busy 0 % of the time; transactions wait for locks that interactive "+
		"transactions hold")
	busy = 0.5
	require.Contains(t, n.run(t, "hot").ok(t), "hot shard: busy 50 % of the time\n")
}

func TestHotKeysAreWatchedUntilTheEnd(t *testing.T) {
	n := start(t)
	var asked atomic.Int64
	n.heat = func() *msg.HotStatusResponse { asked.Add(1); return hotReply() }
	out := n.run(t, "hot", "--watch", "--for", "1500ms", "--timeout", "1s").ok(t)
	require.EqualValues(t, 2, asked.Load())
	require.Equal(t, 2, strings.Count(out, "KEY "))
	require.Equal(t, 2, strings.Count(out, "mode: auto\n"))
	require.Len(t, objects(t, n.run(t, "hot", "--watch", "--for", "100ms", "-o", "json").ok(t)), 4)
}

// TestOnATerminalWhatIsWatchedIsDrawnInPlace: cleared once, then written over from
// the upper left corner, and never more lines than there are.
func TestOnATerminalWhatIsWatchedIsDrawnInPlace(t *testing.T) {
	n := start(t)
	n.heat = hotReply
	height := 4
	n.streams.Size = func() (int, int) { return height, 300 }
	out := n.run(t, "hot", "--watch", "--for", "1500ms").ok(t)
	require.Equal(t, 1, strings.Count(out, "\x1b[2J"))
	require.True(t, strings.HasPrefix(out, "\x1b[2J\x1b[H"))
	frames := strings.Split(out, "\x1b[H")
	require.Len(t, frames, 1+2)
	for _, f := range frames[1:] {
		require.Equal(t, height-1, strings.Count(f, "\x1b[K\n"))
		require.Equal(t, height-1, strings.Count(f, "\n"))
		require.True(t, strings.HasPrefix(f, "\x1b[?7lKEY "), f)
		require.True(t, strings.HasSuffix(f, "\x1b[J\x1b[?7h"), f)
	}
	height = 100
	require.Contains(t, n.run(t, "hot", "--watch", "--for", "100ms").ok(t), "rules: visits pinned")
	for _, args := range [][]string{{"hot"}, {"hot", "--watch", "--for", "100ms", "-o", "json"},
		{"hot", "pin", "visits"}} {
		require.NotContains(t, n.run(t, args...).ok(t), "\x1b", "%v", args)
	}
}

func TestRulesAndTheModeAreSet(t *testing.T) {
	n := start(t)
	require.Contains(t, n.run(t, "hot", "pin", "visits").ok(t),
		"visits  s0     -       -      pinned, moving\nmode: auto\n")
	out := n.run(t, "hot", "ban", "--prefix", "746d702f", "--hex").ok(t)
	require.NotContains(t, out, "visits  ")
	require.Contains(t, n.run(t, "hot").ok(t), "rules: visits pinned, tmp/ banned (prefix)\n")
	n.run(t, "hot", "unpin", "tmp/").ok(t)
	require.Contains(t, n.run(t, "hot").ok(t), "tmp/ banned (prefix)\n", "that would have been another rule")
	n.run(t, "hot", "unpin", "--prefix", "tmp/").ok(t)
	n.run(t, "hot", "unpin", "visits").ok(t)
	require.Contains(t, n.run(t, "hot", "unpin", "visits").ok(t), "rules: none\n", "to ask again does no harm")
	for _, m := range []string{"off", "pinned", "auto"} {
		n.run(t, "hot", "mode", m).ok(t)
		require.Equal(t, m, objects(t, n.run(t, "hot", "-o", "json").ok(t))[0]["mode"])
	}
}

func TestMistakesWithHotKeys(t *testing.T) {
	n := start(t)
	for text, args := range map[string][]string{
		"--limit is 0, want 1 or more":               {"--limit", "0"},
		"--for needs --watch":                        {"--for", "5s"},
		"--for is -1s, want 0 or more":               {"--watch", "--for", "-1s"},
		"hot: too many arguments (1)":                {"visits"},
		"pin takes a key or --prefix":                {"pin"},
		"unpin takes a key or --prefix":              {"unpin", "a", "--prefix", "b"},
		"ban: too many arguments (2)":                {"ban", "a", "b"},
		"the key is empty":                           {"pin", ""},
		"the prefix is empty, which would match":     {"ban", "--prefix", ""},
		"the key has 4097 bytes":                     {"pin", strings.Repeat("x", 4097)},
		`"xyz" is not hexadecimal`:                   {"pin", "--hex", "xyz"},
		`the mode is "on", want off, pinned or auto`: {"mode", "on"},
		"mode: too few arguments (0)":                {"mode"},
		`--output is "yaml"`:                         {"-o", "yaml"},
	} {
		r := n.run(t, append([]string{"hot"}, args...)...)
		r.fails(t, 2, text)
		require.Contains(t, r.errs, "hint: ", text)
	}
	require.Contains(t, n.run(t, "hot").ok(t), "rules: none\n")
}

func TestHotMoves(t *testing.T) {
	n := start(t)
	n.heat = func() *msg.HotStatusResponse {
		return &msg.HotStatusResponse{Mode: 1, Moves: []msg.MovedKey{{Key: []byte("visits"), From: 3, To: 0, Time: 1e9,
			Reason: "transactions wait for it"}}}
	}
	require.Contains(t, n.run(t, "hot", "moves").ok(t), "visits  s3    s0 (hot)\n")
	require.Contains(t, n.run(t, "hot", "moves", "--wide").ok(t), "visits  s3    s0 (hot)  transactions wait for it\n")
	o := objects(t, n.run(t, "hot", "moves", "-o", "json").ok(t))
	require.Equal(t, "1970-01-01T00:00:01Z", o[0]["time"])
	require.Equal(t, true, o[0]["to_hot"])
}
