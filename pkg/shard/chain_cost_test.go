package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// counted is a shard whose log is counted.
type counted struct {
	t     testing.TB
	m     *shard.Machine
	store engine.Engine
	now   int64
	// told is how often the keeper has told of pins.
	told   uint64
	paging mvcc.Paging
	// used counts operations, for who names them so.
	used int
	// readBytes are those of rows that were read, and pages the pages written.
	readBytes, pages int
	// rows and bytes are those of versions that were written or deleted, and
	// whole those of the former that are no deltas. longest is the greatest
	// number of rows that a cold read has had.
	rows, bytes, whole, longest int
}

func newCounted(t testing.TB, store engine.Engine, cache int) *counted {
	return newPaged(t, store, cache, mvcc.Paging{})
}

func newPaged(t testing.TB, store engine.Engine, cache int, paging mvcc.Paging) *counted {
	c := &counted{t: t, store: store, paging: paging}
	m, out := shard.New(shard.Config{Lease: -1, CacheBytes: cache, Paging: paging, Pins: shard.PinConfig{Every: time.Second, Hot: 9, Node: 1}}, shard.Recovered{}, 0, 0)
	c.m = m
	c.act(out)
	c.tell(0)
	return c
}

// restart makes the shard anew from its log.
func (c *counted) restart(cache int) {
	var rec shard.Recovered
	require.NoError(c.t, c.store.Recover(0, rec.Add))
	m, out := shard.New(shard.Config{Lease: -1, CacheBytes: cache, Paging: c.paging, Pins: shard.PinConfig{Every: time.Second, Hot: 9, Node: 1}}, rec, c.now, 0)
	c.m = m
	c.act(out)
}

func (c *counted) act(out shard.Output) (sent []*msg.Envelope) {
	for i := range out.Entries {
		if e := &out.Entries[i]; e.Table == entry.TableVersion {
			c.rows++
			c.bytes += len(e.Key) + len(e.Value)
			if e.Action == entry.Set && !entry.IsDelta(e.Value) {
				c.whole++
			}
		} else if e.Table == entry.TablePage {
			c.bytes += len(e.Key) + len(e.Value)
			if e.Action == entry.Set {
				c.pages++
			}
		}
	}
	_, err := c.store.Append([]entry.Group{{Entries: out.Entries}})
	require.NoError(c.t, err)
	sent = out.Send
	if len(out.Reads) > 0 {
		var results []entry.ReadResult
		for _, r := range out.Reads {
			res := c.store.Read(0, r)
			c.longest = max(c.longest, len(res.Rows))
			for _, row := range res.Rows {
				c.readBytes += len(row.Key) + len(row.Value)
			}
			results = append(results, res)
		}
		sent = append(sent, c.act(c.m.Step(shard.Input{Now: c.now, Reads: results}))...)
	}
	return sent
}

func (c *counted) step(messages ...*msg.Envelope) []*msg.Envelope {
	return c.act(c.m.Step(shard.Input{Now: c.now, Messages: messages}))
}

// park is a transaction of its own with one operation.
func (c *counted) request(n int, op msg.Op) *msg.Envelope {
	env := msg.ToShard(0)
	env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: int64(n) + 1}, Attempt: 1}, CommitID: kv.CommitID{Gateway: 1},
		Piece: msg.Piece{Ops: []msg.Op{op}, Incarnation: c.m.Incarnation()}}
	return env
}

// tell has the keeper tell what is kept: the given indexes, and everything from
// the current one on.
func (c *counted) tell(numbers uint64, kept ...uint64) {
	c.told++
	env := msg.ToShard(0)
	env.Body = &msg.SnapshotList{Incarnation: 1, Change: c.told, Floor: c.m.Index(), Next: numbers + 1, Indexes: kept, Asker: c.m.Incarnation()}
	for i := range kept {
		msg.As[msg.SnapshotList](env).Numbers = append(msg.As[msg.SnapshotList](env).Numbers, uint64(i)+1)
	}
	c.step(env)
}

