// Package grpc carries envelopes between processes.
//
// Each node keeps one stream open to each other node, on a connection of its
// own, and sends on it only; what the other has to say comes on the stream
// that the other opened. So a pair of nodes has two streams, and neither has
// to agree with the other on who calls whom.
//
//	callers --Send--> outbox --one goroutine--> Batch --stream--> Handler
//	                  (bounded)                           one goroutine
//	                        <--------- Beat -----------
//
// # Batching
//
// The goroutine of a peer takes what is waiting, up to 256 envelopes or 1 MiB,
// puts it into one Batch and sends that; what comes meanwhile waits for the
// next. There is no timer: an idle link sends at once, and the batches of a
// busy one grow by themselves. Per envelope this costs several times less than
// a call of its own, nearly all of whose cost is per message.
//
// # Life and death of a peer
//
// The first batch of a stream says hello: the cluster, who calls, and whom it
// believes to have called. The node called answers with a Beat, or refuses
// with FailedPrecondition; nothing from a stranger reaches the handler. From
// then on the caller asks for a Beat about once a second. A peer is up for
// some seconds after a Beat, which proves both directions. Without one for
// longer, the connection is given up and made anew: after a network was cut
// without a word, TCP itself may take a minute to notice that it is back.
//
// Messages for a peer that is away wait in its outbox, which forgets the
// oldest; callers never block and are told nothing. The protocol repeats.
//
// # Start
//
// New and Register come first, so that the server can answer Meet before the
// cluster is formed. Streams are refused with Unavailable until Start tells
// the node who it is.
package grpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport"
)

// Transport sends to the other nodes of a cluster, and is the Peer service
// that they send to.
type Transport struct {
	opts Options
	// start is the zero of the times below.
	start time.Time
	// ctx ends at Close; running counts what has to end with it.
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu sync.RWMutex
	// self is zero until Start.
	self     Identity
	peers    map[kv.NodeID]*peer
	incoming map[kv.NodeID]*incoming
	closed   bool
}

var _ transport.Transport = (*Transport)(nil)

// New makes a transport that has not started.
func New(o Options) (*Transport, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	t := &Transport{opts: o, start: time.Now(),
		peers: map[kv.NodeID]*peer{}, incoming: map[kv.NodeID]*incoming{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t, nil
}

// Register adds the Peer service to a server, which must use the codec of
// package rpc/codec and take messages of MaxBatchMessage.
func (t *Transport) Register(s grpc.ServiceRegistrar) {
	peerpb.RegisterPeerServer(s, &service{t: t})
}

// Start tells the node who it is and where the others are, itself possibly
// among them. It connects to them in the background.
func (t *Transport) Start(self Identity, peers map[kv.NodeID]string) error {
	if self.Cluster == "" || self.Node == 0 {
		return fmt.Errorf("grpc transport: node %v of cluster %q is no identity", self.Node, self.Cluster)
	}
	t.mu.Lock()
	if t.self.Node != 0 || t.closed {
		t.mu.Unlock()
		return fmt.Errorf("grpc transport: already started or closed")
	}
	t.self = self
	t.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(peers)) {
		t.SetPeer(id, peers[id])
	}
	return nil
}

// SetPeer tells where a peer is now. Before Start, and for the node itself, it
// does nothing.
func (t *Transport) SetPeer(id kv.NodeID, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.self.Node == 0 || id == t.self.Node || id == 0 {
		return
	}
	if p := t.peers[id]; p != nil {
		p.setAddress(addr)
		return
	}
	p := newPeer(t, id, addr)
	t.peers[id] = p
	t.running.Add(1)
	go func() {
		defer t.running.Done()
		p.run(t.ctx)
	}()
}

func (t *Transport) peer(id kv.NodeID) *peer {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.peers[id]
}

// Send implements transport.Transport. What is for the node itself, or for an
// unknown one, is dropped.
func (t *Transport) Send(to kv.NodeID, envs []*msg.Envelope) {
	if p := t.peer(to); p != nil {
		p.send(envs)
	}
}

// Up implements transport.Transport. A node is always up to itself.
func (t *Transport) Up(to kv.NodeID) bool {
	if p := t.peer(to); p != nil {
		return p.up()
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return to != 0 && to == t.self.Node
}

// Close ends all streams, in both directions, and waits until the handler is
// not called any more. It must not be called by the handler.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
	return nil
}

func (t *Transport) now() int64 { return int64(time.Since(t.start)) }
