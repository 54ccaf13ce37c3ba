package enginetest

import (
	"fmt"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Compare executes one random sequence of operations on two stores and requires equal results. Occasionally
// it closes and reopens both, and calls compact, which may reorganize the first one's rows.
func Compare(t *rapid.T, openA, openB Open, compact func(engine.Engine)) {
	a, b := openA(), openB()
	defer func() {
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	}()
	var last [2]engine.Position
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		switch rapid.IntRange(0, 19).Draw(t, "step") {
		case 0:
			require.NoError(t, a.Close())
			require.NoError(t, b.Close())
			a, b = openA(), openB()
			last = [2]engine.Position{}
		case 1:
			compact(a)
		case 2:
			s := drawShard(t)
			require.Equal(t, recovered(t, b, s), recovered(t, a, s))
		case 3:
			copyBoth(t, a, b)
			last = [2]engine.Position{}
		case 4, 5, 6, 7, 8, 9:
			last = appendBoth(t, a, b, last)
		default:
			s, r := drawShard(t), drawRead(t)
			turn := rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "turn")
			ra, rb := readBy(a, s, r, turn), readBy(b, s, r, 0)
			require.Equal(t, kv.KindOf(rb.Err), kv.KindOf(ra.Err), "%v / %v", rb.Err, ra.Err)
			ra.Err, rb.Err = nil, nil
			require.Equal(t, rb, ra, "%+v of %v", r, s)
		}
	}
}

// copyBoth replaces the rows of a shard of both stores by those of another one, or by its own.
func copyBoth(t *rapid.T, a, b engine.Engine) {
	from, to := drawShard(t), drawShard(t)
	for _, e := range []engine.Engine{a, b} {
		syncTo(t, e, put(t, e, from, setRow(entry.TableReplica, "", "r")))
	}
	chunks := Chunks(t, b, from)
	require.Equal(t, chunks, Chunks(t, a, from))
	for _, e := range []engine.Engine{a, b} {
		p, err := Replace(e, to, chunks)
		require.NoError(t, err)
		syncTo(t, e, p)
	}
}

// readBy reads; a range in turns of the given number of rows, unless that is 0.
func readBy(e engine.Engine, s kv.ShardID, r entry.Read, turn int) entry.ReadResult {
	if r.Kind != entry.ReadRange || turn == 0 {
		return e.Read(s, r)
	}
	t := engine.NewTurns(r, turn)
	for !t.Add(e.Read(s, t.Next())) {
	}
	return t.Result()
}

// appendBoth appends one batch to both stores. last are their last positions, zero after opening: one store
// may continue its positions across a restart, and the other may not.
func appendBoth(t *rapid.T, a, b engine.Engine, last [2]engine.Position) [2]engine.Position {
	var groups []entry.Group
	for range rapid.IntRange(0, 3).Draw(t, "groups") {
		g := entry.Group{Shard: drawShard(t)}
		for range rapid.IntRange(0, 8).Draw(t, "entries") {
			g.Entries = append(g.Entries, drawEntry(t))
		}
		groups = append(groups, g)
	}
	pa, erra := a.Append(groups)
	pb, errb := b.Append(groups)
	require.NoError(t, erra)
	require.NoError(t, errb)
	for i, p := range []engine.Position{pa, pb} {
		if last[i] > 0 {
			require.Equal(t, last[i]+1, p)
		}
	}
	syncTo(t, a, pa)
	syncTo(t, b, pb)
	return [2]engine.Position{pa, pb}
}

func recovered(t TB, e engine.Engine, s kv.ShardID) (rows []string) {
	require.NoError(t, e.Recover(s, func(table entry.Table, r entry.Row) error {
		rows = append(rows, fmt.Sprintf("%v/%q/%q", table, r.Key, r.Value))
		return nil
	}))
	return rows
}

func drawShard(t *rapid.T) kv.ShardID {
	return kv.ShardID(rapid.SampledFrom([]int{0, 1, 256}).Draw(t, "shard"))
}

// someKeys are prefixes of each other and contain escaped bytes.
var someKeys = []string{"a", "a\x00", "a\x00\xff", "a\x01", "aa", "b", "\x00", "\xff"}

func drawKey(t *rapid.T, name string) []byte {
	return []byte(rapid.SampledFrom(someKeys).Draw(t, name))
}

func drawCSN(t *rapid.T) kv.CSN {
	return kv.CSN(rapid.Uint64Range(0, 30).Draw(t, "csn"))
}

func drawTable(t *rapid.T) entry.Table {
	// Mostly versions, which are the difficult table.
	return entry.Table(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 3, 4, 5, 6, 10, 11}).Draw(t, "table"))
}

func drawEntry(t *rapid.T) entry.Entry {
	e := entry.Entry{Table: drawTable(t), Key: drawKey(t, "key")}
	e.Action = entry.Action(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "action"))
	if e.Table == entry.TableVersion {
		e.CSN = drawCSN(t)
	} else if rapid.IntRange(0, 9).Draw(t, "nameless") == 0 {
		e.Key = nil
	} else if e.Table == entry.TablePage {
		e.Key = entry.PageKey(e.Key, uint64(rapid.IntRange(1, 9).Draw(t, "page")))
	}
	if e.Action == entry.Set {
		payload := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "payload")
		e.Value = payload
		if e.Table == entry.TableVersion {
			v := entry.Value{Version: kv.Version{Write: 1}, Payload: payload}
			what := rapid.IntRange(0, 9).Draw(t, "tombstone")
			if what > 7 {
				e.Value = [][]byte{delta(1), delta(2), patch(), directory(1, 2), directory(uint64(what))}[rapid.IntRange(0,
					4).Draw(t, "partial")]
				return e
			}
			switch what {
			case 0, 4:
				v.Type = entry.TypeDeleted
			case 1:
				v.Type, v.Version.Moves = entry.TypeDeleted, 1
			case 2:
				v.Type, v.Payload = entry.TypeMoved, entry.MovedPayload(2)
			}
			e.Value = v.Encode()
		}
	}
	return e
}

func drawRead(t *rapid.T) entry.Read {
	r := entry.Read{
		ID:    rapid.Uint64().Draw(t, "id"),
		Kind:  entry.ReadKind(rapid.IntRange(0, 5).Draw(t, "kind")),
		Table: drawTable(t),
		Key:   drawKey(t, "key"),
		CSN:   drawCSN(t),
		Limit: rapid.IntRange(0, 6).Draw(t, "limit"),

		Reverse: rapid.Bool().Draw(t, "reverse"),
	}
	for i := kv.CSN(0); i < r.CSN && rapid.Bool().Draw(t, "more retained"); {
		i += kv.CSN(rapid.IntRange(1, 9).Draw(t, "retained"))
		r.Retained = append(r.Retained, i)
	}
	r.Span = rapid.SampledFrom([]kv.Span{
		everything, kv.Point(r.Key), kv.Range(r.Key, nil), kv.Range(r.Key, drawKey(t, "end")),
	}).Draw(t, "span")
	if rapid.Bool().Draw(t, "bytes") {
		r.LimitBytes = rapid.IntRange(1, 120).Draw(t, "limit bytes")
	}
	return r
}
