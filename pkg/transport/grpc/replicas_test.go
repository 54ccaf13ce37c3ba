package grpc_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/grpc"
	suite "github.com/linchpindb/linchpin/pkg/transport/transporttest"
)

func dropEnvelopes([]*msg.Envelope) {}

// testHello is that of node 2 to node 1.
var testHello = peerpb.Hello{Cluster: cluster, From: 2, To: 1, Version: peerpb.Version}

// openReplicate opens a stream of replicas with a first batch and returns the error of the first response.
func openReplicate(t testing.TB, addr string, first *peerpb.ReplicaBatch) (peerpb.Peer_ReplicateClient, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	s, err := client(t, addr).Replicate(ctx)
	require.NoError(t, err)
	requireSent(t, s.Send(first))
	_, err = s.Recv()
	return s, err
}

// sendSnapshot sends a Raft snapshot of one chunk and returns its result.
func sendSnapshot(t testing.TB, addr string, c *peerpb.SnapshotChunk) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	s, err := client(t, addr).SendSnapshot(ctx)
	require.NoError(t, err)
	requireSent(t, s.Send(c))
	_, err = s.CloseAndRecv()
	return err
}

// requireSent checks the error of a Send. It is io.EOF if the server has ended the stream already: why is the error of
// the next Recv.
func requireSent(t testing.TB, err error) {
	if err != io.EOF {
		require.NoError(t, err)
	}
}

func TestReplicasOfOtherClustersAreRejected(t *testing.T) {
	n := newNet(t, grpc.Options{})
	in := &suite.ReplicaInbox{Snapshot: func(context.Context, *consensus.Message, func() ([]byte, error)) error {
		return nil
	}}
	waiting := n.serveReplicas(t, 1, dropEnvelopes, in)
	defer waiting.Close()
	message := peerpb.ReplicaMessage{Group: 1}
	from := func(hello *peerpb.Hello) (replicate, snapshot error) {
		_, replicate = openReplicate(t, n.addrs[1], &peerpb.ReplicaBatch{Hello: hello,
			Messages: []*peerpb.ReplicaMessage{&message}})
		return replicate, sendSnapshot(t, n.addrs[1], &peerpb.SnapshotChunk{Hello: hello, Message: &message})
	}
	replicate, snapshot := from(&testHello)
	require.Equal(t, codes.Unavailable, status.Code(replicate), "not started yet")
	require.Equal(t, codes.Unavailable, status.Code(snapshot))
	require.NoError(t, waiting.Start(grpc.Identity{Cluster: cluster, Node: 1}, nil))
	foreign := testHello
	foreign.Cluster = "decaf"
	for _, hello := range []*peerpb.Hello{nil, &foreign} {
		replicate, snapshot = from(hello)
		require.Equal(t, codes.FailedPrecondition, status.Code(replicate))
		require.Equal(t, codes.FailedPrecondition, status.Code(snapshot))
	}
	require.Empty(t, in.All(), "their messages are not handled")
	err := sendSnapshot(t, n.addrs[1], &peerpb.SnapshotChunk{Hello: &testHello, Rows: []byte("rows")})
	require.Equal(t, codes.InvalidArgument, status.Code(err), "no message")
	replicate, snapshot = from(&testHello)
	require.NoError(t, replicate)
	require.NoError(t, snapshot)
	in.Await(t, 1)
}

