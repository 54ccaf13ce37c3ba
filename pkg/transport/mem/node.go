package mem

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// Node is the transport of one node.
type Node struct {
	net     *Network
	id      kv.NodeID
	handler transport.Handler
	done    chan struct{}
	running sync.WaitGroup

	// receiving is read-locked while the handler runs, so that Close can wait for it.
	receiving sync.RWMutex
	stopped   bool

	mu     sync.Mutex
	closed bool
	links  map[kv.NodeID]*link
}

var _ transport.Transport = (*Node)(nil)

// Send implements transport.Transport. Messages to the node itself or to an absent node are lost.
func (n *Node) Send(to kv.NodeID, envs []*msg.Envelope) {
	if to == n.id || len(envs) == 0 {
		return
	}
	if l := n.link(to); l != nil {
		due := int64(0)
		if n.net.opts.Delay > 0 {
			due = n.net.now() + int64(n.net.opts.Delay)
		}
		l.box.Push(envs, due)
	}
}

// link returns the link to a node, which the first call creates; nil once the node is closed.
func (n *Node) link(to kv.NodeID) *link {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.links[to]; l != nil || n.closed {
		return l
	}
	l, err := newLink(n, to)
	if err != nil {
		return nil
	}
	n.links[to] = l
	n.running.Add(1)
	go func() {
		defer n.running.Done()
		l.run()
	}()
	return l
}

// Up implements transport.Transport.
func (n *Node) Up(to kv.NodeID) bool { return to == n.id || n.net.up(n.id, to) }

// Counts returns the statistics of the queue to a node.
func (n *Node) Counts(to kv.NodeID) outbox.Counts {
	n.mu.Lock()
	l := n.links[to]
	n.mu.Unlock()
	if l == nil {
		return outbox.Counts{}
	}
	return l.box.Counts()
}

// receive passes envelopes to the handler, unless the node is closed.
func (n *Node) receive(envs []*msg.Envelope) {
	n.receiving.RLock()
	defer n.receiving.RUnlock()
	if !n.stopped {
		n.handler(envs)
	}
}

// Close removes the node from the network as a crash would: messages that it sent and that are not
// delivered yet are lost. When it returns, the handler is no longer called. The handler must not call it.
func (n *Node) Close() error {
	n.mu.Lock()
	was := n.closed
	n.closed = true
	if !was {
		close(n.done)
		for _, l := range n.links {
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
