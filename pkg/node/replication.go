package node

import (
	"fmt"
	"math"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shardlog"
)

// Replication is what a node with replicated shards needs besides (Options.Replication).
type Replication = groups.Replication

// Groups are the replicas of the node, nil if shards have one replica.
func (n *Node) Groups() *groups.Set { return n.groups }

// Leader returns the node that serves a shard, as far as this node knows.
func (n *Node) Leader(s kv.ShardID) kv.NodeID {
	if n.groups != nil {
		if to, _ := n.groups.Leader(s); to != 0 {
			return to
		}
	}
	return n.opt.Router.Node(s)
}

// forward sends messages for a shard that this node does not lead to its leader. A message is forwarded once; if that
// does not reach the leader, it is lost, and its sender repeats it (R4.4).
func (n *Node) forward(s kv.ShardID, envs []*msg.Envelope) {
	var out []*msg.Envelope
	for _, env := range envs {
		if !env.Forwarded {
			c := *env // other goroutines may have the original
			c.Forwarded = env.From != 0
			out = append(out, &c)
		}
	}
	if to := n.Leader(s); to != n.opt.ID && len(out) > 0 {
		n.sendRemote(to, out)
	}
}

// replicated is a shard with several replicas on a node: groups.Shard.
type replicated struct {
	*shardLoop
	// last is the last output, whose slices the next step uses.
	last shard.Output
}

var _ groups.Shard = (*replicated)(nil)

func (l *replicated) Lock()                   { l.mu.Lock() }
func (l *replicated) Unlock()                 { l.mu.Unlock() }
func (l *replicated) OnWake(f func())         { l.inbox.onWake = f }
func (l *replicated) Machine() *shard.Machine { return l.m }
func (l *replicated) Portion() int            { return l.portion.size() }

func (l *replicated) Take() ([]*msg.Envelope, []entry.ReadResult) { return l.inbox.take(nil, nil) }

func (l *replicated) PutBack(msgs []*msg.Envelope, reads []entry.ReadResult) {
	l.inbox.putBack(msgs)
	for i := range reads {
		l.inbox.pushRead(l.gen, reads[i])
	}
}

func (l *replicated) StartReads(r *shardlog.Reads) { l.n.committer.startReads(l.shardLoop, r) }

func (l *replicated) Begin(now int64, b *replication.Begin) (shard.Output, error) {
	n := l.n
	rec := shard.Recovered{Incarnation: b.Incarnation, Replica: &shard.Replica{Wait: b.Wait, CSN: b.CSN,
		SteadyNanos: n.clock.steadyNanos(now)}}
	if err := n.opt.Engine.Recover(l.id, rec.Add); err != nil {
		return shard.Output{}, fmt.Errorf("the rows of %v cannot be read: %w", l.id, err)
	}
	m, out := shard.New(l.config(), rec, now, n.opt.Clock.Wall())
	l.setMachine(m, out.Next)
	n.announceLeader(l.shardLoop)
	return out, nil
}

func (l *replicated) End(why string) {
	l.n.opt.Log.Info("this node does not lead the shard any more", "shard", l.id.String(), "term", uint64(l.runs()),
		"reason", why)
	l.n.reads.dropAll(l.shardLoop, l.gen)
	l.setMachine(nil, math.MaxInt64)
	l.last = shard.Output{}
}

func (l *replicated) Step(in shard.Input) shard.Output {
	in.Buffers = buffersOf(&l.last)
	taken := len(in.Messages) + len(in.Reads)
	l.last = l.execute(in)
	l.portion.adapt(taken, l.lastDuration)
	return l.last
}

// announceLeader informs the gateways of the other nodes that this node leads a shard. Nodes without a replica of the
// shard learn it in no other way.
func (n *Node) announceLeader(l *shardLoop) {
	if n.opt.Transport == nil {
		return
	}
	for i := range n.opt.Router.Nodes() {
		if to := kv.NodeID(i + 1); to != n.opt.ID {
			env := msg.ToGateway(to)
			env.Body = &msg.Announcement{Shard: l.id, Incarnation: l.runs()}
			n.opt.Transport.Send(to, []*msg.Envelope{env})
		}
	}
}
