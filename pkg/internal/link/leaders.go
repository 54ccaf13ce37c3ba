package link

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// leaders finds the connection to the node that leads the shard of a key. A request that it serves by itself takes one
// message less each way, and less of the cluster's processor time, than one that another node passes on.
//
//	put k ──▶ n1 ──▶ n2, which leads the shard of k      the first request: n1's response names n2
//	put k ──────────▶ n2                                 later ones
//
// A node names no leader for a key on the hot shard: the requests of one hot key stay spread over all nodes, so that
// the leader of the hot shard need not receive and answer those of all clients.
//
// What a response names is a hint. Any node serves any request, so a hint that is out of date costs what the first
// request does. If there is no connection to the named node, the request takes that of the Link, which also queries
// lost outcomes.
type leaders struct {
	link *Link
	seed maphash.Seed
	// shards is the number of ordinary shards, 0 if it is not known.
	shards atomic.Int32
	// nodes are the nodes that lead the shards, 0 for none. unnamed are keys, by a hash, for which no node was named last:
	// those on the hot shard.
	nodes   [kv.MaxShards]atomic.Uint32
	unnamed [1 << unnamedBits]atomic.Bool
	// passedOn counts responses that name another node than the one that has sent them.
	passedOn atomic.Uint32

	mu sync.Mutex
	// others are connectors of the other addresses; nil before there are any.
	others atomic.Pointer[[]*connector]
	closed bool
}

const (
	// unnamedBits is the size of the table of keys on the hot shard. Others with the same hash count as such.
	unnamedBits = 12
	// connectsAfter is after how many responses by way of another node the Link connects to all nodes. A program that
	// ends after some requests, as the command line, does not.
	connectsAfter = 64
	// leaderPause is the longest pause between attempts to connect to a node that is down, unless MostPause is longer.
	leaderPause = 5 * time.Second
)

// leaderTimeouts are those of a connection that only saves time: while a leader is silent, another one is elected, to
// which the node that the Link is connected to passes requests on.
var leaderTimeouts = timeouts{probeAfter: 250 * time.Millisecond, silentFor: time.Second}

// place is where hints for a key are.
type place struct {
	known   bool
	shard   kv.ShardID
	unnamed uint64
}

// place returns the place of a key. No key has none.
func (l *leaders) place(key []byte) place {
	shards := int(l.shards.Load())
	if len(key) == 0 || shards == 0 {
		return place{}
	}
	return place{known: true, shard: kv.HomeShard(key, shards), unnamed: maphash.Bytes(l.seed, key) >> (64 - unnamedBits)}
}

// session returns the live connection to the node that is hinted at, nil if there is none.
func (l *leaders) session(at place) *Session {
	others := l.others.Load()
	if !at.known || others == nil || l.unnamed[at.unnamed].Load() {
		return nil
	}
	node := l.nodes[at.shard].Load()
	if node == 0 {
		return nil
	}
	first := l.link.conn.live()
	if first == nil || first.welcome.NodeId == node {
		return first
	}
	for _, c := range *others {
		// The same number is another node in another cluster.
		s := c.live()
		if s != nil && s.welcome.NodeId == node && s.welcome.ClusterId == first.welcome.ClusterId {
			return s
		}
	}
	return nil
}

// learn records the node that a response names.
func (l *leaders) learn(at place, by *Session, node uint32) {
	if !at.known {
		return
	}
	if unnamed := node == 0; l.unnamed[at.unnamed].Load() != unnamed {
		l.unnamed[at.unnamed].Store(unnamed)
	}
	if node != 0 && l.nodes[at.shard].Load() != node {
		l.nodes[at.shard].Store(node)
	}
	if node != 0 && node != by.welcome.NodeId && l.others.Load() == nil && l.passedOn.Add(1) == connectsAfter {
		l.connect()
	}
}

// forget drops what names a node that was silent, by the connection to it that was given up: there may be another one,
// over which calls would wait for as long again.
func (l *leaders) forget(s *Session) {
	for i := range l.nodes {
		l.nodes[i].CompareAndSwap(s.welcome.NodeId, 0)
	}
}

// connect connects to all addresses, also to that of the node which the Link is connected to: that may change.
func (l *leaders) connect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	o := *l.link.opts
	o.MostPause = max(o.MostPause, leaderPause)
	var others []*connector
	for _, addr := range l.link.conn.addrs {
		others = append(others, newConnector([]string{addr}, &o, leaderTimeouts, func(*Session) {}, l.forget))
	}
	l.others.Store(&others)
}

// close returns the connectors. No more are made.
func (l *leaders) close() []*connector {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if others := l.others.Load(); others != nil {
		return *others
	}
	return nil
}