// fix has a reader fix the shard's index, which is then a state that may be kept.
func (c *counted) fix(n int) uint64 {
	env, done := msg.ToShard(0), msg.ToShard(0)
	reader := kv.TxnRef{TxnID: kv.TxnID{Time: int64(n), Rand: 1}, Attempt: 1}
	env.Body = &msg.Read{Reader: reader, Gateway: 1, Number: 1, KeepNanos: int64(kv.DefaultScanKeep), LeaseNanos: -1}
	done.Body = &msg.ReadPage{Txn: reader, Gateway: 1, Done: true}
	c.step(env, done)
	return uint64(c.m.Index())
}

// stored are the bytes of a key's rows, whether they are seen or not.
func (c *counted) stored(key string) (bytes int) {
	for at := ^kv.Index(0); ; {
		r := c.store.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte(key), Index: at})
		if len(r.Rows) == 0 {
			return bytes
		}
		for _, row := range r.Rows {
			bytes += len(row.Value)
			at = row.Index - 1
		}
	}
}

func memberOp(method string, from, to int) msg.Op {
	var args []msg.Datum
	for i := from; i < to; i++ {
		args = append(args, msg.Datum{Kind: msg.DatumBytes, Bytes: fmt.Appendf(nil, "member-%06d", i)})
	}
	return call("s", method, args...)
}

// fill makes a set of so many members and returns its size in bytes.
func (c *counted) fill(members int) int {
	for i := 0; i < members; i += 1000 {
		c.step(c.request(i, memberOp("add", i, min(i+1000, members))))
	}
	size := c.stored("s")
	c.rows, c.bytes, c.whole = 0, 0, 0
	return size
}

// TestAChangeCostsWhatItIs: of a set of 10,000 members one is replaced at a time.
// What is written for that, all in all, is a small multiple of what the change
// says.
func TestAChangeCostsWhatItIs(t *testing.T) {
	const members, changes = 10_000, 20_000
	for _, test := range []struct {
		name   string
		inStep int // transactions
		fixed  int // after how many changes somebody fixes the index
		times  float64
	}{
		{"one by one", 1, 0, 3},
		{"ten in a step", 10, 0, 3},
		{"read in between", 1, 100, 3},
		{"ten in a step, read in between", 10, 100, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCounted(t, memstore.NewAutoSync(), 1<<30)
			size := c.fill(members)
			own := 0
			for i := 0; i < changes; i += test.inStep {
				c.now += int64(time.Millisecond)
				var messages []*msg.Envelope
				for j := i; j < i+test.inStep; j++ {
					op := memberOp("add", members+j/2, members+j/2+1)
					if j%2 == 1 {
						op = memberOp("remove", j/2, j/2+1)
					}
					own += len(op.Key) + entry.DeltaSize(&entry.Value{}, []msg.Call{{Method: op.Method, Args: op.Args}})
					messages = append(messages, c.request(members+j, op))
				}
				c.step(messages...)
				if test.fixed > 0 && i%test.fixed == 0 {
					c.tell(1, c.fix(i))
				} else if i%1000 == 0 {
					c.fix(i)
					c.tell(0)
				}
			}
			t.Logf("a value of %d bytes; a change says %.0f, %.0f are written for it, in %.2f rows, and the value %d times",
				size, float64(own)/changes, float64(c.bytes)/changes, float64(c.rows)/changes, c.whole)
			require.Less(t, float64(c.bytes), test.times*float64(own))
			require.Positive(t, c.whole, "it is written whole now and then")
		})
	}
}

// TestEndlessChangesTakeNoRoom: neither alone nor beside a state that is kept.
func TestEndlessChangesTakeNoRoom(t *testing.T) {
	const members, changes = 2000, 30_000
	for _, pinned := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "beside a pin"}[pinned], func(t *testing.T) {
			c := newCounted(t, memstore.NewAutoSync(), 1<<30)
			size := c.fill(members)
			c.step(c.request(members, memberOp("add", members, members+1))) // the pin is amid a chain
			pin := c.fix(members)
			most := 0
			for i := range changes {
				c.now += int64(time.Millisecond)
				op := memberOp("add", i%members, i%members+1)
				if i%(2*members) < members {
					op.Method = 2 // remove
				}
				c.step(c.request(members+1+i, op))
				if i%100 > 0 {
					continue
				}
				c.fix(changes + i)
				if pinned {
					c.tell(1, pin)
				} else {
					c.tell(0)
				}
				if i > changes/10 {
					most = max(most, c.stored("s"))
				}
			}
			times := 2 + map[bool]int{true: 1}[pinned]
			t.Logf("a value of at most %d bytes takes at most %d", size, most)
			// A second's garbage is not collected yet.
			require.Less(t, most, times*size+1000*64+4<<10)
		})
	}
}

