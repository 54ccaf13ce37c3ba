package node

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	"github.com/linchpindb/linchpin/pkg/node/snapshotreads"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/trace"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Incarnations stores a second copy of the shards' incarnations outside the store. It detects a store that
// was replaced by an older copy.
type Incarnations interface {
	// CheckIncarnation returns an error if the store of a shard is older than the copy.
	CheckIncarnation(s kv.ShardID, inStore kv.Incarnation) error
	SetIncarnation(s kv.ShardID, inc kv.Incarnation) error
	// CountStart durably increments the number of starts of the node and returns it.
	CountStart() (uint32, error)
}

// Options are the parameters of a node.
type Options struct {
	ID     kv.NodeID
	Router *hotshard.Router
	Engine engine.Engine
	Clock  clock.Clock
	// Incarnations may be nil.
	Incarnations Incarnations
	// Leases may be nil: then lease expiries are unknown after a crash.
	Leases Leases
	// HotMaps may be nil.
	HotMaps gateway.HotMaps
	// Transport sends to the other nodes; nil for a cluster of one node. Its owner passes received messages to
	// Receive. Stop closes it.
	Transport transport.Transport
	// Replication is set if shards have several replicas (Router.Placement). Then Engine writes no log of its own
	// (pebblestore.Options.Unlogged), Incarnations only counts starts, and Leases is nil.
	Replication *Replication
	// Shard is the configuration of every shard except its ID. CacheBytes is for all shards of the node
	// together; default 256 MiB.
	Shard shard.Config
	// Gateway is the configuration of the gateway except Node and Router.
	Gateway txn.Config
	// Stripes is the number of the gateway's state machines; see gateway.Options.
	Stripes int
	// DiskReserve is the free disk space in bytes that the node keeps, if the engine reports it. With less,
	// the shards reject new writes (package shard, room.go). 0 or less disables the check.
	DiskReserve int64
	// NoMemory reports that the process has no memory for the result of a read of the store; such reads fail.
	// It is called concurrently. Default: never.
	NoMemory func() bool
	// Readers is the number of goroutines that read single rows from the disk. Half as many more read for
	// commits and ranges. Default 4 times GOMAXPROCS.
	Readers int
	// UserName returns the name of a user for the log, "" if it is unknown. Default: unknown.
	UserName func(kv.Account) string
	// Metrics and Journal record what happens; either may be nil.
	Metrics *metrics.Node
	Journal *activity.Journal
	// Addresses returns the last known addresses of the nodes, for errors. Default: none.
	Addresses func() map[kv.NodeID]string
	// ServeCall answers the unary calls of other nodes; see gateway.Options.
	ServeCall func(question []byte) []byte
	// Tracer makes spans. Default: none.
	Tracer *trace.Tracer
	Log    *slog.Logger
	// OnFatal is called when the node cannot continue because the store has failed. In a server it does not
	// return. Default: panic.
	OnFatal func(error)
}

