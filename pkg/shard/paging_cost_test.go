package shard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// inOnePiece switches pages off.
var inOnePiece = mvcc.Paging{Threshold: math.MaxInt}

func scoredMember(i int) msg.Datum {
	return adt.Bytes(fmt.Appendf(nil, "member-%08x", uint32(i)*2654435761))
}

func scoreOf(i int) msg.Datum { return adt.Float(float64(uint32(i) * 2246822519 % 1_000_000)) }

// score creates a sorted set of a number of members, in pages without patches.
func (c *counted) score(members int) {
	for i := 0; i < members; i += 1000 {
		var args []msg.Datum
		for j := i; j < min(i+1000, members); j++ {
			args = append(args, scoreOf(j), scoredMember(j))
		}
		c.step(c.request(i, call("z", "add", args...)))
	}
	c.now += int64(time.Second)
	c.fix(members)
	c.sendList(0)
}

// memberUses are operations on one member of a large set.
var memberUses = []struct {
	name string
	op   func(i, members int) msg.Op
}{
	{"score", func(i, n int) msg.Op { return call("z", "score", scoredMember(i*7919%n)) }},
	{"rank", func(i, n int) msg.Op { return call("z", "rank", scoredMember(i*7919%n)) }},
	{"top10", func(int, int) msg.Op { return call("z", "range-by-rev-rank", adt.Int(0), adt.Int(9)) }},
	{"add", func(i, n int) msg.Op { return call("z", "add", scoreOf(i*31+7), scoredMember(i*7919%n)) }},
	{"increment", func(i, n int) msg.Op { return call("z", "increment", scoredMember(i*7919%n), adt.Float(3)) }},
}

// use executes one operation as a transaction, which must commit.
func (c *counted) use(n int, op msg.Op) {
	env := c.request(n, op)
	msg.As[msg.CommitRequest](env).Txn.Rand = 2
	msg.As[msg.CommitRequest](env).Snapshot = !op.Writes()
	for _, sent := range c.step(env) {
		if msg.Is[msg.CommitResponse](sent) && msg.As[msg.CommitResponse](sent).Committed {
			return
		}
	}
	c.t.Fatalf("%v has not committed", op)
}

// BenchmarkUseNotInMemory uses one member of a sorted set that is not in memory, from pebble, in pages and in
// one row.
func BenchmarkUseNotInMemory(b *testing.B) {
	for _, members := range []int{1_000, 10_000, 100_000} {
		for _, paging := range []mvcc.Paging{{}, inOnePiece} {
			store, err := pebblestore.Open(b.TempDir(), pebblestore.Options{NoSync: true})
			require.NoError(b, err)
			c := newPaged(b, store, 1, paging)
			c.score(members)
			for _, use := range memberUses {
				b.Run(fmt.Sprintf("%s/members=%d/%s", use.name, members, map[bool]string{true: "whole",
					false: "pages"}[paging == inOnePiece]), func(b *testing.B) {
					c.t = b
					c.readBytes, c.bytes = 0, 0
					n := 0
					for b.Loop() {
						c.now += int64(time.Millisecond)
						c.use(c.used, use.op(c.used, members))
						c.used++
						n++
					}
					b.ReportMetric(float64(c.readBytes)/float64(n), "read-B/op")
					b.ReportMetric(float64(c.bytes)/float64(n), "written-B/op")
				})
			}
			require.NoError(b, store.Close())
		}
	}
}

// TestCacheMissOfLargeValueIsSublinear counts the bytes that operations on a member read, with nothing in
// memory, after as many changes as there may be before pages are rewritten. A change may have to read all
// pages that have patches, so only the mean of these is bounded.
func TestCacheMissOfLargeValueIsSublinear(t *testing.T) {
	for members, most := range map[int]int{1_000: 70_000, 10_000: 90_000, 30_000: 120_000} {
		c := newPaged(t, memstore.NewAutoSync(), 1, mvcc.Paging{})
		c.score(members)
		worst, sum := map[string]int{}, map[string]int{}
		const rounds = 150
		for i := range rounds * len(memberUses) {
			use := memberUses[i%len(memberUses)]
			c.readBytes = 0
			c.use(i, use.op(i, members))
			worst[use.name] = max(worst[use.name], c.readBytes)
			sum[use.name] += c.readBytes
			if i%100 == 0 {
				c.fix(members + i)
			}
		}
		for _, use := range memberUses {
			t.Logf("%d members: %s reads %d bytes at most, %d in the mean", members, use.name, worst[use.name],
				sum[use.name]/rounds)
			if op := use.op(0, members); !op.Writes() {
				require.Less(t, worst[use.name], most, "%s", use.name)
			}
			require.Less(t, sum[use.name]/rounds, most, "%s", use.name)
		}
	}
}

