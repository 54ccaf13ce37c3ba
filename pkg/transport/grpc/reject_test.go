package grpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/grpc"
	suite "github.com/linchpindb/linchpin/pkg/transport/transporttest"
)

func client(t testing.TB, addr string) peerpb.PeerClient {
	conn, err := gogrpc.NewClient("passthrough:///"+addr,
		gogrpc.WithTransportCredentials(insecure.NewCredentials()), codec.DialOption())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return peerpb.NewPeerClient(conn)
}

// openStream opens a stream with a first batch and returns the error of the first response.
func openStream(t testing.TB, addr string, first *peerpb.Batch) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := client(t, addr).Stream(ctx)
	require.NoError(t, err)
	requireSent(t, s.Send(first))
	_, err = s.Recv()
	return err
}

func TestInvalidHelloIsRejected(t *testing.T) {
	n := newNet(t, grpc.Options{})
	in := new(suite.Inbox)
	nd := n.Start(t, 1, in.Handle)
	defer nd.Close()
	good := peerpb.Hello{Cluster: cluster, From: 2, To: 1, Version: peerpb.Version}
	for _, c := range []struct {
		name   string
		change func(h *peerpb.Hello)
		text   string
	}{
		{"a foreign cluster", func(h *peerpb.Hello) { h.Cluster = "decaf" },
			"node n2 belongs to cluster decaf, and this node n1 to cluster c0ffee"},
		{"a wrong address", func(h *peerpb.Hello) { h.To = 3 }, "node n2 called node n3, but this is node n1"},
		{"another release", func(h *peerpb.Hello) { h.Version++ }, "run the same release"},
		{"the node's own id", func(h *peerpb.Hello) { h.From = 1 }, "whether a store directory was copied"},
		{"no id", func(h *peerpb.Hello) { h.From = 0 }, "with the id n0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := good
			c.change(&h)
			err := openStream(t, n.addrs[1], &peerpb.Batch{Hello: &h, Envelopes: []*msg.Envelope{suite.Release(1)}})
			require.Equal(t, codes.FailedPrecondition, status.Code(err))
			require.ErrorContains(t, err, c.text)
		})
	}
	err := openStream(t, n.addrs[1], &peerpb.Batch{Envelopes: []*msg.Envelope{suite.Release(1)}})
	require.Equal(t, codes.FailedPrecondition, status.Code(err), "no hello")
	require.Zero(t, in.Len(), "their messages are not handled")
	require.NoError(t, openStream(t, n.addrs[1], &peerpb.Batch{Hello: &good,
		Envelopes: []*msg.Envelope{suite.Release(1)}}))
	require.EqualValues(t, 2, in.Await(t, 1)[0].From)
}

func TestStreamIsRejectedBeforeStart(t *testing.T) {
	n := newNet(t, grpc.Options{})
	in := new(suite.Inbox)
	waiting := n.serve(t, 1, in.Handle)
	defer waiting.Close()
	waiting.Send(2, []*msg.Envelope{suite.Release(1)})
	waiting.SetPeer(2, n.addrs[2])
	require.False(t, waiting.Up(2))
	require.False(t, waiting.Up(0), "a node without an id is not up to itself")
	resp, err := client(t, n.addrs[1]).Meet(context.Background(), &peerpb.MeetRequest{})
	require.NoError(t, err)
	require.Equal(t, "no membership", resp.Refusal)
	err = openStream(t, n.addrs[1], &peerpb.Batch{Hello: &peerpb.Hello{Cluster: cluster, From: 2, To: 1, Version: 1}})
	require.Equal(t, codes.Unavailable, status.Code(err))

	// A peer that calls before the node has started connects once it has.
	early := n.Start(t, 2, func([]*msg.Envelope) {})
	defer early.Close()
	early.Send(1, []*msg.Envelope{suite.Release(5)})
	require.NoError(t, waiting.Start(grpc.Identity{Cluster: cluster, Node: 1}, n.addrs))
	require.EqualValues(t, 5, msg.As[msg.Release](in.Await(t, 1)[0]).Txn.Time, "from the outbox")
	require.Error(t, waiting.Start(grpc.Identity{Cluster: cluster, Node: 1}, n.addrs), "twice")
}

