package node

import (
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// peers is the state of the other nodes as seen by this one. It is guarded by Node.downMu.
type peers struct {
	// silent are the nodes from which nothing was received recently, down those that the gateway treats as
	// down.
	silent, down map[kv.NodeID]bool
	// checkedAt is the time of the last check. Until unsureUntil no further node is treated as down. Both are
	// by the node's clock.
	checkedAt, unsureUntil int64
	started                bool
	// announcedAt is when the incarnations of the shards here were last sent to each reachable node.
	announcedAt map[kv.NodeID]int64
}

func newPeers() peers {
	return peers{silent: map[kv.NodeID]bool{}, down: map[kv.NodeID]bool{}, announcedAt: map[kv.NodeID]int64{}}
}

// restarts detects restarted peers by the incarnations that they announce.
type restarts struct {
	mu           sync.Mutex
	incarnations map[kv.ShardID]kv.Incarnation
	// nodes are the peers that have restarted since the last take.
	nodes map[kv.NodeID]bool
}

func newRestarts() restarts {
	return restarts{incarnations: map[kv.ShardID]kv.Incarnation{}, nodes: map[kv.NodeID]bool{}}
}

// onAnnouncement records the incarnation that a peer announces.
func (r *restarts) onAnnouncement(from kv.NodeID, a *msg.Announcement) {
	if a.Call != nil || a.Acknowledged || a.Draining {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Incarnation > r.incarnations[a.Shard] {
		r.incarnations[a.Shard] = a.Incarnation
		r.nodes[from] = true
	}
}

// take returns the peers that have restarted since the last call.
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

// onAnnouncement records the incarnation that a peer announces. With replicas, the peer leads the shard in that term.
func (n *Node) onAnnouncement(from kv.NodeID, a *msg.Announcement) {
	if n.groups != nil && a.Call == nil && !a.Acknowledged {
		n.leaderTimes.onLeader(a.Shard, n.opt.Clock.Now())
		n.groups.LearnLeader(a.Shard, consensus.Term(a.Incarnation), from)
		return
	}
	n.restarts.onAnnouncement(from, a)
}

const (
	// peerTimeout is how long a node that has just started or was stalled waits for messages of the others:
	// until then, the lack of messages does not mean that they are down. It equals the time for which a
	// transport treats a peer as up after a message.
	peerTimeout = 3 * time.Second
	// stallThreshold is the time between two checks from which on the node counts as stalled. After a shorter
	// stall no peer is silent, because peers send every second.
	stallThreshold = 2 * time.Second
)

// recordCheck records the time of a check, and detects a start or a stall.
func (p *peers) recordCheck(now int64) {
	if !p.started || now-p.checkedAt > int64(stallThreshold) {
		p.unsureUntil = now + int64(peerTimeout)
	}
	p.started, p.checkedAt = true, now
}

// isDown reports whether a peer is to be treated as down, and whether that has changed.
func (p *peers) isDown(id kv.NodeID, silent bool, now int64) (down, changed bool) {
	p.silent[id] = silent
	was := p.down[id]
	down = silent && (was || now >= p.unsureUntil)
	p.down[id] = down
	return down, down != was
}

// CheckPeers updates the gateway with the nodes that are reachable now, announces incarnations to peers if that
// is due, and checks the clock. The node calls it every watchInterval.
func (n *Node) CheckPeers() {
	n.downMu.Lock()
	defer n.downMu.Unlock()
	n.clock.check(n)
	if n.opt.Transport == nil {
		return
	}
	now, interval := n.opt.Clock.Now(), announceInterval
	if n.groups != nil {
		interval = leaderInterval
	}
	n.peers.recordCheck(now)
	n.leaderTimes.check(n, now)
	// A peer may have dropped announcements that arrived while it was starting: send them again.
	for id := range n.restarts.take() {
		delete(n.peers.announcedAt, id)
	}
	for i := range n.opt.Router.Nodes() {
		id := kv.NodeID(i + 1)
		if id == n.opt.ID {
			continue
		}
		silent := !n.opt.Transport.Up(id)
		down, changed := n.peers.isDown(id, silent, now)
		if changed {
			n.gateway.SetDown(id, down)
			n.logPeerState(id, down)
		}
		at, announced := n.peers.announcedAt[id]
		switch {
		case silent:
			delete(n.peers.announcedAt, id)
		case !announced || now-at >= int64(interval):
			n.peers.announcedAt[id] = now
			n.announce(id)
		}
	}
}

// logPeerState logs that requests for the shards of a node fail from now on, or succeed again.
func (n *Node) logPeerState(id kv.NodeID, down bool) {
	if !down {
		n.opt.Log.Info("peer reachable", "peer", id)
		return
	}
	if n.groups != nil {
		n.opt.Log.Warn("peer unreachable: others take the lead of its shards", "peer", id)
		return
	}
	d := n.opt.Router.Unavailable(id, "")
	n.opt.Log.Warn("peer unreachable: requests for its shards fail", "peer", id,
		"shards", len(d.Shards), "keyspace", kv.Percent(d.Keyspace))
}

// Up reports whether messages of a node were received recently. When Up returns, the gateway has the same
// information.
func (n *Node) Up(id kv.NodeID) bool {
	if id == n.opt.ID || n.opt.Transport == nil {
		return id == n.opt.ID
	}
	n.CheckPeers()
	n.downMu.Lock()
	defer n.downMu.Unlock()
	return !n.peers.silent[id]
}

// announceInterval is the period in which the incarnations of the shards here are announced to all peers,
// together with the clock. This history requires the repetition: a node announces Draining and restarts; the
// announcement of the new incarnation is lost with a connection that is re-established before the loss is
// noticed. Without another announcement the peer's gateway would never start anything on the shard again.
const announceInterval = 10 * time.Second

// leaderInterval is the same with replicas: nodes without a replica of a shard learn its leader in no other way.
const leaderInterval = time.Second

// announce sends the incarnations of the shards here to a peer's gateway.
func (n *Node) announce(to kv.NodeID) {
	envs := make([]*msg.Envelope, 0, len(n.ids))
	for _, id := range n.ids {
		inc := n.shards[id].runs()
		if inc == 0 {
			continue
		}
		env := msg.ToGateway(to)
		env.Body = &msg.Announcement{Shard: id, Incarnation: inc}
		n.clock.fillAnnouncement(n.shards[id], msg.As[msg.Announcement](env))
		envs = append(envs, env)
	}
	n.opt.Transport.Send(to, envs)
}
