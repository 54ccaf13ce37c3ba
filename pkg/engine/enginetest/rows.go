package enginetest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
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

// AllTables are rows of all tables of a shard; n is in each of them.
func AllTables(n int) (rows []entry.Entry) {
	text := fmt.Sprint(n)
	for csn := range kv.CSN(3) {
		rows = append(rows, set("k\x00"+text, csn+1, value(text)), set("same", csn+1, value(text)))
	}
	rows = append(rows, set("same", 9, delta(9)), set("gone", 1, tombstone()))
	for table := entry.TableVersion + 1; table <= entry.LastTable; table++ {
		rows = append(rows, setRow(table, text, text), setRow(table, "", text))
	}
	return rows
}

// Chunks reads all chunks of a shard.
func Chunks(t TB, e engine.Engine, shard kv.ShardID) (chunks [][]byte) {
	t.Helper()
	r, err := e.ReadShard(shard)
	require.NoError(t, err)
	chunks = rest(t, r)
	require.NoError(t, r.Close())
	return chunks
}

// rest reads what is left of a reader.
func rest(t TB, r engine.ShardReader) (chunks [][]byte) {
	t.Helper()
	for {
		c, err := r.Next()
		require.NoError(t, err)
		if c == nil {
			return chunks
		}
		chunks = append(chunks, c)
	}
}

// Replace replaces the rows of a shard by chunks.
func Replace(e engine.Engine, shard kv.ShardID, chunks [][]byte) (engine.Position, error) {
	w, err := e.ReplaceShard(shard)
	if err != nil {
		return 0, err
	}
	for _, c := range chunks {
		if err := w.Add(c); err != nil {
			return 0, fmt.Errorf("%w, %w", err, w.Close())
		}
	}
	p, err := w.Replace()
	if err != nil {
		return 0, fmt.Errorf("%w, %w", err, w.Close())
	}
	return p, w.Close()
}

// The copy of a shard has its rows of all tables, and nothing of what was there before. Other shards stay as they are.
func copyShard(t *testing.T, open Open) {
	e := open()
	put(t, e, 1, AllTables(1)...)
	for shard := range kv.ShardID(4) {
		if shard != 1 {
			put(t, e, shard, AllTables(100+int(shard))...)
		}
	}
	want := Chunks(t, e, 1)
	others := slices.Concat(Chunks(t, e, 0), Chunks(t, e, 1), Chunks(t, e, 3))
	p, err := Replace(e, 2, want)
	require.NoError(t, err)
	syncTo(t, e, p)
	require.Equal(t, want, Chunks(t, e, 2))
	require.Equal(t, others, slices.Concat(Chunks(t, e, 0), Chunks(t, e, 1), Chunks(t, e, 3)))
	require.Equal(t, checksum(t, e, 1), checksum(t, e, 2))
	require.Equal(t, []string{"k\x001=1"}, keys(t, e, 2, kv.Range(nil, []byte("l")), newest))
	put(t, e, 2, setRow(entry.TableReplica, "", "later"), set("later", 10, value("x")))
	require.NoError(t, e.Close())
	e = open()
	require.Equal(t, []string{"k\x001=1", "later=x"}, keys(t, e, 2, kv.Range(nil, []byte("m")), newest))
	require.Equal(t, others, slices.Concat(Chunks(t, e, 0), Chunks(t, e, 1), Chunks(t, e, 3)))
	require.NoError(t, e.Close())
}

