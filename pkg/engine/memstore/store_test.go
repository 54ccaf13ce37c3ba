package memstore

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/enginetest"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// opener returns a function that reopens a store after Close, by Crash.
func opener(t *testing.T, s *Store) enginetest.Open {
	t.Cleanup(func() { require.NoError(t, s.Check()) })
	first := true
	return func() engine.Engine {
		if !first {
			s.Crash(s.Last())
		}
		first = false
		return s
	}
}

func TestContract(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Open { return opener(t, New()) })
}

func TestContractAutoSync(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Open { return opener(t, NewAutoSync()) })
}

func numbered(n int) []entry.Group {
	v := entry.Value{Version: kv.Version{Write: uint64(n)}, Payload: fmt.Append(nil, n)}.Encode()
	return []entry.Group{
		{Shard: 0, Entries: []entry.Entry{{Action: entry.Set, Table: entry.TableState, Value: fmt.Append(nil, n)}}},
		{Shard: 1, Entries: []entry.Entry{{Action: entry.Set, Table: entry.TableVersion, Key: []byte("k"), CSN: kv.CSN(n),
			Value: v}}},
	}
}

// appliedBatches returns how many batches of numbered a store contains. It must be the same on both shards.
func appliedBatches(t require.TestingT, s *Store) int {
	n := 0
	for _, r := range s.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TableState}).Rows {
		_, err := fmt.Sscan(string(r.Value), &n)
		require.NoError(t, err)
	}
	rows := s.Read(1, entry.Read{Kind: entry.ReadKey, Key: []byte("k"), CSN: ^kv.CSN(0)}).Rows
	if n == 0 {
		require.Empty(t, rows)
		return 0
	}
	require.EqualValues(t, n, rows[0].CSN)
	return n
}

func TestCrashKeepsDurablePrefix(t *testing.T) {
	for _, c := range []struct {
		name                 string
		appended, sync, keep int
		want                 int
	}{
		{"nothing is durable", 5, 0, 0, 0},
		{"durable batches stay", 5, 3, 0, 3},
		{"kept batches stay although they are not durable", 5, 2, 4, 4},
		{"durable batches above keep stay", 5, 4, 1, 4},
		{"all stay", 5, 0, 9, 5},
		{"a sync beyond the end", 5, 9, 0, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New()
			for n := 1; n <= c.appended; n++ {
				_, err := s.Append(numbered(n))
				require.NoError(t, err)
			}
			s.SyncTo(engine.Position(c.sync))
			require.EqualValues(t, min(c.sync, c.appended), s.Durable())
			s.Crash(engine.Position(c.keep))
			require.Equal(t, c.want, appliedBatches(t, s))
			require.NoError(t, s.Check())

			p, err := s.Append(numbered(c.want + 1))
			require.NoError(t, err)
			require.EqualValues(t, c.appended+1, p, "a lost position is not reused")
			s.SyncTo(engine.Position(c.appended))
			s.Crash(0)
			require.Equal(t, c.want, appliedBatches(t, s), "a late sync of a lost batch has no effect")
		})
	}
}

// A store that crashed equals one that never received the lost batches.
func TestCrashUndoesLostBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, kept := New(), New()
		var batches [][]entry.Group
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			batches = append(batches, drawBatch(t))
		}
		n := rapid.IntRange(0, len(batches)).Draw(t, "kept")
		for i, b := range batches {
			_, err := s.Append(b)
			require.NoError(t, err)
			if i < n {
				_, err = kept.Append(b)
				require.NoError(t, err)
			}
		}
		s.SyncTo(engine.Position(rapid.IntRange(0, n).Draw(t, "synced")))
		s.Crash(engine.Position(n))
		require.NoError(t, s.Check())
		require.Equal(t, dump(kept), dump(s))
		require.Equal(t, kept.bytes, s.bytes)
	})
}

func drawBatch(t *rapid.T) []entry.Group {
	var es []entry.Entry
	for range rapid.IntRange(0, 6).Draw(t, "entries") {
		e := entry.Entry{
			Action: entry.Action(rapid.IntRange(0, 2).Draw(t, "action")),
			Table:  entry.Table(rapid.IntRange(1, 2).Draw(t, "table")),
			Key:    []byte(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")),
		}
		if e.Table == entry.TableVersion {
			e.CSN = kv.CSN(rapid.IntRange(0, 5).Draw(t, "csn"))
		}
		if e.Action == entry.Set {
			e.Value = rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "value")
		}
		es = append(es, e)
	}
	return []entry.Group{{Shard: 1, Entries: es}}
}

// dump lists every row.
func dump(s *Store) (rows []string) {
	r := s.shard(1)
	r.versions.Scan(func(k string, c *chain) bool {
		for _, v := range c.versions {
			rows = append(rows, fmt.Sprintf("%s@%d=%x", k, v.csn, v.value))
		}
		return true
	})
	r.other[entry.TablePrepared].Scan(func(k string, v []byte) bool {
		rows = append(rows, fmt.Sprintf("%s=%x", k, v))
		return true
	})
	return rows
}

func TestWaitDurableWaitsForSyncTo(t *testing.T) {
	s := New()
	p, err := s.Append(numbered(1))
	require.NoError(t, err)
	done := make(chan error)
	go func() { done <- s.WaitDurable(p) }()
	select {
	case err := <-done:
		t.Fatalf("it returned before the batch was durable: %v", err)
	default:
	}
	s.SyncTo(p)
	require.NoError(t, <-done)
}

// TestCrashUndoesReplacement: a crash leaves the rows of before a replacement, or those of after, with what was
// appended to them and was durable.
func TestCrashUndoesReplacement(t *testing.T) {
	for keep := range engine.Position(4) {
		s := New()
		put := func(shard kv.ShardID, rows ...entry.Entry) engine.Position {
			p, err := s.Append([]entry.Group{{Shard: shard, Entries: rows}})
			require.NoError(t, err)
			return p
		}
		put(1, enginetest.AllTables(1)...)
		s.SyncTo(put(2, enginetest.AllTables(2)...))
		durable := s.Durable()
		var want [4][][]byte
		want[0] = enginetest.Chunks(t, s, 2)
		_, err := enginetest.Replace(s, 2, enginetest.Chunks(t, s, 1))
		require.NoError(t, err)
		want[1] = enginetest.Chunks(t, s, 2)
		put(2, entry.Entry{Table: entry.TableReplica, Value: []byte("later")})
		want[2] = enginetest.Chunks(t, s, 2)
		put(2, entry.Entry{Action: entry.DeleteBelow, Table: entry.TableOutcome, Key: []byte("z")})
		want[3] = enginetest.Chunks(t, s, 2)
		s.Crash(durable + keep)
		require.NoError(t, s.Check())
		require.Equal(t, want[keep], enginetest.Chunks(t, s, 2), "%d batches are kept", keep)
	}
}
