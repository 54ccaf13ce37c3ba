package metrics

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestOnlyTheHottestKeysHaveSeries: at most MaxHotKeys, and only while they are among the
// hottest.
func TestOnlyTheHottestKeysHaveSeries(t *testing.T) {
	m, err := New(Options{Node: 1, NoRuntime: true})
	require.NoError(t, err)
	var keys []msg.HotKey
	m.WatchHot(func() (HotStats, bool) { return HotStats{Keys: keys}, true })
	keys = []msg.HotKey{{Key: []byte("visits"), Heat: 1, Since: 1,
		Waits: msg.KeyWaits{Lock: 2e9, Held: 3e6, Read: 4e9, Retry: 5e9, Holds: 6, Queue: 7}},
		{Key: []byte("a\"\n\xff\\b"), Waits: msg.KeyWaits{Queue: 8}}}
	want := map[string]float64{`linchpin_hot_key_conflicts key=visits`: 1, `linchpin_hot_key_holds key=visits`: 6,
		`linchpin_hot_key_queue key=visits`: 7, `linchpin_hot_key_moved key=visits`: 1,
		`linchpin_hot_key_waiting cause=lock key=visits`: 2, `linchpin_hot_key_waiting cause=held key=visits`: 0.003,
		`linchpin_hot_key_waiting cause=read key=visits`:  4,
		`linchpin_hot_key_waiting cause=retry key=visits`: 5, `linchpin_hot_key_queue key=a\"\n\xff\\b`: 8,
		`linchpin_hot_key_moved key=a\"\n\xff\\b`: 0}
	got := hotKeySeries(t, m)
	require.Len(t, got, 2*len(hotKeyMetrics))
	for name, v := range want {
		require.Equal(t, v, got[name], "%s of %v", name, got)
	}

	keys = nil
	for i := range 3 * MaxHotKeys {
		keys = append(keys, msg.HotKey{Key: bytes.Repeat([]byte{byte(i)}, 4096)})
	}
	require.Len(t, hotKeySeries(t, m), MaxHotKeys*len(hotKeyMetrics))
	keys = keys[:1]
	require.Len(t, hotKeySeries(t, m), len(hotKeyMetrics))
	keys = nil
	require.Empty(t, hotKeySeries(t, m))
	problems, err := testutil.GatherAndLint(m.registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// hotKeySeries collects all metrics of keys.
func hotKeySeries(t *testing.T, m *Node) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "linchpin_hot_key_") {
			continue
		}
		for _, s := range f.Metric {
			name := f.GetName()
			for _, l := range s.Label {
				if l.GetName() == "key" || l.GetName() == "cause" {
					name += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
				}
			}
			out[name] = s.Gauge.GetValue()
		}
	}
	return out
}

func TestLabelsOfKeysAreShortAndDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, k := range []string{"", "a", "a\x00", `a\x00`, `"`, `\"`, "\xff", `\xff`, "é", "\u00e9x",
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 66),
		strings.Repeat("é", 32), strings.Repeat("é", 33), "x" + strings.Repeat("é", 32), strings.Repeat("\xff", 16),
		strings.Repeat("\xff", 17), strings.Repeat("\xff", 4096)} {
		l := keyLabel([]byte(k))
		require.True(t, utf8.ValidString(l), "%q", k)
		require.LessOrEqual(t, len(l), maxKeyLabel+len("...")+16, "%q", k)
		require.NotContains(t, seen, l, "%q", k)
		seen[l] = k
	}
}
