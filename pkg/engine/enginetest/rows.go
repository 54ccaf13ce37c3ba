package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func readDeadlines(t TB, e engine.Engine, span kv.Span, limit int) (found []string, resume []byte) {
	t.Helper()
	res := e.Read(0, entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline, Span: span, Limit: limit})
	require.NoError(t, res.Err)
	for _, r := range res.Rows {
		_, user, ok := entry.SplitDeadlineKey(r.Key)
		require.True(t, ok)
		found = append(found, string(user)+"="+string(r.Value))
	}
	return found, res.Resume
}

// Deadlines are returned in the order of their times, from any time on, and none of another table or shard.
func rowsInOrder(t *testing.T, open Open) {
	e := open()
	at := func(expires int64, key string) entry.Entry {
		return entry.Entry{Table: entry.TableDeadline, Key: entry.DeadlineKey(expires, []byte(key)), Value: []byte("x")}
	}
	put(t, e, 0, at(256, "a"), at(255, "z"), at(255, "b\x00"), at(1<<40, "b"), set("v", 1, value("1")), setPage("p", 1))
	put(t, e, 1, at(1, "other"))
	all, resume := readDeadlines(t, e, everything, 0)
	require.Equal(t, []string{"b\x00=x", "z=x", "a=x", "b=x"}, all)
	require.Nil(t, resume)
	some, resume := readDeadlines(t, e, everything, 2)
	require.Equal(t, all[:2], some)
	require.Equal(t, kv.Next(entry.DeadlineKey(255, []byte("z"))), resume)
	some, resume = readDeadlines(t, e, kv.Range(resume, nil), 2)
	require.Equal(t, all[2:], some)
	require.Nil(t, resume, "nothing follows")
	some, _ = readDeadlines(t, e, kv.Range(entry.DeadlineKey(255, []byte("c")), entry.DeadlineKey(257, nil)), 0)
	require.Equal(t, []string{"z=x", "a=x"}, some)
	put(t, e, 0, entry.Entry{Action: entry.Delete, Table: entry.TableDeadline, Key: entry.DeadlineKey(255, []byte("z"))})
	some, _ = readDeadlines(t, e, everything, 0)
	require.Equal(t, []string{"b\x00=x", "a=x", "b=x"}, some)
	require.NoError(t, e.Close())
}
