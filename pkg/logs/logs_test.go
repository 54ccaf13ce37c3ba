package logs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/logs"
)

// clock is moved by the test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newLogs(t *testing.T, o logs.Options) (*logs.Logs, *bytes.Buffer) {
	t.Helper()
	out := new(bytes.Buffer)
	o.Out = out
	l, err := logs.New(o)
	require.NoError(t, err)
	return l, out
}

func lines(out *bytes.Buffer) []string {
	text := strings.TrimSuffix(out.String(), "\n")
	out.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func TestEachLineHasNodeAndComponent(t *testing.T) {
	l, out := newLogs(t, logs.Options{JSON: true})
	peers := l.Component(logs.Peers)
	peers.Info("connected", "peer", 2)
	l.SetNode("n3")
	peers.With("x", 1).Warn("lost")
	got := lines(out)
	require.Len(t, got, 2)
	var first, second map[string]any
	require.NoError(t, json.Unmarshal([]byte(got[0]), &first))
	require.NoError(t, json.Unmarshal([]byte(got[1]), &second))
	require.Equal(t, "peers", first["component"])
	require.NotContains(t, first, "node", "it is not known yet")
	require.Equal(t, "n3", second["node"])
	require.Equal(t, "WARN", second["level"])
	require.EqualValues(t, 1, second["x"])
}

func TestLevelsChangeAtRunTime(t *testing.T) {
	l, out := newLogs(t, logs.Options{Level: slog.LevelWarn})
	peers, store := l.Component(logs.Peers), l.Component(logs.Store)
	say := func() []string {
		peers.Debug("quiet")
		store.Info("usual")
		store.Error("bad")
		return lines(out)
	}
	require.Len(t, say(), 1)
	require.NoError(t, l.SetLevel(logs.Peers, slog.LevelDebug))
	got := say()
	require.Len(t, got, 2)
	require.Contains(t, got[0], "quiet")
	require.NoError(t, l.SetLevel("", slog.LevelInfo))
	got = say()
	require.Len(t, got, 2)
	require.Contains(t, got[0], "usual")
	for _, lv := range l.Levels() {
		require.Equal(t, slog.LevelInfo, lv.Level, lv.Component)
	}
	require.ErrorContains(t, l.SetLevel("peer", slog.LevelInfo),
		`there is no component "peer"; there are node, cluster, peers`)
	require.Panics(t, func() { l.Component("peer") })
	for _, name := range []string{"debug", "INFO", "warn", "error"} {
		level, err := logs.ParseLevel(name)
		require.NoError(t, err)
		require.Equal(t, strings.ToLower(name), logs.LevelName(level))
	}
	_, err := logs.ParseLevel("loud")
	require.ErrorContains(t, err, `"loud" is no level; there are debug, info, warn and error`)
}

// TestRepeatsAreLimited: what says the same again and again does not bury the
// rest, and the number of suppressed lines is reported.
func TestRepeatsAreLimited(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	l, out := newLogs(t, logs.Options{Burst: 3, Window: 10 * time.Second, Now: c.Now})
	log := l.Component(logs.Peers)
	for i := range 100 {
		log.Warn("no connection", "try", i)
	}
	log.Warn("another")
	log.Error("no connection")
	l.Component(logs.Store).Warn("no connection")
	require.Len(t, lines(out), 3+3, "of another message, level or component there is room")
	c.now = c.now.Add(10 * time.Second)
	log.Warn("no connection", "try", 100)
	log.Warn("no connection", "try", 101)
	got := lines(out)
	require.Len(t, got, 2)
	require.Contains(t, got[0], "suppressed=97")
	require.NotContains(t, got[1], "suppressed")
	c.now = c.now.Add(-time.Hour) // a clock that is set back silences nothing
	log.Warn("no connection")
	require.Len(t, lines(out), 1)

	l, out = newLogs(t, logs.Options{Burst: -1})
	for range 100 {
		l.Component(logs.Node).Info("x")
	}
	require.Len(t, lines(out), 100)
}

// TestTableOfRepeatsIsBounded: even if messages are made up without end.
func TestTableOfRepeatsIsBounded(t *testing.T) {
	l, out := newLogs(t, logs.Options{Burst: 1})
	log := l.Component(logs.Node)
	for i := range 5000 {
		log.Info(fmt.Sprint("message ", i))
	}
	require.Len(t, lines(out), 5000)
}

func TestSecretsAreBlottedOut(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		l, out := newLogs(t, logs.Options{JSON: asJSON})
		log := l.Component(logs.Server)
		log.Info("a user", "Token", "tk-123", "password", "hunter2", "user", "ann",
			slog.Group("tls", "client_secret", "s3", "key_file", "/etc/key"))
		log.With("authorization", "Bearer abc").Info("a call")
		text := out.String()
		for _, secret := range []string{"tk-123", "hunter2", "s3", "Bearer"} {
			require.NotContains(t, text, secret)
		}
		require.Contains(t, text, "ann")
		require.Contains(t, text, "/etc/key", "where a secret is kept is none")
		require.Equal(t, 4, strings.Count(text, logs.Redacted))
		require.NotContains(t, string(l.Recent()), "hunter2")
	}
}

func TestRingKeepsTheLastLines(t *testing.T) {
	l, out := newLogs(t, logs.Options{Keep: 5, Burst: -1})
	log := l.Component(logs.Node)
	require.Empty(t, l.Recent())
	for i := range 12 {
		log.Info("line", "i", i)
	}
	all := lines(out)
	require.Equal(t, strings.Join(all[7:], "\n")+"\n", string(l.Recent()))
	log.Info("long", "text", strings.Repeat("x", 100_000))
	require.Less(t, len(l.Recent()), 20_000, "a line that is kept has a bound")
	require.Greater(t, out.Len(), 100_000, "one that is written has none")
}

func TestManyGoroutines(t *testing.T) {
	l, out := newLogs(t, logs.Options{Keep: 10, Burst: -1})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			log := l.Component(logs.Components()[i%len(logs.Components())])
			for range 200 {
				log.Info("x")
				_ = l.Recent()
				_ = l.SetLevel("", slog.LevelInfo)
			}
		})
	}
	all.Wait()
	require.Len(t, lines(out), 1600)
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []logs.Options{{}, {Out: new(bytes.Buffer), Keep: -1}, {Out: new(bytes.Buffer), Window: -1}} {
		_, err := logs.New(o)
		require.Error(t, err)
	}
}