// TestBytesWrittenByChangesOfALargeValue: changes of random members rewrite all pages from time to time;
// changes of few members write little besides themselves.
func TestBytesWrittenByChangesOfALargeValue(t *testing.T) {
	const members, changes = 20_000, 10_000
	for _, test := range []struct {
		name  string
		which func(r *rand.Rand) int
		times float64
	}{
		{"any member", func(r *rand.Rand) int { return r.IntN(members) }, 22},
		{"mostly few", func(r *rand.Rand) int { return int(float64(members) * math.Pow(r.Float64(), 12)) }, 17},
		{"ten members", func(r *rand.Rand) int { return r.IntN(10) }, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newPaged(t, memstore.NewAutoSync(), 1<<30, mvcc.Paging{})
			c.score(members)
			r := rand.New(rand.NewPCG(1, 2))
			c.bytes, c.pages = 0, 0
			own := 0
			for i := range changes {
				// so that its position changes
				op := call("z", "increment", scoredMember(test.which(r)), adt.Float(float64(r.IntN(100_000))))
				own += len(op.Key) + entry.DeltaSize(&entry.Value{}, []msg.Call{{Method: op.Method, Args: op.Args}})
				c.step(c.request(members+i, op))
				if i%50 == 0 {
					c.fix(members + i)
					c.sendList(0)
				}
			}
			t.Logf("a change has %.0f bytes, and %.0f are written for it, with %.2f pages", float64(own)/changes,
				float64(c.bytes)/changes, float64(c.pages)/changes)
			require.Less(t, float64(c.bytes), test.times*float64(own))
		})
	}
}

// TestPatchesAreBounded: changes by score whose pages are never read are kept as patches, but not without
// bound, whether the value stays in memory or not.
func TestPatchesAreBounded(t *testing.T) {
	const members, changes = 4_000, 2_000
	for _, cache := range []int{1, 1 << 30} {
		c := newPaged(t, memstore.NewAutoSync(), 1, mvcc.Paging{})
		c.score(members)
		c.restart(cache)
		longest := 0
		for i := range changes {
			c.use(i, call("z", "add", scoreOf(i*77+3), scoredMember(i%members)))
			if i%50 == 0 {
				c.fix(members + i)
			}
			r := c.store.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte("z"), CSN: c.m.CSN()})
			longest = max(longest, len(r.Rows[len(r.Rows)-1].Value))
		}
		t.Logf("a directory of at most %d bytes", longest)
		require.Less(t, longest, 40_000)
		require.Positive(t, longest)
	}
}

// TestPagesOfDeletedValuesAreCollected: nothing remains of a value in pages that was deleted, was deleted in a
// range without being read, or has become small.
func TestPagesOfDeletedValuesAreCollected(t *testing.T) {
	for name, op := range map[string]msg.Op{
		"deleted":      {Kind: msg.OpDelete, Key: []byte("z")},
		"in a range":   {Kind: msg.OpDeleteRange, Key: []byte("a"), End: []byte("zz")},
		"by its calls": {},
	} {
		t.Run(name, func(t *testing.T) {
			c := newPaged(t, memstore.NewAutoSync(), 1, mvcc.Paging{})
			c.score(10_000)
			require.Greater(t, c.countPages(), 10)
			c.restart(1)
			c.sendList(0)
			if op.Key != nil {
				c.use(1, op)
			} else {
				for i := 0; i < 10_000; i += 500 {
					var args []msg.Datum
					for j := i; j < i+500; j++ {
						args = append(args, scoredMember(j))
					}
					c.use(i, call("z", "remove", args...))
				}
			}
			for i := range 8 {
				c.now += int64(time.Minute)
				c.use(20_000+i, msg.Op{Kind: msg.OpPut, Key: []byte("other"), Value: []byte("x")})
				c.fix(20_000 + i)
				c.sendList(0)
				c.now += int64(time.Minute)
				c.step()
			}
			require.Zero(t, c.countPages())
			require.Zero(t, c.stored("z"))
			require.Empty(t, c.store.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte("z"),
				CSN: kv.CSN(math.MaxInt64)}).Rows)
		})
	}
}

// countPages returns the number of pages in the store, also of those that no directory refers to.
func (c *counted) countPages() (n int) {
	for id := range uint64(300_000) {
		if r := c.store.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TablePage,
			Key: entry.PageKey([]byte("z"), id)}); len(r.Rows) > 0 {
			n++
		}
	}
	return n
}

// TestRestoredValueIsPaged: a value that is dumped and restored as a whole is in pages at once.
func TestRestoredValueIsPaged(t *testing.T) {
	c := newPaged(t, memstore.NewAutoSync(), 1, mvcc.Paging{})
	c.score(10_000)
	c.restart(1)
	dump := func(key string) []byte {
		env := c.request(1, msg.Op{Kind: msg.OpGet, Key: []byte(key), Stored: true})
		msg.As[msg.CommitRequest](env).Txn.Rand, msg.As[msg.CommitRequest](env).Snapshot = 3, true
		sent := c.step(env)
		require.Len(t, sent, 1)
		require.True(t, msg.As[msg.CommitResponse](sent[0]).Committed, "%v", msg.As[msg.CommitResponse](sent[0]).Failure)
		return msg.As[msg.CommitResponse](sent[0]).Results[0].Value
	}
	form := dump("z")
	require.Greater(t, len(form), 200_000)
	c.pages = 0
	c.use(20_000, msg.Op{Kind: msg.OpPut, Key: []byte("z2"), Type: uint32(adt.SortedSet), Value: form, Stored: true})
	require.Greater(t, c.pages, 50)
	c.restart(1)
	require.Equal(t, form, dump("z2"))
	c.readBytes = 0
	c.use(20_001, call("z2", "score", scoredMember(77)))
	require.Less(t, c.readBytes, 10_000)
}