func TestNodeWithoutReplicasImplementsNone(t *testing.T) {
	n := newNet(t, grpc.Options{})
	nd := n.Start(t, 1, dropEnvelopes)
	defer nd.Close()
	_, err := openReplicate(t, n.addrs[1], &peerpb.ReplicaBatch{Hello: &testHello})
	require.Equal(t, codes.Unimplemented, status.Code(err))
	err = sendSnapshot(t, n.addrs[1], &peerpb.SnapshotChunk{Hello: &testHello, Message: &peerpb.ReplicaMessage{}})
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

// A newer stream of one kind replaces the older one of that kind only.
func TestKindsOfStreamsAreIndependent(t *testing.T) {
	n := newNet(t, grpc.Options{})
	in := new(suite.ReplicaInbox)
	nd := n.StartReplicas(t, 1, dropEnvelopes, in)
	defer nd.Close()
	old, err := openReplicate(t, n.addrs[1], &peerpb.ReplicaBatch{Hello: &testHello})
	require.NoError(t, err)
	require.NoError(t, openStream(t, n.addrs[1], &peerpb.Batch{Hello: &testHello}))
	require.NoError(t, old.Send(&peerpb.ReplicaBatch{Ping: true, Messages: []*peerpb.ReplicaMessage{{Group: 1}}}))
	_, err = old.Recv()
	require.NoError(t, err, "a ping gets a Beat")
	in.Await(t, 1)
	_, err = openReplicate(t, n.addrs[1], &peerpb.ReplicaBatch{Hello: &testHello})
	require.NoError(t, err)
	_, err = old.Recv()
	require.Equal(t, codes.Aborted, status.Code(err))
}

// batches counts the calls of a handler.
type batches struct {
	suite.ReplicaInbox
	calls atomic.Int64
}

func (b *batches) ReceiveReplica(from kv.NodeID, msgs []consensus.Message) {
	b.calls.Add(1)
	b.ReplicaInbox.ReceiveReplica(from, msgs)
}

// R7.3. A cluster without replicas has no stream for them.
func TestHeartbeatsOfAllGroupsAreOneMessage(t *testing.T) {
	n := newNet(t, grpc.Options{})
	in := new(batches)
	a := n.StartReplicas(t, 1, dropEnvelopes, in).(*node)
	defer a.Close()
	b := n.StartReplicas(t, 2, dropEnvelopes, in)
	defer b.Close()
	require.Eventually(t, func() bool { return a.Up(2) && b.Up(1) }, 10*time.Second, time.Millisecond)
	require.Zero(t, a.Stats()[0].Replicas.Connects)
	heartbeats := make([]consensus.Message, 1000)
	for range 2 { // the first ones also open the stream
		a.SendReplica(2, heartbeats)
	}
	in.Await(t, 2*len(heartbeats))
	require.LessOrEqual(t, in.calls.Load(), int64(2))
	st := a.Stats()[0]
	require.EqualValues(t, 1, st.Replicas.Connects)
	require.EqualValues(t, 2000, st.Replicas.Sent)
	require.Zero(t, st.Sent)
	require.EqualValues(t, 2000, b.(*node).Stats()[0].Replicas.Received)
	require.Empty(t, st.Replicas.LastError)
}

func TestStaleMessagesAreNotSentAfterConnecting(t *testing.T) {
	n := newNet(t, grpc.Options{ReplicaAge: 1})
	a := n.StartReplicas(t, 1, dropEnvelopes, new(suite.ReplicaInbox)).(*node)
	defer a.Close()
	a.SendReplica(2, []consensus.Message{suite.Append(1, 9), suite.Append(2, 9)})
	in := new(suite.ReplicaInbox)
	b := n.StartReplicas(t, 2, dropEnvelopes, in)
	defer b.Close()
	require.Eventually(t, func() bool { return a.Stats()[0].Replicas.Outbox.Waiting == 0 }, 10*time.Second,
		time.Millisecond)
	a.SendReplica(2, []consensus.Message{suite.Append(3, 9)})
	require.EqualValues(t, 3, in.Await(t, 1)[0].Sent)
	require.EqualValues(t, 2, a.Stats()[0].Replicas.Outbox.Dropped)
}

func TestOversizedMessageOfReplicaIsDropped(t *testing.T) {
	n := newNet(t, grpc.Options{})
	in := new(suite.ReplicaInbox)
	b := n.StartReplicas(t, 2, dropEnvelopes, in)
	defer b.Close()
	a := n.StartReplicas(t, 1, dropEnvelopes, in).(*node)
	defer a.Close()
	a.SendReplica(2, []consensus.Message{suite.Append(1, 0), suite.Append(2, grpc.MaxMessageBytes), suite.Append(3, 0)})
	require.EqualValues(t, 3, in.Await(t, 2)[1].Sent)
	require.EqualValues(t, 1, a.Stats()[0].Replicas.Oversized)
}

// A peer whose handler of envelopes blocks sends no Beats on their stream.
func TestPeerIsUpByEitherStream(t *testing.T) {
	n := newNet(t, grpc.Options{StallAfter: time.Hour})
	proceed, blocked := make(chan struct{}), make(chan struct{}, 1)
	b := n.StartReplicas(t, 2, func([]*msg.Envelope) {
		blocked <- struct{}{}
		<-proceed
	}, new(suite.ReplicaInbox))
	defer b.Close()
	defer close(proceed)
	a := n.StartReplicas(t, 1, dropEnvelopes, new(suite.ReplicaInbox)).(*node)
	defer a.Close()
	a.Send(2, []*msg.Envelope{suite.Release(1)})
	<-blocked
	require.Eventually(t, func() bool { return !a.Up(2) }, 10*time.Second, time.Millisecond)
	a.SendReplica(2, []consensus.Message{suite.Append(1, 0)})
	require.Eventually(t, func() bool { return a.Up(2) }, 10*time.Second, time.Millisecond)
	require.Never(t, func() bool { return !a.Up(2) }, 3*suite.UpWindow, suite.UpWindow/10)
}

func TestReplicasSurviveSilentConnection(t *testing.T) {
	n := newNet(t, grpc.Options{StallAfter: 2 * suite.UpWindow})
	entered := make(chan struct{}, 1)
	in := &suite.ReplicaInbox{Snapshot: func(ctx context.Context, _ *consensus.Message, _ func() ([]byte, error)) error {
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	b := n.StartReplicas(t, 2, dropEnvelopes, in)
	t.Cleanup(func() { require.NoError(t, b.Close()) }) // as in TestSilentConnectionIsReplaced
	h := newHole(t, n.addrs[2])
	n.addrs[2] = h.l.Addr().String()
	a := n.StartReplicas(t, 1, dropEnvelopes, new(suite.ReplicaInbox)).(*node)
	defer a.Close()
	a.SendReplica(2, []consensus.Message{suite.Append(1, 0)})
	in.Await(t, 1)
	result := make(chan error, 1)
	go func() {
		result <- a.SendSnapshot(context.Background(), 2, &consensus.Message{}, func() ([]byte, error) { return nil, nil })
	}()
	<-entered

	h.setSilent(true)
	require.ErrorContains(t, <-result, "the peer does not respond")
	require.Eventually(t, func() bool { return a.Stats()[0].Replicas.LastError == "the peer does not respond" },
		10*time.Second, time.Millisecond)
	h.setSilent(false)
	require.Eventually(t, func() bool {
		a.SendReplica(2, []consensus.Message{suite.Append(2, 0)})
		got := in.All()
		return got[len(got)-1].Sent == 2
	}, 10*time.Second, 10*time.Millisecond, "over a new connection")
}

func TestDelayAppliesToReplicas(t *testing.T) {
	const delay = 20 * time.Millisecond
	suite.TestReplicaDelay(t, newNet(t, grpc.Options{Delay: delay}), delay)
}
