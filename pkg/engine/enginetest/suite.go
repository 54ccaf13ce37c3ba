// Package enginetest holds the engines to their contract: one suite that
// every implementation runs, and a comparison of two of them on random
// operations, in which each is the other's model.
package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TB is what the suite needs of a test.
type TB interface {
	require.TestingT
	Helper()
}

// Open gives the store of one test: the first time an empty one, and after it
// was closed the same one again, as it was.
type Open func() engine.Engine

// Run runs the whole suite. fresh makes an independent store for each test.
func Run(t *testing.T, fresh func(t *testing.T) Open) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, open Open)
	}{
		{"an empty store knows nothing", emptyStore},
		{"positions count from one and become durable", positions},
		{"many goroutines wait for their own positions", manyWaiters},
		{"what was appended keeps its bytes", bytesAreCopied},
		{"shards do not see each other", shardsAreApart},
		{"entries of a batch apply in order", orderInBatch},
		{"a mistaken entry or read is refused", mistakes},
		{"a key is read at an index", readAtIndex},
		{"a tombstone is a row of its key and a hole in a range", tombstones},
		{"a range comes in the order of its keys", rangeOrder},
		{"a range is cut by rows and resumed", rangeLimit},
		{"a range is read from its last key on", rangeReverse},
		{"a range is cut by bytes", rangeBytes},
		{"a range is read in turns", rangeTurns},
		{"a range sees only what its index sees", rangeAtIndex},
		{"one version is deleted", deleteVersion},
		{"versions below an index are deleted", deleteBelow},
		{"rows below a key are deleted", deleteRowsBelow},
		{"garbage is what nothing can see", garbage},
		{"garbage is found piece by piece", garbageResumes},
		{"what says that a key has moved is no garbage", movedLasts},
		{"a value that is stored as deltas is a chain of rows", chains},
		{"a chain whose rows were written over is read all the same", chainWrittenOver},
		{"what a chain consists of is garbage together", chainGarbage},
		{"a chain that has lost its beginning is named", brokenChain},
		{"a value in pages is a chain, and its pages are rows", pagesOfValues},
		{"rows of a table are read in order", rowsInOrder},
		{"pages that nothing names are garbage", pageGarbage},
		{"a row that is damaged is named", damagedRow},
		{"recovery visits tables and keys in order", recoverOrder},
		{"values as large as allowed", largeValues},
		{"a store that is opened again is as it was", reopen},
		{"a closed store refuses everything", closed},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

// Shorthands of the tests.

func value(s string) []byte {
	return entry.Value{Version: kv.Version{Shard: 1, Write: 1}, Payload: []byte(s)}.Encode()
}

func tombstone() []byte {
	return entry.Value{Type: entry.TypeDeleted, Version: kv.Version{Shard: 1, Write: 1}}.Encode()
}

// delta is a change of the value before it.
func delta(write uint64) []byte {
	v := entry.Value{Type: 2, Version: kv.Version{Shard: 1, Write: write}}
	calls := []msg.Call{{Method: 1, Args: []msg.Datum{{Kind: msg.DatumInt, Int: int64(write)}}}}
	b := make([]byte, entry.DeltaSize(&v, calls))
	entry.EncodeDelta(b, &v, calls)
	return b
}

// movedTombstone is one of a key that has been on another shard; mark says that it
// is.
func movedTombstone() []byte {
	return entry.Value{Type: entry.TypeDeleted, Version: kv.Version{Moves: 1, Shard: 1, Write: 1}}.Encode()
}

func mark() []byte {
	return entry.Value{Type: entry.TypeMoved, Version: kv.Version{Shard: 1, Write: 1}, Payload: entry.MovedPayload(2)}.Encode()
}

func set(key string, index kv.Index, v []byte) entry.Entry {
	return entry.Entry{Action: entry.Set, Table: entry.TableVersion, Key: []byte(key), Index: index, Value: v}
}

func setRow(table entry.Table, key, v string) entry.Entry {
	return entry.Entry{Action: entry.Set, Table: table, Key: []byte(key), Value: []byte(v)}
}

func below(key string, index kv.Index) entry.Entry {
	return entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: []byte(key), Index: index}
}

func put(t TB, e engine.Engine, shard kv.ShardID, entries ...entry.Entry) engine.Position {
	t.Helper()
	p, err := e.Append([]entry.Group{{Shard: shard, Entries: entries}})
	require.NoError(t, err)
	return p
}

// settle makes everything durable, however the store decides that.
func settle(t TB, e engine.Engine, p engine.Position) {
	t.Helper()
	if s, ok := e.(interface{ SyncTo(engine.Position) }); ok {
		s.SyncTo(p)
	}
	require.NoError(t, e.WaitDurable(p))
}

func readKey(e engine.Engine, shard kv.ShardID, key string, at kv.Index) entry.ReadResult {
	return e.Read(shard, entry.Read{ID: 7, Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte(key), Index: at})
}

// keys reads a range and gives its keys with their values.
func keys(t TB, e engine.Engine, shard kv.ShardID, span kv.Span, at kv.Index) (got []string) {
	t.Helper()
	res := e.Read(shard, entry.Read{Kind: entry.ReadRange, Span: span, Index: at})
	require.NoError(t, res.Err)
	require.Nil(t, res.Resume, "without a limit nothing is left over")
	return pairs(t, res.Rows)
}

func pairs(t TB, rows []entry.Row) (got []string) {
	t.Helper()
	for _, r := range rows {
		v, err := entry.DecodeValue(r.Value)
		require.NoError(t, err)
		got = append(got, string(r.Key)+"="+string(v.Payload))
	}
	return got
}

const newest = ^kv.Index(0)

var everything = kv.Range(nil, nil)
