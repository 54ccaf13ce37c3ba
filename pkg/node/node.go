package node

import (
	"context"
	"fmt"
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
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
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

// Node runs the shards that are placed on it, and a gateway.
type Node struct {
	opt       Options
	shards    map[kv.ShardID]*shardLoop
	ids       []kv.ShardID
	gateway   *gateway.Gateway
	committer *committer
	reads     *readQueue
	readers   []reader
	started   time.Time

	downMu sync.Mutex
	peers  peers
	// restarts has its own lock, because Receive must not wait for CheckPeers.
	restarts restarts

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

// Start recovers the node's shards and starts serving.
func Start(opt Options) (*Node, error) {
	if opt.Replication != nil {
		return nil, errReplicated
	}
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
	n := &Node{opt: opt, shards: map[kv.ShardID]*shardLoop{}, peers: newPeers(), restarts: newRestarts(),
		stop: make(chan struct{}), started: time.Now()}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.reads = newReadQueue()
	n.committer = newCommitter(n)
	n.ids = opt.Router.ShardsOf(opt.ID)
	n.watchClock(opt.Clock)
	n.disk.check(n)
	outs, clean, err := n.recoverShards()
	if err != nil {
		return nil, n.abortStart(err)
	}
	opt.Log.Info("shards recovered", n.recoveryFields(clean)...)
	cfg := opt.Gateway
	if opt.Incarnations != nil {
		cfg.Incarnation, err = opt.Incarnations.CountStart()
		if err != nil {
			return nil, n.abortStart(err)
		}
	}
	cfg.Node, cfg.Router, cfg.Epoch = opt.ID, opt.Router, opt.Clock.Wall()-opt.Clock.Now()
	var obs gateway.Observer
	if opt.Metrics != nil || opt.Journal != nil {
		obs = &observer{m: opt.Metrics, j: opt.Journal}
	}
	n.gateway = gateway.New(gateway.Options{Machine: cfg, Clock: n.clock.Hybrid, Send: n.route, SendAlone: n.sendAlone,
		Stripes: opt.Stripes, Gateways: opt.Router.Nodes(), Observer: obs, HotMaps: opt.HotMaps,
		Tracer: opt.Tracer, ServeCall: opt.ServeCall, DescribeDown: func(id kv.NodeID) *kv.Down {
			address := ""
			if opt.Addresses != nil {
				address = opt.Addresses()[id]
			}
			return opt.Router.Unavailable(id, address)
		}})
	n.clock.check(n)
	if err := n.persistIncarnations(outs); err != nil {
		n.gateway.Close()
		return nil, n.abortStart(err)
	}
	n.run(outs)
	return n, nil
}

// abortStart ends what a failed Start has started: the first check of the disk may have started to free
// space, which uses the engine.
func (n *Node) abortStart(err error) error {
	n.cancel()
	n.wg.Wait()
	return err
}

// persistIncarnations makes the shards' new incarnations durable, in the store and then in their copy,
// before anything is sent.
func (n *Node) persistIncarnations(outs []*groupcommit.Step) error {
	for _, o := range outs {
		o.Shard.Log.Append(o.Out.Entries)
	}
	batch := n.committer.group.Take()
	if len(batch.Groups) == 0 {
		return nil
	}
	at, err := n.opt.Engine.Append(batch.Groups)
	if err != nil {
		return err
	}
	if err := n.opt.Engine.WaitDurable(at); err != nil {
		return err
	}
	batch.OnApplied()
	n.committer.group.Written(batch, at, n.opt.Clock.Now())
	n.committer.releaser.onDurable(at)
	for _, o := range outs {
		o.Out.Entries = nil
		if n.opt.Incarnations == nil {
			continue
		}
		if err := n.opt.Incarnations.SetIncarnation(o.Shard.ID, n.shards[o.Shard.ID].m.Incarnation()); err != nil {
			return err
		}
	}
	return nil
}

// recoveryFields are the log fields of the recovery; for new shards only their number.
func (n *Node) recoveryFields(clean int) []any {
	fields := []any{"shards", len(n.ids)}
	for _, id := range n.ids {
		if n.shards[id].m.Incarnation() > 1 {
			return append(fields, "clean_shutdowns", clean)
		}
	}
	return fields
}

// recoverShards recovers every shard and starts its next incarnation. clean counts those whose last
// incarnation ended with a clean shutdown.
func (n *Node) recoverShards() (outs []*groupcommit.Step, clean int, err error) {
	cfg := n.opt.Shard
	cfg.Snapshots.Hot = n.opt.Router.HotShard()
	cfg.Snapshots.Node = n.opt.Router.Node(cfg.Snapshots.Hot)
	cfg.Heat.Hot, cfg.Heat.Nodes, cfg.Heat.Node = cfg.Snapshots.Hot, n.opt.Router.Nodes(), cfg.Snapshots.Node
	cfg.Nodes = cfg.Heat.Nodes
	cfg.CacheBytes /= max(len(n.ids), 1)
	cfg.Node, cfg.Gateway = n.opt.ID, n.opt.ID
	for _, id := range n.ids {
		var rec shard.Recovered
		if err := n.opt.Engine.Recover(id, rec.Add); err != nil {
			return nil, 0, fmt.Errorf("node: shard %v cannot be recovered: %w", id, err)
		}
		if n.opt.Incarnations != nil {
			if err := n.opt.Incarnations.CheckIncarnation(id, rec.State.Incarnation); err != nil {
				return nil, 0, err
			}
		}
		if rec.State.CleanShutdown {
			clean++
		}
		rec.Incarnation = rec.State.Incarnation + 1
		cfg.ID, cfg.Home = id, nil
		if id == cfg.Heat.Hot {
			cfg.Home = n.opt.Router.Shard
		}
		n.loadLeases(id, &rec)
		m, out := shard.New(cfg, rec, n.opt.Clock.Now(), n.opt.Clock.Wall())
		l := newShardLoop(n, m, out.Next)
		err := l.leases.open(n.opt.Leases, m)
		if err != nil {
			return nil, 0, fmt.Errorf("node: the leases of shard %v cannot be saved: %w", id, err)
		}
		n.shards[id] = l
		outs = append(outs, &groupcommit.Step{Shard: l.log, Out: out})
	}
	return outs, clean, nil
}

func (n *Node) run(first []*groupcommit.Step) {
	n.committer.start()
	n.readers = newReaders(n.opt.Readers)
	for i := range n.readers {
		n.rwg.Add(1)
		go n.readLoop(&n.readers[i])
	}
	for _, o := range first {
		n.committer.submit(o)
	}
	n.committer.commit()
	for _, id := range n.ids {
		l := n.shards[id]
		n.gateway.SetIncarnation(id, l.m.Incarnation())
		n.wg.Add(1)
		go l.run()
	}
	n.wg.Add(1)
	go n.watch()
	if n.opt.Journal != nil {
		n.wg.Go(n.sealJournal)
	}
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
		l.inbox.push(part...)
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
			l.inbox.push(env)
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
	return n.opt.Router.Node(env.Shard)
}

// Receive accepts messages from other nodes; it does not block. Messages for another node or for a shard
// that does not exist are dropped.
func (n *Node) Receive(envs []*msg.Envelope) {
	accepted := envs[:0:0]
	for _, env := range envs {
		if int(env.Shard) < n.opt.Router.Shards() && n.nodeOf(env) == n.opt.ID {
			accepted = append(accepted, env)
			if a := msg.As[msg.Announcement](env); a != nil {
				n.restarts.onAnnouncement(env.From, a)
			}
		}
	}
	n.route(accepted)
}

// watchInterval is the period of the checks of peers and of the disk.
const watchInterval = 250 * time.Millisecond

// watch periodically updates the gateway with unreachable nodes and the shards with the disk level, and
// logs slow reads and clock jumps.
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
