package node

import (
	"context"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	"github.com/linchpindb/linchpin/pkg/node/snapshotreads"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// startup is a node that is being started.
type startup struct{ *Node }

// Start recovers the node's shards and starts serving.
func Start(opt Options) (*Node, error) {
	opt = opt.withDefaults()
	n := startup{&Node{opt: opt, shards: map[kv.ShardID]*shardLoop{}, peers: newPeers(), restarts: newRestarts(),
		stop: make(chan struct{}), started: time.Now()}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.reads = newReadQueue()
	n.committer = newCommitter(n.Node)
	n.watchClock(opt.Clock)
	n.disk.check(n.Node)
	outs, err := n.openShards()
	if err != nil {
		return nil, n.abortStart(err)
	}
	cfg := opt.Gateway
	cfg.Replicated = n.groups != nil
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
			return n.leaderTimes.describeDown(&n.opt, id)
		}})
	n.clock.check(n.Node)
	if err := n.persistIncarnations(outs); err != nil {
		n.gateway.Close()
		return nil, n.abortStart(err)
	}
	n.run(outs)
	return n.Node, nil
}

// abortStart ends what a failed Start has started: the first check of the disk may have started to free
// space, which uses the engine.
func (n startup) abortStart(err error) error {
	n.cancel()
	n.wg.Wait()
	return err
}

// openShards opens what the node has of the shards: its replicas, or the shards with their first steps.
func (n startup) openShards() ([]*groupcommit.Step, error) {
	if n.opt.Replication != nil {
		return nil, n.openGroups()
	}
	n.ids = n.opt.Router.ShardsOf(n.opt.ID)
	outs, clean, err := n.recoverShards()
	if err != nil {
		return nil, err
	}
	n.opt.Log.Info("shards recovered", n.recoveryFields(clean)...)
	return outs, nil
}

// persistIncarnations makes the shards' new incarnations durable, in the store and then in their copy,
// before anything is sent.
func (n startup) persistIncarnations(outs []*groupcommit.Step) error {
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
		if err := n.opt.Incarnations.SetIncarnation(o.Shard.ID, n.shards[o.Shard.ID].runs()); err != nil {
			return err
		}
	}
	return nil
}

// recoveryFields are the log fields of the recovery; for new shards only their number.
func (n startup) recoveryFields(clean int) []any {
	fields := []any{"shards", len(n.ids)}
	for _, id := range n.ids {
		if n.shards[id].runs() > 1 {
			return append(fields, "clean_shutdowns", clean)
		}
	}
	return fields
}

// recoverShards recovers every shard and starts its next incarnation. clean counts those whose last
// incarnation ended with a clean shutdown.
func (n startup) recoverShards() (outs []*groupcommit.Step, clean int, err error) {
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
		n.loadLeases(id, &rec)
		l := newShardLoop(n.Node, id)
		m, out := shard.New(l.config(), rec, n.opt.Clock.Now(), n.opt.Clock.Wall())
		l.log = n.committer.group.NewShard(id)
		l.setMachine(m, out.Next)
		err := l.leases.open(n.opt.Leases, m)
		if err != nil {
			return nil, 0, fmt.Errorf("node: the leases of shard %v cannot be saved: %w", id, err)
		}
		n.shards[id] = l
		outs = append(outs, &groupcommit.Step{Shard: l.log, Out: out})
	}
	return outs, clean, nil
}

func (n startup) run(first []*groupcommit.Step) {
	n.readers = newReaders(n.opt.Readers)
	for i := range n.readers {
		n.rwg.Add(1)
		go n.readLoop(&n.readers[i])
	}
	n.committer.start()
	if n.groups != nil {
		n.groups.Start()
		n.wg.Go(n.balance)
	} else {
		n.runShards(first)
	}
	n.wg.Add(1)
	go n.watch()
	if n.opt.Journal != nil {
		n.wg.Go(n.sealJournal)
	}
}

// balance returns shards to the nodes that should lead them. It waits for turns, of which one may be long.
func (n startup) balance() {
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	for {
		select {
		case <-n.stop:
			return
		case <-t.C:
			n.groups.Balance()
		}
	}
}

// runShards starts the loops of shards with one replica.
func (n startup) runShards(first []*groupcommit.Step) {
	for _, o := range first {
		n.committer.submit(o)
	}
	n.committer.commit()
	for _, id := range n.ids {
		l := n.shards[id]
		n.gateway.SetIncarnation(id, l.runs())
		n.wg.Add(1)
		go l.run()
	}
}

// snapshotReads are the options of the reads at the node's replicas.
func (n startup) snapshotReads() snapshotreads.Options {
	return snapshotreads.Options{ID: n.opt.ID, Placement: n.opt.Router.Placement(), Clock: n.opt.Clock,
		Mutants: n.opt.Shard.Mutants, Home: n.opt.Router.Shard, Stop: n.stop, IsLeaderless: n.leaderTimes.isLeaderless,
		Leads: func(s kv.ShardID) bool { return n.shards[s].runs() != 0 }, Leader: n.Leader,
		Up:       func(id kv.NodeID) bool { return n.opt.Transport != nil && n.opt.Transport.Up(id) },
		Replica:  func(s kv.ShardID) (consensus.ReplicaID, string) { return n.groups.Replica(s) },
		OnDamage: func(s kv.ShardID, err error) { n.groups.OnDamage(s, err) },
		Read: func(s kv.ShardID, q entry.Read) entry.ReadResult {
			return n.reads.readNow(n.shards[s], q, n.opt.Clock.Now(), n.stop)
		},
		Respond: n.routeOne,
		Forward: func(s kv.ShardID, env *msg.Envelope) { n.forward(s, []*msg.Envelope{env}) },
		Send:    func(to kv.NodeID, env *msg.Envelope) { n.sendRemote(to, []*msg.Envelope{env}) }}
}

// openGroups opens the node's replicas.
func (n startup) openGroups() (err error) {
	shards := make([]*replicated, n.opt.Router.Shards())
	for i := range shards {
		id := kv.ShardID(i)
		l := newShardLoop(n.Node, id)
		n.shards[id], n.ids = l, append(n.ids, id)
		shards[i] = &replicated{shardLoop: l}
	}
	o := groups.Options{Replication: *n.opt.Replication, ID: n.opt.ID, Placement: n.opt.Router.Placement(),
		Engine: n.opt.Engine, Clock: n.opt.Clock, Mutants: n.opt.Shard.Mutants, Log: n.opt.Log, OnFatal: n.opt.OnFatal,
		Shard: func(id kv.ShardID) groups.Shard { return shards[id] }, Route: n.route, Forward: n.forward,
		Disk:     func() (shard.Disk, string) { d := n.DiskSpace(); return d.Level, d.reason },
		OnLeader: func(id kv.ShardID, t consensus.Term) { n.gateway.SetIncarnation(id, kv.Incarnation(t)) },
		OnDurable: func(entries int, since int64) {
			if n.opt.Metrics != nil {
				n.recordFsync(entries, since)
			}
		}}
	n.leaderTimes = newLeaderTimes(len(shards), n.opt.Clock.Now())
	n.past = snapshotreads.New(n.snapshotReads())
	n.groups, err = groups.Open(o)
	return err
}
