package outbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// replicaMessage makes a message that is identified by n, with an entry of some bytes.
func replicaMessage(n, bytes int) *peerpb.ReplicaMessage {
	return &peerpb.ReplicaMessage{Sent: int64(n), Raft: peerpb.Raft{Entries: []raftpb.Entry{{Data: make([]byte, bytes)}}}}
}

func takeAll(r *outbox.Replicas) []int64 {
	var sent []int64
	for next := int64(1); next > 0; {
		var batch []*peerpb.ReplicaMessage
		batch, next = r.Take(nil, 100, 1<<20, 1)
		for i := range batch {
			sent = append(sent, batch[i].Sent)
		}
	}
	return sent
}

func TestFullQueueOfReplicasDropsNewest(t *testing.T) {
	r := outbox.NewReplicas()
	const extra = 100
	for i := range outbox.MaxReplicaCount + extra {
		r.Push([]*peerpb.ReplicaMessage{replicaMessage(i, 0)}, 0)
	}
	<-r.Ready()
	require.EqualValues(t, extra, r.Counts().Dropped)
	require.Equal(t, outbox.MaxReplicaCount, r.Counts().Waiting)
	got := takeAll(r)
	require.Len(t, got, outbox.MaxReplicaCount)
	for i, n := range got {
		require.EqualValues(t, i, n, "in order")
	}
	require.Zero(t, r.Counts().Waiting+r.Counts().WaitingBytes)

	// A large message is dropped and a small one behind it is not: Raft needs no message for the next.
	const mib = 1 << 20
	r.Push([]*peerpb.ReplicaMessage{replicaMessage(1, 63*mib), replicaMessage(2, mib), replicaMessage(3, 9)}, 0)
	require.Equal(t, []int64{1, 3}, takeAll(r))
	r.Push([]*peerpb.ReplicaMessage{replicaMessage(4, outbox.MaxReplicaBytes)}, 0)
	require.Equal(t, []int64{4}, takeAll(r), "a single larger one is accepted")
}

func TestStaleMessagesOfReplicasAreDropped(t *testing.T) {
	r := outbox.NewReplicas()
	for i := range 10 {
		r.Push([]*peerpb.ReplicaMessage{replicaMessage(i, 0)}, int64(i))
	}
	r.DropBefore(7)
	require.EqualValues(t, 7, r.Counts().Dropped)
	got, next := r.Take(nil, 10, 1<<20, 8)
	require.Len(t, got, 2)
	require.EqualValues(t, 7, got[0].Sent)
	require.EqualValues(t, 9, next, "when the last is due")
	r.DropBefore(100)
	require.Zero(t, r.Counts().Waiting)
}
