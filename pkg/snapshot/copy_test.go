package snapshot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// rows are the rows that a registry has now.
func (w *model) rows() (rows []*msg.Snapshot) {
	for _, p := range w.registry.snapshots {
		c := p.Snapshot
		rows = append(rows, &c)
	}
	return rows
}

// TestCopyNamesTheStateOfATime: what a copy finds as of a time is the newest state up to it of all that were retained,
// also afterwards, except those that were dropped.
func TestCopyNamesTheStateOfATime(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newModel(int64(rapid.IntRange(1, 20).Draw(t, "history")))
		for range 30 {
			w.step(t)
		}
		c, wall := NewCopy(w.rows(), w.wall), w.wall
		for range 10 {
			w.step(t)
		}
		at := rapid.Int64Range(1000, wall+3).Draw(t, "at")
		p, err := c.Find(&msg.FindSnapshot{AsOf: at})
		if err != nil {
			return
		}
		found++
		require.LessOrEqual(t, p.Time, at)
		for _, q := range w.all {
			later := q.Name == "" && q.Number > p.Number && q.Time <= at
			require.False(t, later && !w.dropped[q.Number], "as of %d: %d of %d, not %d of %d", at, p.Number, p.Time,
				q.Number, q.Time)
		}
	})
	require.Positive(t, found)
}

// TestCopyRefusesWhatNeedsTheRegistry: and says what can be read without it.
func TestCopyRefusesWhatNeedsTheRegistry(t *testing.T) {
	second := int64(time.Second)
	c := NewCopy([]*msg.Snapshot{{Number: 7, Time: 40 * second}, {Number: 2, Time: 10 * second},
		{Number: 5, Time: 30 * second}, {Number: 4, Time: 20 * second, Name: "named", Expires: 999 * second}}, 60*second)
	for _, tc := range []struct {
		q    msg.FindSnapshot
		want uint64
		kind kv.Kind
		hint string
	}{
		{q: msg.FindSnapshot{Number: 4}, want: 4},
		{q: msg.FindSnapshot{Number: 7}, want: 7},
		{q: msg.FindSnapshot{AsOf: 10 * second}, want: 2},
		{q: msg.FindSnapshot{AsOf: 30*second - 1}, want: 2},
		{q: msg.FindSnapshot{AsOf: 40*second - 1}, want: 5},
		{q: msg.FindSnapshot{Number: 6}, kind: kv.KindTooOld, hint: "--history"},
		{q: msg.FindSnapshot{AsOf: 9 * second}, kind: kv.KindTooOld, hint: "--history"},
		{q: msg.FindSnapshot{Number: 8}, kind: kv.KindUnavailable, hint: "by their ids"},
		{q: msg.FindSnapshot{AsOf: 40 * second}, kind: kv.KindUnavailable, hint: "up to 1970-01-01T00:00:30.000Z"},
		{q: msg.FindSnapshot{Name: "named"}, kind: kv.KindUnavailable, hint: "00:00:20.000Z, whose id ends with -4"},
		{q: msg.FindSnapshot{List: true}, kind: kv.KindUnavailable, hint: "linchpin status"},
	} {
		p, err := c.Find(&tc.q)
		if tc.want != 0 {
			require.Nil(t, err, "%v", &tc.q)
			require.Equal(t, tc.want, p.Number, "%v", &tc.q)
			continue
		}
		require.Equal(t, tc.kind, err.Kind, "%v", &tc.q)
		require.Contains(t, err.Hint, tc.hint, "%v", &tc.q)
	}
	_, err := NewCopy(nil, 0).Find(&msg.FindSnapshot{AsOf: 1})
	require.Equal(t, kv.KindUnavailable, err.Kind)
}