// TestAColdReadIsBounded: a chain has no more rows than the value has room for,
// whatever its size.
func TestAColdReadIsBounded(t *testing.T) {
	for members, most := range map[int]int{20: 1, 100: 70, 1000: 250, 10_000: 1000} {
		c := newCounted(t, memstore.NewAutoSync(), 1<<30)
		c.fill(members)
		longest := 0
		for i := range 3000 {
			c.step(c.request(members+i, memberOp([]string{"remove", "add"}[i%2], 0, 1)))
			c.fix(i) // else small rows are written over
			if i%7 == 0 {
				r := c.store.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte("s"), Index: c.m.Index()})
				longest = max(longest, len(r.Rows))
			}
		}
		t.Logf("%d members: at most %d rows", members, longest)
		require.LessOrEqual(t, longest, most, "%d members", members)
		require.Greater(t, longest, most/2, "%d members", members)
	}
}

// BenchmarkReadAfterIncrements reads what has been incremented 100,000 times, from
// memory and from the disk: a counter, a field of a small map, and one of a large.
func BenchmarkReadAfterIncrements(b *testing.B) {
	const increments = 100_000
	for _, cold := range []bool{false, true} {
		for _, fields := range []int{0, 1, 1000} {
			name := fmt.Sprintf("%s/%s", map[int]string{0: "counter", 1: "map of 1", 1000: "map of 1000"}[fields], map[bool]string{false: "warm", true: "cold"}[cold])
			b.Run(name, func(b *testing.B) {
				store, err := pebblestore.Open(b.TempDir(), pebblestore.Options{NoSync: true})
				require.NoError(b, err)
				defer func() { require.NoError(b, store.Close()) }()
				c := newCounted(b, store, 1<<30)
				read := incremented(c, fields, increments)
				if cold {
					c.restart(1) // nothing stays in memory
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					read(i)
				}
				b.ReportMetric(float64(c.longest), "rows")
			})
		}
	}
}

// incremented makes a counter, or a map, that has been incremented, and returns
// how it is read.
func incremented(c *counted, fields, times int) func(i int) {
	increment := msg.Op{Kind: msg.OpAdd, Key: []byte("d"), Delta: 1}
	get := msg.Op{Kind: msg.OpGet, Key: []byte("d")}
	if fields > 0 {
		for i := range fields {
			name := msg.Datum{Kind: msg.DatumBytes, Bytes: fmt.Appendf(nil, "field-%04d", i)}
			c.step(c.request(i, call("d", "set", name, name)))
		}
		f := msg.Datum{Kind: msg.DatumBytes, Bytes: []byte("n")}
		increment, get = call("d", "increment", f, msg.Datum{Kind: msg.DatumInt, Int: 1}), call("d", "get", f)
	}
	// A thousand transactions before the state is fixed, so that rows are kept.
	for i := range times {
		c.step(c.request(fields+i, increment))
		if i%1000 == 0 {
			c.now += int64(time.Second)
			c.fix(i)
		}
	}
	c.longest = 0
	return func(i int) {
		env := msg.ToShard(0)
		env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: int64(i), Rand: 2}, Attempt: 1}, CommitID: kv.CommitID{Gateway: 1}, Snapshot: true,
			Piece: msg.Piece{Ops: []msg.Op{get}, Incarnation: c.m.Incarnation()}}
		sent := c.step(env)
		if len(sent) != 1 || !msg.Is[msg.CommitResponse](sent[0]) || !msg.As[msg.CommitResponse](sent[0]).Committed {
			c.t.Fatalf("it was not read: %v", sent)
		}
	}
}
