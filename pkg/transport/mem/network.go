// Package mem is a network inside one process, for tests and for a demo
// cluster. Nodes are told apart by their ids; there are no addresses.
//
// Each ordered pair of nodes is a link: a bounded queue (package outbox) and
// one goroutine, made with the first message, that takes what is due and
// passes it to the receiver's handler. A link can be cut and healed, can be
// slower by a fixed time, and can lose and duplicate messages by a seeded
// coin, all of which the protocol has to bear.
//
// Envelopes are copied, since the receiver writes their From, but the
// messages in them are shared between nodes unless Options.Isolate is set: a
// message must not be changed once it was sent.
package mem

import (
	"fmt"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// Options are a network's. The zero value is a network without delay and
// faults.
type Options struct {
	// Delay is how long a message takes, each way. Default 0.
	Delay time.Duration
	// Drop and Duplicate are the shares of messages, 0 to 1, that are lost
	// and that come twice. Default 0.
	Drop, Duplicate float64
	// Seed makes the losses of each link repeatable.
	Seed uint64
	// Isolate passes each message through its encoding, so that nodes share
	// no memory and a message that cannot be encoded is found out.
	Isolate bool
	// UpWindow is for how long a peer counts as up after it was last
	// connected. Default 3 s.
	UpWindow time.Duration
	// Outbox bounds each link's queue.
	Outbox outbox.Options
}

func (o Options) check() error {
	if o.Drop < 0 || o.Drop > 1 || o.Duplicate < 0 || o.Duplicate > 1 {
		return fmt.Errorf("mem: drop %v and duplicate %v must be between 0 and 1", o.Drop, o.Duplicate)
	}
	if o.Delay < 0 || o.UpWindow < 0 {
		return fmt.Errorf("mem: delay %v and up window %v must not be negative", o.Delay, o.UpWindow)
	}
	return nil
}

// pair names a link by its ends.
type pair struct{ from, to kv.NodeID }

// Network joins the nodes. Its methods may be called by any goroutine.
type Network struct {
	opts Options
	// start is the zero of the links' time.
	start time.Time

	mu    sync.Mutex
	nodes map[kv.NodeID]*Node
	// cut holds the links that carry nothing, and lost since when a pair of
	// nodes has not been connected both ways.
	cut  map[pair]bool
	lost map[pair]time.Time
}

// NewNetwork makes a network without nodes.
func NewNetwork(o Options) (*Network, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.UpWindow == 0 {
		o.UpWindow = 3 * time.Second
	}
	return &Network{opts: o, start: time.Now(), nodes: map[kv.NodeID]*Node{},
		cut: map[pair]bool{}, lost: map[pair]time.Time{}}, nil
}

// Join adds a node, which may have been there before. It is an error while
// another with its id is there.
func (n *Network) Join(id kv.NodeID, h transport.Handler) (*Node, error) {
	if id == 0 || h == nil {
		return nil, fmt.Errorf("mem: a node needs an id and a handler, have %v", id)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes[id] != nil {
		return nil, fmt.Errorf("mem: node %v is there already", id)
	}
	nd := &Node{net: n, id: id, handler: h, links: map[kv.NodeID]*link{}, done: make(chan struct{})}
	n.nodes[id] = nd
	return nd, nil
}

// Cut makes the link carry nothing, in this direction only. What is under way
// is lost.
func (n *Network) Cut(from, to kv.NodeID) { n.setCut(pair{from, to}, true) }

// Heal ends a Cut.
func (n *Network) Heal(from, to kv.NodeID) { n.setCut(pair{from, to}, false) }

// Isolate cuts all links of a node, both ways, to those that are there now;
// HealAll ends it.
func (n *Network) Isolate(id kv.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.nodes {
		if other != id {
			n.setCutLocked(pair{id, other}, true)
			n.setCutLocked(pair{other, id}, true)
		}
	}
}

// HealAll ends every Cut.
func (n *Network) HealAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
}

func (n *Network) setCut(p pair, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.setCutLocked(p, cut)
}

func (n *Network) setCutLocked(p pair, cut bool) {
	if !cut {
		delete(n.cut, p)
		return
	}
	if n.connected(p.from, p.to) {
		n.lost[pair{p.from, p.to}], n.lost[pair{p.to, p.from}] = time.Now(), time.Now()
	}
	n.cut[p] = true
}

// connected reports whether a and b hear each other.
func (n *Network) connected(a, b kv.NodeID) bool {
	return n.nodes[a] != nil && n.nodes[b] != nil && !n.cut[pair{a, b}] && !n.cut[pair{b, a}]
}

func (n *Network) up(a, b kv.NodeID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.connected(a, b) {
		return true
	}
	at, ok := n.lost[pair{a, b}]
	return ok && time.Since(at) < n.opts.UpWindow
}

// receiver gives the node that a message from p.from reaches, if any.
func (n *Network) receiver(p pair) *Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut[p] {
		return nil
	}
	return n.nodes[p.to]
}

func (n *Network) leave(nd *Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for other := range n.nodes {
		if other != nd.id && n.connected(nd.id, other) {
			n.lost[pair{other, nd.id}] = now
		}
	}
	delete(n.nodes, nd.id)
}

func (n *Network) now() int64 { return int64(time.Since(n.start)) + 1 }