func TestNewerStreamReplacesOlder(t *testing.T) {
	n := newNet(t, grpc.Options{})
	in := new(suite.Inbox)
	nd := n.Start(t, 1, in.Handle)
	defer nd.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	hello := &peerpb.Hello{Cluster: cluster, From: 2, To: 1, Version: peerpb.Version}
	open := func() peerpb.Peer_StreamClient {
		s, err := client(t, n.addrs[1]).Stream(ctx)
		require.NoError(t, err)
		require.NoError(t, s.Send(&peerpb.Batch{Hello: hello}))
		_, err = s.Recv()
		require.NoError(t, err)
		return s
	}
	old := open()
	young := open()
	_, err := old.Recv()
	require.Equal(t, codes.Aborted, status.Code(err))
	require.NoError(t, young.Send(&peerpb.Batch{Ping: true, Envelopes: []*msg.Envelope{suite.Release(3)}}))
	_, err = young.Recv()
	require.NoError(t, err, "a ping gets a Beat")
	in.Await(t, 1)
}

// This also holds if the peer cancels a stream that still waits for the previous one.
func TestStreamsOfPeerAreHandledOneAtATime(t *testing.T) {
	n := newNet(t, grpc.Options{})
	handling, proceed := make(chan struct{}, 9), make(chan struct{})
	nd := n.Start(t, 1, func([]*msg.Envelope) {
		handling <- struct{}{}
		<-proceed
	}).(*node)
	defer nd.Close()
	open := func(ctx context.Context, envs ...*msg.Envelope) peerpb.Peer_StreamClient {
		s, err := client(t, n.addrs[1]).Stream(ctx)
		require.NoError(t, err)
		hello := &peerpb.Hello{Cluster: cluster, From: 2, To: 1, Version: peerpb.Version}
		require.NoError(t, s.Send(&peerpb.Batch{Hello: hello, Envelopes: envs}))
		return s
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	first := open(ctx, suite.Release(1))
	<-handling
	short, cancelSecond := context.WithCancel(ctx)
	second := open(short)
	for err := error(nil); err == nil; { // until the second has replaced the first
		_, err = first.Recv()
	}
	cancelSecond()
	_, err := second.Recv()
	require.Equal(t, codes.Canceled, status.Code(err))
	third := open(ctx, suite.Release(3))
	welcome := make(chan error, 1)
	go func() {
		_, err := third.Recv()
		welcome <- err
	}()
	select {
	case err := <-welcome:
		t.Error("the third stream is accepted while the first is handled")
		welcome <- err
	case <-time.After(300 * time.Millisecond): // must not happen
	}
	close(proceed)
	require.NoError(t, <-welcome)
}

func TestOptionsAreChecked(t *testing.T) {
	ok := grpc.Options{Handler: func([]*msg.Envelope) {}, Meet: noMeet}
	_, err := grpc.New(grpc.Options{Delay: -1})
	require.ErrorContains(t, err, "Handler")
	require.ErrorContains(t, err, "Meet")
	require.ErrorContains(t, err, "Delay")
	for _, change := range []func(*grpc.Options){
		func(o *grpc.Options) { o.UpWindow = time.Millisecond },
		func(o *grpc.Options) { o.StallAfter = time.Millisecond },
		func(o *grpc.Options) { o.RetryMin = time.Minute },
	} {
		o := ok
		change(&o)
		_, err := grpc.New(o)
		require.Error(t, err)
	}
	tr, err := grpc.New(ok)
	require.NoError(t, err)
	require.Error(t, tr.Start(grpc.Identity{Node: 1}, nil), "no cluster")
	require.Error(t, tr.Start(grpc.Identity{Cluster: "x"}, nil), "no node")
	require.NoError(t, tr.Close())
	require.Error(t, tr.Start(grpc.Identity{Cluster: "x", Node: kv.NodeID(1)}, nil), "closed")
}
