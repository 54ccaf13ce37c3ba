package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestLateLockRequestOfCommittedAttemptIsIgnored: if the response is lost, no message of the gateway would
// release the lock.
func TestLateLockRequestOfCommittedAttemptIsIgnored(t *testing.T) {
	f := newSteps(t, 3)
	x := nthTxn(1)
	get := msg.Op{Kind: msg.OpGet, Key: []byte("gk"), ForUpdate: true}
	r := f.lock(x, 1, 1, get)
	f.send(prepareMsg(x, firstCommit, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)},
		ReadSet: &msg.ReadSet{Grants: r.Grants}}),
		commitMsg(x, firstCommit, 0, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}}))
	require.True(t, msg.As[msg.CommitResponse](f.out[len(f.out)-1]).Committed)
	require.Zero(t, f.shards[1].M.Status(0).Holders)
	late := msg.ToShard(1)
	late.Body = &msg.Lock{Txn: x, Gateway: 1, Number: 1, Ops: []msg.Op{get}}
	f.send(late)
	require.Zero(t, f.shards[1].M.Status(0).Holders)
}

// TestDroppedSnapshotIsNotRetainedAgain by a late copy of RetainSnapshot, after another gateway has dropped
// it.
func TestDroppedSnapshotIsNotRetainedAgain(t *testing.T) {
	now := int64(2)
	cfg := shard.Config{ID: 0, Lease: -1, Snapshots: shard.SnapshotConfig{Every: time.Second, History: time.Minute, Hot: 0,
		Node: 1}}
	m, _ := shard.New(cfg, shard.Recovered{}, 1, 1)
	step := func(e *msg.Envelope) *msg.SnapshotResponse {
		out := m.Step(shard.Input{Now: now, Wall: now, Messages: []*msg.Envelope{e}})
		return msg.As[msg.SnapshotResponse](out.Send[0])
	}
	retain := msg.ToShard(0)
	retain.Body = &msg.RetainSnapshot{
		Request:     kv.TxnRef{TxnID: kv.TxnID{Time: 7}, Attempt: 1},
		Gateway:     1,
		Incarnation: 1,
		Fixed:       1,
		Name:        "x",
		TtlNanos:    int64(time.Hour),
		Clock:       []msg.ShardCSN{{Shard: 0, CSN: 0}},
	}
	find := msg.ToShard(0)
	find.Body = &msg.FindSnapshot{Request: kv.TxnRef{TxnID: kv.TxnID{Time: 9}, Attempt: 1}, Gateway: 1, Name: "x"}
	r := step(retain)
	require.Nil(t, r.Failure)
	require.Equal(t, r.Snapshots, step(retain).Snapshots, "a copy gets the same snapshot")
	drop := msg.ToShard(0)
	drop.Body = &msg.DropSnapshot{Request: kv.TxnRef{TxnID: kv.TxnID{Time: 8}, Attempt: 2}, Gateway: 2,
		Number: r.Snapshots[0].Number}
	require.Nil(t, step(drop).Failure)

	require.NotNil(t, step(retain).Failure)
	require.NotNil(t, step(find).Failure)
	for range 3 {
		now += int64(kv.MaxTxnAge)
		require.NotNil(t, step(retain).Failure, "what is no longer remembered is too old")
		require.NotNil(t, step(find).Failure)
	}
}