// checksum is that of a shard.
func checksum(t *testing.T, e engine.Engine, shard kv.ShardID) uint64 {
	r, err := e.ReadShard(shard)
	require.NoError(t, err)
	sum, err := engine.Checksum(shard, r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return sum
}

// The checksums of shards differ if any row does, of any table.
func checksums(t *testing.T, open Open) {
	e := open()
	same := map[uint64]bool{}
	for i, row := range append(AllTables(1), set("k", 1, value("x")), set("k", 2, value("x")), set("k", 1, value("y"))) {
		shard := kv.ShardID(i + 1)
		put(t, e, shard, row)
		put(t, e, shard+100, row)
		require.Equal(t, checksum(t, e, shard), checksum(t, e, shard+100))
		require.False(t, same[checksum(t, e, shard)], "%d: %v", i, row)
		same[checksum(t, e, shard)] = true
	}
	require.NoError(t, e.Close())
}

// A shard is copied in several chunks if it is large, and each has a bound.
func copyLargeShard(t *testing.T, open Open) {
	e := open()
	for i := range 50 {
		put(t, e, 1, set(fmt.Sprint(i), 1, value(string(bytes.Repeat([]byte{byte(i)}, 100<<10)))))
	}
	put(t, e, 1, setRow(entry.TableReplica, "", "r"))
	want := Chunks(t, e, 1)
	require.GreaterOrEqual(t, len(want), 5)
	for _, c := range want {
		require.Less(t, len(c), 1200<<10)
	}
	_, err := Replace(e, 2, want)
	require.NoError(t, err)
	require.Equal(t, want, Chunks(t, e, 2))
	require.NoError(t, e.Close())
}

// A reader returns the rows of when it was made.
func shardView(t *testing.T, open Open) {
	e := open()
	put(t, e, 1, AllTables(1)...)
	put(t, e, 2, AllTables(2)...)
	want, other := Chunks(t, e, 1), Chunks(t, e, 2)
	r, err := e.ReadShard(1)
	require.NoError(t, err)
	put(t, e, 1, set("new", 50, value("x")), below("same", 3), setRow(entry.TableReplica, "", "later"))
	later, err := e.ReadShard(1)
	require.NoError(t, err)
	_, err = Replace(e, 1, other)
	require.NoError(t, err)
	require.Equal(t, "1", string(r.Replica()))
	require.Equal(t, want, rest(t, r))
	require.Equal(t, "later", string(later.Replica()))
	require.NotEqual(t, want, rest(t, later))
	require.NoError(t, r.Close())
	require.NoError(t, later.Close())
	require.Equal(t, other, Chunks(t, e, 1))
	empty, err := e.ReadShard(3)
	require.NoError(t, err)
	require.Nil(t, empty.Replica())
	require.Len(t, rest(t, empty), 1, "the end")
	require.NoError(t, empty.Close())
	require.NoError(t, e.Close())
}

// While rows are replaced, a reader sees those of before or those of after (R6.12).
func replaceWhileReading(t *testing.T, open Open) {
	e := open()
	const generations = 20
	var all [][][]byte
	for n := range generations {
		var rows []entry.Entry
		for i := range 50 {
			rows = append(rows, set(fmt.Sprintf("%d-%d", i, n), 1, value(fmt.Sprint(n))))
		}
		put(t, e, kv.ShardID(n+1), append(rows, setRow(entry.TableReplica, "", fmt.Sprint(n)))...)
		all = append(all, Chunks(t, e, kv.ShardID(n+1)))
	}
	_, err := Replace(e, 0, all[0])
	require.NoError(t, err)
	ended := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				res := e.Read(0, entry.Read{Kind: entry.ReadRange, Span: everything, CSN: newest})
				if res.Err != nil || len(res.Rows) != 50 {
					t.Errorf("%d rows, error %v", len(res.Rows), res.Err)
					return
				}
				for _, r := range res.Rows {
					if !bytes.Equal(r.Value, res.Rows[0].Value) {
						t.Errorf("rows of two generations: %q and %q", r.Key, res.Rows[0].Key)
						return
					}
				}
			}
		})
	}
	for n := range generations {
		_, err := Replace(e, 0, all[n])
		require.NoError(t, err)
		res := e.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TableReplica})
		require.Equal(t, fmt.Sprint(n), string(res.Rows[0].Value))
	}
	close(ended)
	readers.Wait()
	require.NoError(t, e.Close())
}

// What scans have learned of the rows of before does not hide those of after.
func replaceAfterDeletions(t *testing.T, open Open) {
	e := open()
	var live, dead []entry.Entry
	for i := range 200 {
		key := fmt.Sprintf("%03d", i)
		live, dead = append(live, set(key, 1, value("x"))), append(dead, set(key, 2, tombstone()))
	}
	put(t, e, 1, append(live, setRow(entry.TableReplica, "", "r"))...)
	put(t, e, 2, live...)
	put(t, e, 2, dead...)
	for range 3 {
		require.Empty(t, keys(t, e, 2, everything, newest))
	}
	_, err := Replace(e, 2, Chunks(t, e, 1))
	require.NoError(t, err)
	require.Len(t, keys(t, e, 2, everything, newest), 200)
	require.NoError(t, e.Close())
}

// Chunks that are damaged, missing, repeated or in another order are refused, and nothing changes (R6.8).
func damagedChunks(t *testing.T, open Open) {
	e := open()
	put(t, e, 1, setRow(entry.TableReplica, "", "new"), set("a", 1, value("1")))
	put(t, e, 2, AllTables(2)...)
	before := Chunks(t, e, 2)
	chunks := Chunks(t, e, 1)
	require.Len(t, chunks, 2)
	refused := func(why string, chunks ...[]byte) {
		t.Helper()
		_, err := Replace(e, 2, chunks)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%s: %v", why, err)
		require.ErrorContains(t, err, "s2", why)
		require.Equal(t, before, Chunks(t, e, 2), why)
	}
	for c := range chunks {
		for i := range chunks[c] {
			bad := slices.Clone(chunks)
			bad[c] = slices.Clone(bad[c])
			bad[c][i] ^= 1 << (i % 8)
			refused("flipped", bad...)
		}
		refused("cut", chunks[0][:len(chunks[0])-1-c], chunks[1])
	}
	put(t, e, 3, set("a", 1, value("1")))
	refused("no replica row", Chunks(t, e, 3)...)
	refused("no chunks")
	refused("no last chunk", chunks[0])
	refused("no first chunk", chunks[1])
	refused("repeated", chunks[0], chunks[0], chunks[1])
	refused("another order", chunks[1], chunks[0])
	refused("after the end", chunks[0], chunks[1], chunks[1])
	w, err := e.ReplaceShard(2)
	require.NoError(t, err)
	require.Error(t, w.Add(chunks[1]))
	require.Error(t, w.Add(chunks[0]), "the first error is final")
	require.NoError(t, w.Close())
	_, err = Replace(e, 2, chunks)
	require.NoError(t, err)
	require.Equal(t, chunks, Chunks(t, e, 2))
	require.NoError(t, e.Close())
}
