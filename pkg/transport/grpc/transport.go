// Package grpc sends envelopes and messages of replicas between processes.
//
// Each node opens streams to each other node and only sends on them; messages in the other direction use the
// streams that the other node opened. So the nodes need no agreement on which one calls the other.
//
//	callers --Send---------> outbox --one goroutine--> Batch --------stream--> Handler
//	callers --SendReplica--> queue ---one goroutine--> ReplicaBatch--stream--> Replicas.ReceiveReplica
//	                       (bounded)                                one goroutine each
//	                             <------------------ Beat -----------------
//	caller ---SendSnapshot-------------chunks------------------------stream--> Replicas.ReceiveSnapshot
//	                             <------------------ result ---------------
//
// Each stream has its own connection, so large appends, Raft snapshots and transactions do not wait behind each
// other's bytes. The stream of replicas is opened with the first message.
//
// # Batching
//
// A goroutine takes the queued messages, up to 256 envelopes, 1024 messages of replicas or 1 MiB, and sends them as
// one batch; messages that arrive meanwhile are in the next one. There is no timer: an idle connection sends at once,
// and under load batches grow. This costs several times less per message than one batch each, because nearly all
// costs are per batch. So heartbeats of many groups that are sent together are one batch (R7.3).
//
// # Failure detection
//
// The first batch of a stream has a hello: the cluster, the caller's id, and the id that the caller
// expects. The callee accepts with a Beat or rejects with FailedPrecondition; nothing else reaches the
// handler before that. From then on the caller requests a Beat about once a second. A peer is up for some
// seconds after a Beat on either stream, which proves that both directions work. After a longer time without one the
// connection is replaced: when a network partition heals, TCP itself may need a minute to notice. A Raft snapshot
// begins with a hello too, and fails when no Beats arrive on the streams.
//
// Envelopes for an unreachable peer wait in its outbox, which drops the oldest; callers neither block nor
// get an error. The protocol retries. Messages of replicas wait as well, but those that are old
// when a connection is made are dropped (Options.ReplicaAge).
//
// # Start
//
// New and Register are called first, so that the server answers Meet before the cluster is formed. Streams
// are rejected with Unavailable until Start sets the node's identity.
package grpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport"
)

// Transport sends to the other nodes of a cluster, and implements the Peer service that they send to.
type Transport struct {
	opts Options
	// start is the origin of the times below.
	start time.Time
	// ctx ends at Close; running counts the goroutines that end with it.
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu sync.RWMutex
	// self is zero until Start.
	self     Identity
	peers    map[kv.NodeID]*peer
	incoming map[incomingKey]*incoming
	// snapshots are the Raft snapshots that are being received, by sender.
	snapshots map[kv.NodeID]int
	closed    bool
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Replicas  = (*Transport)(nil)
)

// New makes a transport that is not started.
func New(o Options) (*Transport, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	t := &Transport{opts: o, start: time.Now(),
		peers: map[kv.NodeID]*peer{}, incoming: map[incomingKey]*incoming{}, snapshots: map[kv.NodeID]int{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t, nil
}

// Register adds the Peer service to a server, which must use the codec of package rpc/codec and accept
// messages of MaxBatchMessage.
func (t *Transport) Register(s grpc.ServiceRegistrar) {
	peerpb.RegisterPeerServer(s, &service{t: t})
}

// Start sets the identity of the node and the addresses of the members, possibly including itself, and
// connects to the others in the background.
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

// SetPeer sets the address of a peer. Before Start, and for the node itself, it has no effect.
func (t *Transport) SetPeer(id kv.NodeID, addr string) {
	if p := t.addPeer(id, addr); p != nil {
		p.start(p.envelopes)
	}
}

// addPeer sets the address of a peer, and returns the peer if it is new.
func (t *Transport) addPeer(id kv.NodeID, addr string) *peer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.self.Node == 0 || id == t.self.Node || id == 0 {
		return nil
	}
	if p := t.peers[id]; p != nil {
		p.setAddress(addr)
		return nil
	}
	p := newPeer(t, id, addr)
	t.peers[id] = p
	return p
}

// run runs f on a goroutine of its own until Close, unless the transport is closed.
func (t *Transport) run(f func(context.Context)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.running.Add(1)
	go func() {
		defer t.running.Done()
		f(t.ctx)
	}()
}

func (t *Transport) peer(id kv.NodeID) *peer {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.peers[id]
}

// Send implements transport.Transport. Messages to the node itself or to an unknown node are dropped.
func (t *Transport) Send(to kv.NodeID, envs []*msg.Envelope) {
	if p := t.peer(to); p != nil {
		p.envelopes.push(envs)
	}
}

// SendReplica implements transport.Replicas. Messages to the node itself or to an unknown node are dropped.
func (t *Transport) SendReplica(to kv.NodeID, msgs []consensus.Message) {
	if p := t.peer(to); p != nil && len(msgs) > 0 {
		p.sendReplica(msgs)
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

// Close ends all streams in both directions, and waits until the handler is no longer called. The handler
// must not call it.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
	return nil
}

func (t *Transport) now() int64 { return int64(time.Since(t.start)) }
