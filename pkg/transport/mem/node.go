package mem

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
	"github.com/linchpindb/linchpin/pkg/transport/replicamsg"
)

// Node is the transport of one node.
type Node struct {
	net     *Network
	id      kv.NodeID
	handler transport.Handler
	// replicas is nil for a node without replicas.
	replicas transport.ReplicaHandler
	done     chan struct{}
	running  sync.WaitGroup

	// receiving is read-locked while a handler of messages runs, so that Close can wait for it.
	receiving sync.RWMutex
	stopped   bool

	mu           sync.Mutex
	closed       bool
	links        map[kv.NodeID]*link[*msg.Envelope]
	replicaLinks map[kv.NodeID]*link[*peerpb.ReplicaMessage]
}

var (
	_ transport.Transport = (*Node)(nil)
	_ transport.Replicas  = (*Node)(nil)
)

// Send implements transport.Transport. Messages to the node itself or to an absent node are lost.
func (n *Node) Send(to kv.NodeID, envs []*msg.Envelope) {
	if to == n.id || len(envs) == 0 {
		return
	}
	if l := linkTo(n, n.links, to, newEnvelopeLink); l != nil {
		l.push(envs)
	}
}

// SendReplica implements transport.Replicas. Messages to the node itself, to an absent node, or to one without
// replicas are lost.
func (n *Node) SendReplica(to kv.NodeID, msgs []consensus.Message) {
	if to == n.id || len(msgs) == 0 {
		return
	}
	if l := linkTo(n, n.replicaLinks, to, newReplicaLink); l != nil {
		l.push(replicamsg.EncodeAll(msgs))
	}
}

// linkTo returns the link to a node, which the first call creates; nil once the node is closed.
func linkTo[T any](n *Node, links map[kv.NodeID]*link[T], to kv.NodeID,
	create func(*Node, kv.NodeID) (*link[T], error)) *link[T] {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := links[to]; l != nil || n.closed {
		return l
	}
	l, err := create(n, to)
	if err != nil {
		return nil
	}
	links[to] = l
	n.running.Go(l.run)
	return l
}

// Up implements transport.Transport.
func (n *Node) Up(to kv.NodeID) bool { return to == n.id || n.net.up(n.id, to) }

// Counts returns the statistics of the queue of envelopes to a node.
func (n *Node) Counts(to kv.NodeID) outbox.Counts {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.links[to]; l != nil {
		return l.box.(*outbox.Outbox).Counts()
	}
	return outbox.Counts{}
}

// receive calls a handler with some messages, unless there are none or the node is closed.
func (n *Node) receive(count int, handle func()) {
	n.receiving.RLock()
	defer n.receiving.RUnlock()
	if count > 0 && !n.stopped {
		handle()
	}
}

// Close removes the node from the network as a crash would: messages that it sent and that are not
// delivered yet are lost, and its Raft snapshots fail, in both directions. When it returns, no handler is called any
// more. The handlers must not call it.
func (n *Node) Close() error {
	n.mu.Lock()
	was := n.closed
	n.closed = true
	if !was {
		close(n.done)
		for _, l := range n.links {
			l.stop()
		}
		for _, l := range n.replicaLinks {
			l.stop()
		}
	}
	n.mu.Unlock()
	if !was {
		n.net.remove(n)
	}
	n.receiving.Lock()
	n.stopped = true
	n.receiving.Unlock()
	n.running.Wait()
	return nil
}
