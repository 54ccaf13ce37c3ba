package node

import (
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// peers is what a node makes of the other nodes. It is guarded by Node.downMu.
type peers struct {
	// silent are those that have not been heard of lately, and down those that the
	// gateway takes for down.
	silent, down map[kv.NodeID]bool
	// looked is when they were last looked at, and patientUntil when none is taken
	// for down that was not before; both by the node's clock.
	looked, patientUntil int64
	begun                bool
	// told is when those that can be reached were last told the incarnations of the
	// shards here.
	told map[kv.NodeID]int64
}

func newPeers() peers {
	return peers{silent: map[kv.NodeID]bool{}, down: map[kv.NodeID]bool{}, told: map[kv.NodeID]int64{}}
}

// restarts finds out which peers have restarted, by what they announce.
type restarts struct {
	mu           sync.Mutex
	incarnations map[kv.ShardID]kv.Incarnation
	// since the last Look.
	nodes map[kv.NodeID]bool
}

func newRestarts() restarts {
	return restarts{incarnations: map[kv.ShardID]kv.Incarnation{}, nodes: map[kv.NodeID]bool{}}
}

// announced notes what a peer has announced.
func (r *restarts) announced(from kv.NodeID, a *msg.Announcement) {
	if a.Call != nil || a.Heard || a.Leaving {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Incarnation > r.incarnations[a.Shard] {
		r.incarnations[a.Shard] = a.Incarnation
		r.nodes[from] = true
	}
}

// take returns the peers that have restarted since it was called last.
func (r *restarts) take() map[kv.NodeID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.nodes) == 0 {
		return nil
	}
	nodes := r.nodes
	r.nodes = map[kv.NodeID]bool{}
	return nodes
}

const (
	// patience is for how long a node that has begun, or stood still, waits until it
	// has heard of the others: until then their silence says nothing about them. It is
	// for how long others count as up after a sign of life.
	patience = 3 * time.Second
	// stoodStill is the least time between two looks after which that begins anew. A
	// shorter one makes nobody silent: others are heard of each second.
	stoodStill = 2 * time.Second
)

// look notes the time of a look.
func (p *peers) look(now int64) {
	if !p.begun || now-p.looked > int64(stoodStill) {
		p.patientUntil = now + int64(patience)
	}
	p.begun, p.looked = true, now
}

// isDown reports whether a peer is to be taken for down, and whether that is news.
func (p *peers) isDown(id kv.NodeID, silent bool, now int64) (is, news bool) {
	p.silent[id] = silent
	was := p.down[id]
	is = silent && (was || now >= p.patientUntil)
	p.down[id] = is
	return is, is != was
}

// Look tells the gateway at once which nodes can be reached now, and them, once in
// a while, which incarnations the shards here have, and looks at the clock; the node
// does so by itself every watchEvery.
func (n *Node) Look() {
	n.downMu.Lock()
	defer n.downMu.Unlock()
	n.clock.look(n)
	if n.opt.Transport == nil {
		return
	}
	now := n.opt.Clock.Now()
	n.peers.look(now)
	// A peer that was starting has not received what it was sent then.
	for id := range n.restarts.take() {
		delete(n.peers.told, id)
	}
	for i := range n.opt.Router.Nodes() {
		id := kv.NodeID(i + 1)
		if id == n.opt.ID {
			continue
		}
		silent := !n.opt.Transport.Up(id)
		is, news := n.peers.isDown(id, silent, now)
		if news {
			n.gateway.SetDown(id, is)
			n.logDown(id, is)
		}
		at, told := n.peers.told[id]
		switch {
		case silent:
			delete(n.peers.told, id)
		case !told || now-at >= int64(announceEvery):
			n.peers.told[id] = now
			n.announce(id)
		}
	}
}

// logDown says that what needs a node's shards fails from now on, or does no more.
func (n *Node) logDown(id kv.NodeID, down bool) {
	if !down {
		n.opt.Log.Info("peer reachable: its shards are available", "peer", id)
		return
	}
	d := n.opt.Router.Down(id, "")
	n.opt.Log.Warn("peer unreachable: requests for its shards fail", "peer", id,
		"shards", len(d.Shards), "keyspace", kv.Percent(d.Keyspace))
}

// Up reports whether a node has been heard of lately. If not, and it is taken for
// down, the gateway here knows it, too, when Up returns.
func (n *Node) Up(id kv.NodeID) bool {
	if id == n.opt.ID || n.opt.Transport == nil {
		return id == n.opt.ID
	}
	n.Look()
	n.downMu.Lock()
	defer n.downMu.Unlock()
	return !n.peers.silent[id]
}

// announceEvery is how often peers are told the incarnations of the shards here:
// the word may be lost with a link that is up again before anybody has noticed, and
// a gateway that has heard that a shard leaves begins nothing there until it hears
// of a later incarnation. Clocks are told of with it. Somewhat arbitrary.
const announceEvery = 10 * time.Second

// announce tells a peer's gateway the incarnations of the shards here.
func (n *Node) announce(to kv.NodeID) {
	envs := make([]*msg.Envelope, 0, len(n.ids))
	for _, id := range n.ids {
		env := msg.ToGateway(to)
		env.Body = &msg.Announcement{Shard: id, Incarnation: n.shards[id].m.Incarnation()}
		n.clock.tell(n.shards[id], msg.As[msg.Announcement](env))
		envs = append(envs, env)
	}
	n.opt.Transport.Send(to, envs)
}
