// Package enginetest tests the contract of engines: a suite that every implementation runs, and a
// comparison of two implementations on random operations, in which each is the reference model of the
// other.
package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TB is the part of testing.TB that the suite needs.
type TB interface {
	require.TestingT
	Helper()
}

// Open opens the store of one test: empty on the first call, and with its content after a Close.
type Open func() engine.Engine

// Run runs the suite. fresh makes an independent store for each test.
func Run(t *testing.T, fresh func(t *testing.T) Open) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, open Open)
	}{
		{"an empty store returns nothing", emptyStore},
		{"positions count from one and become durable", positions},
		{"many goroutines wait for different positions", concurrentWaiters},
		{"appended bytes are copied", bytesAreCopied},
		{"shards are isolated", shardsAreIsolated},
		{"entries of a batch apply in order", orderInBatch},
		{"invalid entries and reads are rejected", invalidEntries},
		{"a key is read at a CSN", readAtIndex},
		{"a tombstone is a row of its key and absent from a range", tombstones},
		{"a range is ordered by key", rangeOrder},
		{"a range is limited by rows and resumed", rangeLimit},
		{"a range is read in reverse order", rangeReverse},
		{"a range is limited by bytes", rangeBytes},
		{"a range is read in turns", rangeTurns},
		{"a range contains what is visible at its CSN", rangeAtIndex},
		{"one version is deleted", deleteVersion},
		{"versions below a CSN are deleted", deleteBelow},
		{"rows below a key are deleted", deleteRowsBelow},
		{"garbage is not visible at any CSN", garbage},
		{"garbage is found in pieces", garbageResumes},
		{"a move tombstone is not garbage", moveTombstones},
		{"a value that is stored as deltas is a chain of rows", chains},
		{"a chain with overwritten rows is readable", chainWrittenOver},
		{"the versions of a chain are garbage together", chainGarbage},
		{"a chain without a base is reported", brokenChain},
		{"a value in pages is a chain, and its pages are rows", pagesOfValues},
		{"rows of a table are read in order", rowsInOrder},
		{"unreferenced pages are garbage", pageGarbage},
		{"a damaged row is reported", damagedRow},
		{"recovery visits tables and keys in order", recoverOrder},
		{"a shard is copied with all tables", copyShard},
		{"a large shard is copied in chunks", copyLargeShard},
		{"a reader of a shard has one view", shardView},
		{"checksums of shards differ if a row does", checksums},
		{"rows are replaced at one moment", replaceWhileReading},
		{"replaced rows are not hidden", replaceAfterDeletions},
		{"damaged chunks are refused", damagedChunks},
		{"values of the maximum size are stored", largeValues},
		{"a reopened store has its content", reopen},
		{"a closed store rejects all calls", closed},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

// Helpers of the tests.

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

// tombstoneOfMovedKey is the tombstone of a key that was on another shard; moveTombstone redirects to it.
func tombstoneOfMovedKey() []byte {
	return entry.Value{Type: entry.TypeDeleted, Version: kv.Version{Moves: 1, Shard: 1, Write: 1}}.Encode()
}

func moveTombstone() []byte {
	return entry.Value{Type: entry.TypeMoved, Version: kv.Version{Shard: 1, Write: 1},
		Payload: entry.MovedPayload(2)}.Encode()
}

func set(key string, csn kv.CSN, v []byte) entry.Entry {
	return entry.Entry{Action: entry.Set, Table: entry.TableVersion, Key: []byte(key), CSN: csn, Value: v}
}

func setRow(table entry.Table, key, v string) entry.Entry {
	return entry.Entry{Action: entry.Set, Table: table, Key: []byte(key), Value: []byte(v)}
}

func below(key string, csn kv.CSN) entry.Entry {
	return entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: []byte(key), CSN: csn}
}

func put(t TB, e engine.Engine, shard kv.ShardID, entries ...entry.Entry) engine.Position {
	t.Helper()
	p, err := e.Append([]entry.Group{{Shard: shard, Entries: entries}})
	require.NoError(t, err)
	return p
}

// syncTo makes everything durable, in the way of the implementation.
func syncTo(t TB, e engine.Engine, p engine.Position) {
	t.Helper()
	if s, ok := e.(interface{ SyncTo(engine.Position) }); ok {
		s.SyncTo(p)
	}
	require.NoError(t, e.WaitDurable(p))
}

func readKey(e engine.Engine, shard kv.ShardID, key string, at kv.CSN) entry.ReadResult {
	return e.Read(shard, entry.Read{ID: 7, Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte(key), CSN: at})
}

// keys reads a range and returns its keys with their values.
func keys(t TB, e engine.Engine, shard kv.ShardID, span kv.Span, at kv.CSN) (got []string) {
	t.Helper()
	res := e.Read(shard, entry.Read{Kind: entry.ReadRange, Span: span, CSN: at})
	require.NoError(t, res.Err)
	require.Nil(t, res.Resume, "an unbounded read is complete")
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

const newest = ^kv.CSN(0)

var everything = kv.Range(nil, nil)
