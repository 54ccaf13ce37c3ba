package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// counted is a shard that counts what it writes to its log.
type counted struct {
	t     testing.TB
	m     *shard.Machine
	store engine.Engine
	now   int64
	// listed is the number of snapshot lists that the registry has sent.
	listed uint64
	paging mvcc.Paging
	// used is the number of operations, from which their ids are made.
	used int
	// readBytes is the size of the rows read, and pages the number of pages written.
	readBytes, pages int
	// rows and bytes count the versions written or deleted, whole those of them that are no
	// deltas. longest is the largest number of rows that a read of a key has returned.
	rows, bytes, whole, longest int
}

func newCounted(t testing.TB) *counted {
	return newPaged(t, memstore.NewAutoSync(), 1<<30, mvcc.Paging{})
}

func newPaged(t testing.TB, store engine.Engine, cache int, paging mvcc.Paging) *counted {
	c := &counted{t: t, store: store, paging: paging}
	m, out := shard.New(shard.Config{Lease: -1, CacheBytes: cache, Paging: paging,
		Snapshots: shard.SnapshotConfig{Every: time.Second, Hot: 9, Node: 1}}, shard.Recovered{}, 0, 0)
	c.m = m
	c.act(out)
	c.sendList(0)
	return c
}

// restart creates the shard again from its log.
func (c *counted) restart(cache int) {
	var rec shard.Recovered
	require.NoError(c.t, c.store.Recover(0, rec.Add))
	m, out := shard.New(shard.Config{Lease: -1, CacheBytes: cache, Paging: c.paging,
		Snapshots: shard.SnapshotConfig{Every: time.Second, Hot: 9, Node: 1}}, rec, c.now, 0)
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
	env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: int64(n) + 1}, Attempt: 1},
		CommitID: kv.CommitID{Gateway: 1},
		Piece:    msg.Piece{Ops: []msg.Op{op}, Incarnation: c.m.Incarnation()}}
	return env
}

// sendList delivers a snapshot list: the given CSNs, and a GC safe point at the current one.
func (c *counted) sendList(numbers uint64, retained ...uint64) {
	c.listed++
	env := msg.ToShard(0)
	env.Body = &msg.SnapshotList{Incarnation: 1, Change: c.listed, SafePoint: c.m.CSN(), Next: numbers + 1, CSNs: retained,
		RequesterIncarnation: c.m.Incarnation()}
	for i := range retained {
		msg.As[msg.SnapshotList](env).Numbers = append(msg.As[msg.SnapshotList](env).Numbers, uint64(i)+1)
	}
	c.step(env)
}

// fix has a reader fix the CSN of the shard, as for a snapshot.
func (c *counted) fix(n int) uint64 {
	env, done := msg.ToShard(0), msg.ToShard(0)
	reader := kv.TxnRef{TxnID: kv.TxnID{Time: int64(n), Rand: 1}, Attempt: 1}
	env.Body = &msg.Read{Reader: reader, Gateway: 1, Number: 1, RetainNanos: int64(kv.DefaultScanRetention),
		LeaseNanos: -1}
	done.Body = &msg.ReadPage{Txn: reader, Gateway: 1, Done: true}
	c.step(env, done)
	return uint64(c.m.CSN())
}

// stored returns the size of the rows of a key, visible or not.
func (c *counted) stored(key string) (bytes int) {
	for at := ^kv.CSN(0); ; {
		r := c.store.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte(key), CSN: at})
		if len(r.Rows) == 0 {
			return bytes
		}
		for _, row := range r.Rows {
			bytes += len(row.Value)
			at = row.CSN - 1
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

// fill creates a set with a number of members and returns its size in bytes.
func (c *counted) fill(members int) int {
	for i := 0; i < members; i += 1000 {
		c.step(c.request(i, memberOp("add", i, min(i+1000, members))))
	}
	size := c.stored("s")
	c.rows, c.bytes, c.whole = 0, 0, 0
	return size
}

// TestBytesWrittenByChangesOfASet replaces one member of a set of 10,000 at a time. The bytes written for a
// change are a small multiple of its size.
func TestBytesWrittenByChangesOfASet(t *testing.T) {
	const members, changes = 10_000, 20_000
	for _, test := range []struct {
		name   string
		inStep int // transactions
		fixed  int // after how many changes a reader fixes the CSN
		times  float64
	}{
		{"one by one", 1, 0, 3},
		{"ten in a step", 10, 0, 3},
		{"read in between", 1, 100, 3},
		{"ten in a step, read in between", 10, 100, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCounted(t)
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
					c.sendList(1, c.fix(i))
				} else if i%1000 == 0 {
					c.fix(i)
					c.sendList(0)
				}
			}
			t.Logf("a value of %d bytes; a change has %.0f, %.0f are written for it, in %.2f rows, and the value %d times",
				size, float64(own)/changes, float64(c.bytes)/changes, float64(c.rows)/changes, c.whole)
			require.Less(t, float64(c.bytes), test.times*float64(own))
			require.Positive(t, c.whole, "the value is written as a whole from time to time")
		})
	}
}

// TestChangesDoNotAccumulate, with or without a retained snapshot.
func TestChangesDoNotAccumulate(t *testing.T) {
	const members, changes = 2000, 30_000
	for _, retained := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "beside a snapshot"}[retained], func(t *testing.T) {
			c := newCounted(t)
			size := c.fill(members)
			c.step(c.request(members, memberOp("add", members, members+1))) // the snapshot is in the middle of a chain
			snapshot := c.fix(members)
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
				if retained {
					c.sendList(1, snapshot)
				} else {
					c.sendList(0)
				}
				if i > changes/10 {
					most = max(most, c.stored("s"))
				}
			}
			times := 2 + map[bool]int{true: 1}[retained]
			t.Logf("a value of at most %d bytes takes at most %d", size, most)
			// The garbage of one second is not collected yet.
			require.Less(t, most, times*size+1000*64+4<<10)
		})
	}
}

// TestRowsOfAChainAreBounded: a chain has no more rows than the size of the value permits.
func TestRowsOfAChainAreBounded(t *testing.T) {
	for members, most := range map[int]int{20: 1, 100: 70, 1000: 250, 10_000: 1000} {
		c := newCounted(t)
		c.fill(members)
		longest := 0
		for i := range 3000 {
			c.step(c.request(members+i, memberOp([]string{"remove", "add"}[i%2], 0, 1)))
			c.fix(i) // else small rows are overwritten
			if i%7 == 0 {
				r := c.store.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte("s"), CSN: c.m.CSN()})
				longest = max(longest, len(r.Rows))
			}
		}
		t.Logf("%d members: at most %d rows", members, longest)
		require.LessOrEqual(t, longest, most, "%d members", members)
		require.Greater(t, longest, most/2, "%d members", members)
	}
}
