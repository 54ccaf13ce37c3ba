package logtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// rowsOf returns the rows of a table of a group, below the log.
func rowsOf(t TB, e engine.Engine, shard kv.ShardID, table entry.Table) []entry.Row {
	res := e.Read(shard, entry.Read{Kind: entry.ReadRows, Table: table, Span: kv.Range(nil, nil)})
	require.NoError(t, res.Err)
	return res.Rows
}

func change(t TB, e engine.Engine, shard kv.ShardID, entries ...entry.Entry) {
	_, err := e.Append([]entry.Group{{Shard: shard, Entries: entries}})
	require.NoError(t, err)
}

// isDamage requires an error that names the group and the place, and says what to do.
func isDamage(t TB, err error, where string) {
	t.Helper()
	var e *kv.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kv.KindCorrupt, e.Kind)
	require.Contains(t, e.Text, "the log of s0 is damaged at "+where)
	require.Contains(t, e.Hint, "empty the node's directories")
}

// damagedRows flips each byte of an entry, below the checksums of the engine: the log is not opened, and an open log
// does not return the entry (R6.13).
func damagedRows(t TB, open func() Disk, broken mutant.Set) {
	n := newNode(open(), broken, 1)
	l := group(t, n, 20, 10)
	e := n.disk.Rows()
	row := rowsOf(t, e, 0, entry.TableLog)[3]
	for i := range row.Value {
		bad := slices.Clone(row.Value)
		bad[i] ^= 1 << (i % 8)
		change(t, e, 0, entry.Entry{Table: entry.TableLog, Key: row.Key, Value: bad})
		_, err := l.Entries(2, 21, math.MaxUint64)
		isDamage(t, err, "position 5")
		_, err = raftlog.New(e, n.opts).Open(0)
		isDamage(t, err, "position 5")
	}
	change(t, e, 0, entry.Entry{Table: entry.TableLog, Key: row.Key, Value: row.Value})
	_, err := l.Entries(2, 21, math.MaxUint64)
	require.NoError(t, err)
	state := rowsOf(t, e, 0, entry.TableLogState)[0]
	for i := range state.Value {
		bad := slices.Clone(state.Value)
		bad[i] ^= 1 << (i % 8)
		change(t, e, 0, entry.Entry{Table: entry.TableLogState, Key: state.Key, Value: bad})
		_, err := raftlog.New(e, n.opts).Open(0)
		require.ErrorContains(t, err, "the state of the log of s0 is damaged")
	}
}

// misplacedRows swaps, removes and brings back whole rows.
func misplacedRows(t TB, open func() Disk, broken mutant.Set) {
	n := newNode(open(), broken, 1)
	group(t, n, 20, 10)
	n.write(t, raftlog.Record{Shard: 1, Replica: 1, Write: begin(1, 1)}, raftlog.Record{Shard: 1, Replica: 1,
		Write: &consensus.Write{Entries: entriesOf(1, 2, 20, 10)}})
	e := n.disk.Rows()
	rows, state := rowsOf(t, e, 0, entry.TableLog), rowsOf(t, e, 0, entry.TableLogState)[0]
	other := rowsOf(t, e, 1, entry.TableLog)
	n.write(t, raftlog.Record{Replica: 1, Write: &consensus.Write{Entries: entriesOf(1, 21, 21, 10)}})
	later := rowsOf(t, e, 0, entry.TableLogState)[0]
	at := func(r entry.Row, value []byte) entry.Entry {
		return entry.Entry{Table: entry.TableLog, Key: r.Key, Value: value}
	}
	for where, c := range map[string][2]entry.Entry{
		"position 6":  {at(rows[4], rows[5].Value), at(rows[4], rows[4].Value)},
		"position 7":  {at(rows[5], other[5].Value), at(rows[5], rows[5].Value)},
		"position 8":  {{Action: entry.Delete, Table: entry.TableLog, Key: rows[6].Key}, at(rows[6], rows[6].Value)},
		"position 20": {{Action: entry.Delete, Table: entry.TableLog, Key: rows[18].Key}, at(rows[18], rows[18].Value)},
		"position 21": {{Table: entry.TableLogState, Value: state.Value}, {Table: entry.TableLogState, Value: later.Value}},
		"position 1:": {{Action: entry.Delete, Table: entry.TableLogState}, {Table: entry.TableLogState, Value: later.Value}},
	} {
		change(t, e, 0, c[0])
		_, err := raftlog.New(e, n.opts).Open(0)
		isDamage(t, err, where)
		change(t, e, 0, c[1])
		_, err = raftlog.New(e, n.opts).Open(0)
		require.NoError(t, err, fmt.Sprint(where, " is repaired"))
	}
}
