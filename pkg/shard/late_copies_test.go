package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestALateLockOfACommittedAttemptTakesNoLock: a copy of a Lock arrives after the attempt has committed.
// The answer may be lost, and then no message of the gateway would release the lock.
func TestALateLockOfACommittedAttemptTakesNoLock(t *testing.T) {
	f := newSteps(t, 3)
	x := lateID(1)
	get := msg.Op{Kind: msg.OpGet, Key: []byte("gk"), ForUpdate: true}
	r := f.lock(x, 1, 1, get)
	f.send(latePrepare(x, 1, 0, 1, msg.Piece{Ops: []msg.Op{lateAdd("gk", 0)}, Grants: r.Grants}),
		latePark(x, 0, 1, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{lateAdd("j", 1)}}))
	require.True(t, f.out[len(f.out)-1].Answer.Committed)
	require.Zero(t, f.m[1].Snapshot(0).Holders)
	late := msg.ToShard(1)
	late.Lock = &msg.Lock{Txn: x, Gateway: 1, Number: 1, Ops: []msg.Op{get}}
	f.send(late)
	require.Zero(t, f.m[1].Snapshot(0).Holders)
}

// TestADroppedSnapshotDoesNotComeBack: a copy of KeepPin arrives after the snapshot was dropped, by
// another gateway.
func TestADroppedSnapshotDoesNotComeBack(t *testing.T) {
	now := int64(2)
	cfg := shard.Config{ID: 0, Lease: -1, Pins: shard.PinConfig{Every: time.Second, History: time.Minute, Hot: 0, Node: 1}}
	m, _ := shard.New(cfg, shard.Recovered{}, 1, 1)
	step := func(e *msg.Envelope) *msg.PinReply {
		out := m.Step(shard.Input{Now: now, Wall: now, Messages: []*msg.Envelope{e}})
		return out.Send[0].PinReply
	}
	keep := msg.ToShard(0)
	keep.KeepPin = &msg.KeepPin{
		Request:     kv.TxnRef{TxnID: kv.TxnID{Time: 7}, Attempt: 1},
		Gateway:     1,
		Incarnation: 1,
		Fixed:       1,
		Name:        "x",
		TtlNanos:    int64(time.Hour),
		Clock:       []msg.ShardIndex{{Shard: 0, Index: 0}},
	}
	find := msg.ToShard(0)
	find.FindPin = &msg.FindPin{Request: kv.TxnRef{TxnID: kv.TxnID{Time: 9}, Attempt: 1}, Gateway: 1, Name: "x"}
	r := step(keep)
	require.Nil(t, r.Failure)
	require.Equal(t, r.Pins, step(keep).Pins, "a copy gets the same snapshot")
	drop := msg.ToShard(0)
	drop.DropPin = &msg.DropPin{Request: kv.TxnRef{TxnID: kv.TxnID{Time: 8}, Attempt: 2}, Gateway: 2, Number: r.Pins[0].Number}
	require.Nil(t, step(drop).Failure)

	require.NotNil(t, step(keep).Failure)
	require.NotNil(t, step(find).Failure)
	for range 3 {
		now += int64(kv.MaxTxnAge)
		require.NotNil(t, step(keep).Failure, "what is no longer remembered is too old")
		require.NotNil(t, step(find).Failure)
	}
}

// steps are some shards whose messages are delivered at once.
type steps struct {
	t      *testing.T
	m      []*shard.Machine
	stores []*memstore.Store
	now    int64
	// out are the messages for gateways.
	out []*msg.Envelope
}

// newSteps makes n shards; keys that begin with g are at home on shard 1, and the last one is
// the hot one.
func newSteps(t *testing.T, n int) *steps {
	f := &steps{t: t}
	for i := range n {
		cfg := shard.Config{ID: kv.ShardID(i), Lease: -1}
		if i == n-1 {
			cfg.Home = func(key []byte) kv.ShardID {
				if len(key) > 0 && key[0] == 'g' {
					return 1
				}
				return kv.ShardID(n - 1)
			}
		}
		store := memstore.NewAutoSync()
		var rec shard.Recovered
		m, out := shard.New(cfg, rec, 0, 0)
		f.m, f.stores = append(f.m, m), append(f.stores, store)
		f.take(i, out)
	}
	return f
}

func (f *steps) take(i int, out shard.Output) {
	_, err := f.stores[i].Append([]entry.Group{{Shard: kv.ShardID(i), Entries: out.Entries}})
	require.NoError(f.t, err)
	var results []entry.ReadResult
	for _, r := range out.Reads {
		results = append(results, f.stores[i].Read(kv.ShardID(i), r))
	}
	envs := append(append([]*msg.Envelope{}, out.Urgent...), out.Send...)
	if len(results) > 0 {
		f.take(i, f.m[i].Step(shard.Input{Now: f.now, Reads: results}))
	}
	f.send(envs...)
}

func (f *steps) send(envs ...*msg.Envelope) {
	for _, e := range envs {
		switch {
		case e.Gateway != 0:
			f.out = append(f.out, e)
		case int(e.Shard) < len(f.m):
			f.take(int(e.Shard), f.m[e.Shard].Step(shard.Input{Now: f.now, Messages: []*msg.Envelope{e}}))
		}
	}
}

func lateID(n int64) kv.TxnRef {
	return kv.TxnRef{TxnID: kv.TxnID{Time: n, Rand: uint64(n)}, Attempt: 1}
}

func (f *steps) lock(txn kv.TxnRef, s kv.ShardID, number uint32, ops ...msg.Op) *msg.LockReply {
	e := msg.ToShard(s)
	e.Lock = &msg.Lock{Txn: txn, Gateway: 1, Number: number, Ops: ops}
	f.send(e)
	r := f.out[len(f.out)-1].LockReply
	require.NotNil(f.t, r)
	require.Nil(f.t, r.Failure)
	return r
}

func latePrepare(txn kv.TxnRef, to, last kv.ShardID, gw kv.NodeID, p msg.Piece) *msg.Envelope {
	e := msg.ToShard(to)
	p.Incarnation = 1
	e.Prepare = &msg.Prepare{Txn: txn, Gateway: gw, Last: last, LastIncarnation: 1, Piece: p}
	return e
}

func latePark(txn kv.TxnRef, to kv.ShardID, gw kv.NodeID, with []kv.ShardID, p msg.Piece) *msg.Envelope {
	e := msg.ToShard(to)
	p.Incarnation = 1
	e.Park = &msg.Park{Txn: txn, Gateway: gw, Participants: with, Piece: p}
	return e
}

func lateAdd(key string, seq uint32) msg.Op {
	return msg.Op{Kind: msg.OpAdd, Key: []byte(key), Delta: 1, Seq: seq}
}
