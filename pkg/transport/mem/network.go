// Package mem is a network within a process, for tests and for a demo cluster. Nodes are identified by
// their ids; there are no addresses.
//
// Each ordered pair of nodes has a link for envelopes and one for messages of replicas: a bounded queue (package
// outbox) and one goroutine, created with the first message, that passes due messages to the receiver's handler. Links
// can be cut and healed, can have a fixed delay, and can drop and duplicate messages at random with a seed. Raft
// snapshots have a stream each, which is reliable until the nodes are cut off or closed.
//
//	Send --------> outbox ------one goroutine--> handler
//	SendReplica -> queue -------one goroutine--> replicas.ReceiveReplica
//	SendSnapshot -> chunks -----one goroutine--> replicas.ReceiveSnapshot
//
// Envelopes are copied, since the receiver writes their From. The messages in them are shared between nodes
// unless Options.Isolate is set, so a message must not be changed after it was sent. Messages of replicas are always
// encoded and decoded.
package mem

import (
	"fmt"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// Options are the parameters of a network. The zero value is a network without delay and faults.
type Options struct {
	// Delay is the one-way delay. Default 0.
	Delay time.Duration
	// Drop and Duplicate are the shares of messages, from 0 to 1, that are lost and duplicated. Default 0.
	Drop, Duplicate float64
	// Seed makes the faults of each link reproducible.
	Seed uint64
	// Isolate encodes and decodes each message, so that nodes share no memory and messages that cannot be
	// encoded are found.
	Isolate bool
	// UpWindow is for how long a peer counts as up after it was last connected. Default 3 s.
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

// pair identifies a link by its ends.
type pair struct{ from, to kv.NodeID }

// Network connects the nodes. Its methods are safe for concurrent use.
type Network struct {
	opts Options
	// start is the origin of the links' time.
	start time.Time

	mu    sync.Mutex
	nodes map[kv.NodeID]*Node
	// cut are the links that carry nothing. disconnectedAt is when a pair of nodes was last connected in both
	// directions.
	cut            map[pair]bool
	disconnectedAt map[pair]time.Time
	// streams are the Raft snapshots that are being received.
	streams map[*stream]bool
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
		cut: map[pair]bool{}, disconnectedAt: map[pair]time.Time{}, streams: map[*stream]bool{}}, nil
}

// Join adds a node without replicas, possibly again after a Close. It is an error if the id is in use.
func (n *Network) Join(id kv.NodeID, h transport.Handler) (*Node, error) {
	return n.JoinReplicas(id, h, nil)
}

// JoinReplicas is as Join. r receives the messages of replicas; nil rejects them.
func (n *Network) JoinReplicas(id kv.NodeID, h transport.Handler, r transport.ReplicaHandler) (*Node, error) {
	if id == 0 || h == nil {
		return nil, fmt.Errorf("mem: a node needs an id and a handler, have %v", id)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes[id] != nil {
		return nil, fmt.Errorf("mem: node %v is there already", id)
	}
	nd := &Node{net: n, id: id, handler: h, replicas: r, done: make(chan struct{}),
		links: map[kv.NodeID]*link[*msg.Envelope]{}, replicaLinks: map[kv.NodeID]*link[*peerpb.ReplicaMessage]{}}
	n.nodes[id] = nd
	return nd, nil
}

// Cut makes the link carry nothing, in this direction only. Messages in flight are lost.
func (n *Network) Cut(from, to kv.NodeID) { n.setCut(pair{from, to}, true) }

// Heal ends a Cut.
func (n *Network) Heal(from, to kv.NodeID) { n.setCut(pair{from, to}, false) }

// Isolate cuts the links between a node and all current other nodes, in both directions; HealAll ends it.
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
		n.disconnectedAt[pair{p.from, p.to}], n.disconnectedAt[pair{p.to, p.from}] = time.Now(), time.Now()
	}
	n.cut[p] = true
	n.cancelStreams(func(ends pair) bool { return ends == p || ends == pair{p.to, p.from} })
}

// connected reports whether a and b reach each other in both directions.
func (n *Network) connected(a, b kv.NodeID) bool {
	return n.nodes[a] != nil && n.nodes[b] != nil && !n.cut[pair{a, b}] && !n.cut[pair{b, a}]
}

func (n *Network) up(a, b kv.NodeID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.connected(a, b) {
		return true
	}
	at, ok := n.disconnectedAt[pair{a, b}]
	return ok && time.Since(at) < n.opts.UpWindow
}

// receiver returns the node that a message on the link reaches, nil if there is none.
func (n *Network) receiver(p pair) *Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut[p] {
		return nil
	}
	return n.nodes[p.to]
}

func (n *Network) remove(nd *Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for other := range n.nodes {
		if other != nd.id && n.connected(nd.id, other) {
			n.disconnectedAt[pair{other, nd.id}] = now
		}
	}
	delete(n.nodes, nd.id)
	n.cancelStreams(func(ends pair) bool { return ends.from == nd.id || ends.to == nd.id })
}

func (n *Network) now() int64 { return int64(time.Since(n.start)) + 1 }
