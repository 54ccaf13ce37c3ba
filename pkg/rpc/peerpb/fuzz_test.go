package peerpb_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// again decodes raw into m, if it can be, and requires that what was decoded
// survives being encoded and decoded again.
func again(t *testing.T, raw []byte, m, twin message) {
	if m.Unmarshal(raw) != nil {
		return
	}
	once, err := m.Marshal()
	require.NoError(t, err)
	require.NoError(t, twin.Unmarshal(once))
	twice, err := twin.Marshal()
	require.NoError(t, err)
	require.True(t, bytes.Equal(once, twice))
}

func seed(f *testing.F, ms ...message) {
	for _, m := range ms {
		raw, err := m.Marshal()
		require.NoError(f, err)
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Add([]byte{0x1a, 0xff, 0xff, 0xff, 0xff, 0x07})
}

func FuzzBatch(f *testing.F) {
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: 9, Rand: 8}, Attempt: 1}
	lock, vote := msg.ToShard(3), msg.ToGateway(2)
	lock.Body = &msg.Lock{Txn: ref, Ops: []msg.Op{{Kind: msg.OpScan, Key: []byte("a"), End: []byte("b")}}}
	vote.Body = &msg.Vote{Txn: ref, Yes: true, Epoch: kv.Epoch{Incarnation: 1, Count: 2}}
	seed(f,
		&peerpb.Batch{Hello: &peerpb.Hello{Cluster: "c", From: 1, To: 2, Version: 1}, Ping: true},
		&peerpb.Batch{Envelopes: []*msg.Envelope{lock, vote}})
	f.Fuzz(func(t *testing.T, raw []byte) {
		b := new(peerpb.Batch)
		again(t, raw, b, new(peerpb.Batch))
		for _, e := range b.Envelopes {
			require.NotNil(t, e)
			_ = e.String()
		}
	})
}

func FuzzReplicas(f *testing.F) {
	app := peerpb.ReplicaMessage{Group: 3, From: 1, To: 2, Sent: 9, Hold: 800e6, Raft: peerpb.Raft{Type: raftpb.MsgApp,
		Term: 5, Index: 7, Entries: []raftpb.Entry{{Term: 5, Index: 8, Data: []byte("row")}}}}
	snap := peerpb.ReplicaMessage{Raft: peerpb.Raft{Type: raftpb.MsgSnap, Snapshot: &raftpb.Snapshot{Data: []byte("s")}}}
	seed(f, &peerpb.ReplicaBatch{Hello: &peerpb.Hello{Cluster: "c"}, Ping: true},
		&peerpb.ReplicaBatch{Messages: []*peerpb.ReplicaMessage{&app, {Gone: true}}},
		&peerpb.SnapshotChunk{Message: &snap, Rows: []byte("rows")}, &peerpb.SnapshotResult{Error: "no"})
	f.Fuzz(func(t *testing.T, raw []byte) {
		again(t, raw, new(peerpb.ReplicaBatch), new(peerpb.ReplicaBatch))
		again(t, raw, new(peerpb.SnapshotChunk), new(peerpb.SnapshotChunk))
		again(t, raw, new(peerpb.SnapshotResult), new(peerpb.SnapshotResult))
	})
}

// Each level of nesting takes stack. A message of the largest size would have millions of them.
func TestNestedMessagesAreRejected(t *testing.T) {
	m := peerpb.ReplicaMessage{Raft: peerpb.Raft{Responses: []raftpb.Message{{}}}}
	raw, err := m.Marshal()
	require.NoError(t, err)
	require.ErrorIs(t, new(peerpb.ReplicaMessage).Unmarshal(raw), peerpb.ErrLocalMessage)
	m.Raft.Responses = nil
	raw, err = m.Marshal()
	require.NoError(t, err)
	require.NoError(t, new(peerpb.ReplicaMessage).Unmarshal(raw))
	require.NotEmpty(t, m.String())
}

func FuzzMeet(f *testing.F) {
	in := peerpb.Introduction{Cluster: "c", Node: 1, Address: "h:1", List: []string{"h:1", "h:2"}, Shards: 9,
		HotKeys: [][]byte{[]byte("k")}, Members: []peerpb.Member{{Node: 1, Address: "h:1", Moves: 3}}, Version: 1}
	seed(f, &peerpb.MeetRequest{Caller: in}, &peerpb.MeetResponse{Called: in, Refusal: "no"})
	f.Fuzz(func(t *testing.T, raw []byte) {
		again(t, raw, new(peerpb.MeetRequest), new(peerpb.MeetRequest))
		again(t, raw, new(peerpb.MeetResponse), new(peerpb.MeetResponse))
	})
}
