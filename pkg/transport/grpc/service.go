package grpc

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/replicamsg"
)

// service is the Peer service, which other nodes call.
type service struct {
	peerpb.UnimplementedPeerServer
	t *Transport
}

// Meet implements peerpb.PeerServer.
func (s *service) Meet(ctx context.Context, r *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
	return s.t.opts.Meet(ctx, r)
}

// incomingKey identifies the incoming streams of which one is current.
type incomingKey struct {
	from kv.NodeID
	kind string
}

// incoming is the current stream of a kind of a peer to this node. A newer one replaces it: the peer knows which of
// its streams works.
type incoming struct {
	replaced chan struct{}
	// ended is closed when the last batch of the stream has been handled, so that the handler of a peer never
	// runs twice at once.
	ended chan struct{}
	once  sync.Once
}

// Stream implements peerpb.PeerServer.
func (s *service) Stream(stream peerpb.Peer_StreamServer) error {
	return serve(stream, &receiver[peerpb.Batch]{t: s.t, kind: (*envelopes)(nil).kind(), deliver: s.t.deliver,
		head: func(b *peerpb.Batch) (*peerpb.Hello, bool) { return b.Hello, b.Ping }})
}

var errNoReplicas = status.Error(codes.Unimplemented, "this node has no replicas")

// Replicate implements peerpb.PeerServer.
func (s *service) Replicate(stream peerpb.Peer_ReplicateServer) error {
	if s.t.opts.Replicas == nil {
		return errNoReplicas
	}
	return serve(stream, &receiver[peerpb.ReplicaBatch]{t: s.t, kind: (*replicas)(nil).kind(), deliver: s.t.deliverReplica,
		head: func(b *peerpb.ReplicaBatch) (*peerpb.Hello, bool) { return b.Hello, b.Ping }})
}

// receiver receives one kind of streams.
type receiver[Batch any] struct {
	t    *Transport
	kind string
	// head returns the hello and the ping of a batch, deliver passes its messages on.
	head    func(*Batch) (*peerpb.Hello, bool)
	deliver func(kv.NodeID, *Batch)
}

// serve receives a stream until it ends.
//
// Another goroutine receives and handles the batches, so that this one can return, which ends the stream,
// when the transport is closed or the peer has opened a newer stream. Otherwise the stream of a peer that
// disappeared would block in Recv until TCP times out.
func serve[Batch any](stream grpc.BidiStreamingServer[Batch, peerpb.Beat], r *receiver[Batch]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello, _ := r.head(first)
	from, err := r.t.checkHello(hello)
	if err != nil {
		return err
	}
	key := incomingKey{from, r.kind}
	in, err := r.t.addStream(stream.Context(), key)
	if err != nil {
		return err
	}
	if err := stream.Send(&peerpb.Beat{}); err != nil {
		r.t.removeStream(key, in)
		return err
	}
	if p := r.t.peer(from); p != nil {
		p.onPeerCall()
	}
	result := make(chan error, 1)
	go func() {
		defer r.t.removeStream(key, in)
		r.deliver(from, first)
		result <- r.receive(stream, from, in)
	}()
	select {
	case err := <-result:
		return err
	case <-in.replaced:
		return status.Error(codes.Aborted, "the peer opened a newer stream")
	case <-r.t.ctx.Done():
		return status.Error(codes.Unavailable, errStopping.Error())
	}
}

// receive handles batches until the stream ends.
func (r *receiver[Batch]) receive(stream grpc.BidiStreamingServer[Batch, peerpb.Beat], from kv.NodeID,
	in *incoming) error {
	for {
		b, err := stream.Recv()
		if err != nil {
			return err
		}
		select {
		case <-in.replaced:
			return nil
		case <-r.t.ctx.Done():
			return nil
		default:
		}
		r.deliver(from, b)
		if _, ping := r.head(b); ping {
			if err := stream.Send(&peerpb.Beat{}); err != nil {
				return err
			}
		}
	}
}

// deliver passes a batch to the handler, with From filled in.
func (t *Transport) deliver(from kv.NodeID, b *peerpb.Batch) {
	if len(b.Envelopes) == 0 {
		return
	}
	for _, e := range b.Envelopes {
		e.From = from
	}
	if p := t.peer(from); p != nil {
		p.envelopes.onReceived(len(b.Envelopes))
	}
	t.opts.Handler(b.Envelopes)
}

// deliverReplica passes a batch to the handler of replicas.
func (t *Transport) deliverReplica(from kv.NodeID, b *peerpb.ReplicaBatch) {
	if len(b.Messages) == 0 {
		return
	}
	if p := t.peer(from); p != nil {
		p.replicas.onReceived(len(b.Messages))
	}
	t.opts.Replicas.ReceiveReplica(from, replicamsg.DecodeAll(b.Messages))
}

// checkHello returns the caller's id, or an error if the stream must be rejected.
func (t *Transport) checkHello(h *peerpb.Hello) (kv.NodeID, error) {
	t.mu.RLock()
	self := t.self
	t.mu.RUnlock()
	reject := func(format string, args ...any) (kv.NodeID, error) {
		return 0, status.Errorf(codes.FailedPrecondition, format, args...)
	}
	switch {
	case h == nil:
		return reject("the stream does not start with a hello")
	case self.Node == 0:
		return 0, status.Error(codes.Unavailable, "the node has not joined its cluster yet")
	case h.Version != peerpb.Version:
		return reject("node %v uses version %d of the peer protocol, node %v version %d; run the same release on both",
			h.From, h.Version, self.Node, peerpb.Version)
	case h.Cluster != self.Cluster:
		return reject("node %v belongs to cluster %s, and this node %v to cluster %s; check the addresses of both",
			h.From, h.Cluster, self.Node, self.Cluster)
	case h.To != self.Node:
		return reject("node %v called node %v, but this is node %v; its address of %v is wrong",
			h.From, h.To, self.Node, h.To)
	case h.From == 0 || h.From == self.Node:
		return reject("node %v was called by a node with the id %v as well; check whether a store directory was copied",
			self.Node, h.From)
	}
	return h.From, nil
}

// addStream makes a stream the peer's current one, and waits until the previous one has handled its last
// batch. If the new stream ends first, its entry still waits for that, on behalf of later streams:
//
//	stream 1: handler blocks
//	stream 2: waits for 1, is cancelled
//	stream 3: waits for 2, which ends only after 1
func (t *Transport) addStream(ctx context.Context, key incomingKey) (*incoming, error) {
	in := &incoming{replaced: make(chan struct{}), ended: make(chan struct{})}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, status.Error(codes.Unavailable, errStopping.Error())
	}
	before := t.incoming[key]
	t.incoming[key] = in
	t.running.Add(1)
	t.mu.Unlock()
	if before == nil {
		return in, nil
	}
	before.once.Do(func() { close(before.replaced) })
	select {
	case <-before.ended:
		return in, nil
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	go func() {
		<-before.ended
		t.removeStream(key, in)
	}()
	return nil, status.FromContextError(context.Canceled).Err()
}

// removeStream ends a stream that addStream has added.
func (t *Transport) removeStream(key incomingKey, in *incoming) {
	t.mu.Lock()
	if t.incoming[key] == in {
		delete(t.incoming, key)
	}
	t.mu.Unlock()
	close(in.ended)
	t.running.Done()
}