func (opt Options) withDefaults() Options {
	if opt.Readers == 0 {
		opt.Readers = 4 * runtime.GOMAXPROCS(0)
	}
	if opt.NoMemory == nil {
		opt.NoMemory = func() bool { return false }
	}
	if opt.OnFatal == nil {
		opt.OnFatal = func(err error) { panic(err) }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Shard.CacheBytes == 0 {
		opt.Shard.CacheBytes = 256 << 20
	}
	return opt
}

// Node runs the shards that are placed on it, and a gateway.
type Node struct {
	opt       Options
	shards    map[kv.ShardID]*shardLoop
	ids       []kv.ShardID
	gateway   *gateway.Gateway
	committer *committer
	// groups and past are nil if shards have one replica.
	groups  *groups.Set
	past    *snapshotreads.Reads
	reads   *readQueue
	readers []reader
	started time.Time

	downMu sync.Mutex
	peers  peers
	// restarts has its own lock, because Receive must not wait for CheckPeers. leaderTimes needs none.
	restarts    restarts
	leaderTimes leaderTimes

	disk  disk
	slow  slowReads
	clock clockWatch

	// stop is closed, and ctx ends, when the node stops.
	stop   chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // shard loops, committer, releaser, watcher
	rwg    sync.WaitGroup // readers
}

// Gateway returns the gateway of the node.
func (n *Node) Gateway() *gateway.Gateway { return n.gateway }

// sendAlone routes the message of a transaction that is the only one of its gateway. If it is for a shard
// of this node, the shard's step runs on this goroutine. Exception: the goroutine that releases durable
// messages must not append, since that could wait for itself.
func (n *Node) sendAlone(env *msg.Envelope) {
	if n.nodeOf(env) == n.opt.ID && !n.committer.releaser.releasing.Load() {
		if l := n.shards[env.Shard]; l != nil && l.tryStep(env) {
			return
		}
	}
	n.routeOne(env)
}

// route delivers envelopes: as values to shards and the gateway of this node, through the transport to
// others.
func (n *Node) route(envs []*msg.Envelope) {
	if n.opt.Tracer != nil {
		n.opt.Tracer.Left(envs)
	}
	if len(envs) == 1 {
		n.routeOne(envs[0])
		return
	}
	var mine []*msg.Envelope
	var remote map[kv.NodeID][]*msg.Envelope
	var local map[*shardLoop][]*msg.Envelope
	for _, env := range envs {
		if to := n.nodeOf(env); to != n.opt.ID {
			if remote == nil {
				remote = map[kv.NodeID][]*msg.Envelope{}
			}
			remote[to] = append(remote[to], env)
			continue
		}
		if env.Gateway != 0 {
			mine = append(mine, env)
		} else if l := n.shards[env.Shard]; l != nil {
			if local == nil {
				local = map[*shardLoop][]*msg.Envelope{}
			}
			local[l] = append(local[l], env)
		}
	}
	for to, part := range remote {
		n.sendRemote(to, part)
	}
	for l, part := range local {
		l.receive(part...)
	}
	if len(mine) > 0 {
		n.gateway.Deliver(mine)
	}
}

func (n *Node) routeOne(env *msg.Envelope) {
	switch to := n.nodeOf(env); {
	case to != n.opt.ID:
		n.sendRemote(to, []*msg.Envelope{env})
	case env.Gateway != 0:
		n.gateway.Deliver([]*msg.Envelope{env})
	default:
		if l := n.shards[env.Shard]; l != nil {
			l.receive(env)
		}
	}
}

// sendRemote sends to another node. Messages for a shard that does not exist, which a client's causality token
// may name, are dropped.
func (n *Node) sendRemote(to kv.NodeID, envs []*msg.Envelope) {
	if n.opt.Transport != nil && to != 0 {
		n.opt.Transport.Send(to, envs)
	}
}

func (n *Node) nodeOf(env *msg.Envelope) kv.NodeID {
	if env.Gateway != 0 {
		return env.Gateway
	}
	if n.past != nil && n.past.Serves(env) {
		return n.past.NodeOf(env.Shard)
	}
	return n.Leader(env.Shard)
}

// Receive accepts messages from other nodes; it does not block. Messages for another node or for a shard
// that does not exist are dropped.
func (n *Node) Receive(envs []*msg.Envelope) {
	accepted := envs[:0:0]
	for _, env := range envs {
		switch {
		case int(env.Shard) >= n.opt.Router.Shards():
		case env.Gateway == 0 && n.groups != nil:
			// If this node does not lead the shard, the loop forwards the message.
			n.shards[env.Shard].receive(env)
		case n.nodeOf(env) == n.opt.ID:
			accepted = append(accepted, env)
			if a := msg.As[msg.Announcement](env); a != nil {
				n.onAnnouncement(env.From, a)
			}
		}
	}
	n.route(accepted)
}

// watchInterval is the period of the checks of peers and of the disk.
const watchInterval = 250 * time.Millisecond

// watch periodically updates the gateway with unreachable nodes and the shards with the disk level, and logs slow reads
// and clock jumps.
func (n *Node) watch() {
	defer n.wg.Done()
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	for {
		n.CheckPeers()
		select {
		case <-n.stop:
			return
		case <-t.C:
		}
		n.disk.check(n)
		n.slow.check(n)
	}
}

// Stop ends the node: appended entries become durable, and the messages that wait for them are sent if
// possible. It does not close the engine.
func (n *Node) Stop() {
	close(n.stop)
	n.cancel()
	if n.groups != nil {
		n.past.Close()
		n.groups.Stop()
	}
	n.wg.Wait()
	n.committer.close()
	n.reads.close()
	n.rwg.Wait()
	n.gateway.Close()
	if n.opt.Transport != nil {
		if err := n.opt.Transport.Close(); err != nil {
			n.opt.Log.Warn("transport not closed cleanly", "error", err)
		}
	}
}
