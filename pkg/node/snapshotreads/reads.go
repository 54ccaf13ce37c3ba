// Package snapshotreads serves reads at retained snapshots from the replicas of a node, whether it leads their shards
// or not. A snapshot names states that do not change, so a replica needs no leader for it, and the leader has less to
// do.
//
// Guarantee: a response is what was visible at the snapshot on its shard, however old or cut off the replica is (type
// shard.ReplicaReader). While shards have no leaders, because most of their replicas are down, their snapshots can
// still be read and backed up.
//
//	gateway   ──▶ the replica on its own node; without one, the leader; without that, another replica
//	replica   served              ──▶ gateway
//	          not closed          tried again for 10 ms, then as refused
//	          refused             ──▶ the leader; without one ──▶ another replica, once ──▶ gateway: Unavailable
//
// The node of a leader serves such reads by its machine, which has the newest values in memory. But a machine that has
// begun while the hot shard has no leader does not know which snapshots are kept; the rows show it.
//
// Example. Of nodes 1 to 3, nodes 2 and 3 are lost. Node 1 looks snapshot 7 up in the rows of its replica of the hot
// shard, reads a key at it from the rows of its replica of s0, and says of the present state that s0 has no leader.
//
// Each read has a goroutine, which waits for the readers of the node like a read of a machine. Package node relies on
// this one.
//
// Hazard: the replica may be replaced while its rows are read, and for a moment there are none. So its number is
// compared before a response is sent.
package snapshotreads

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Options are the parameters of Reads. The functions are called concurrently.
type Options struct {
	ID        kv.NodeID
	Placement kv.Placement
	Clock     clock.Clock
	Mutants   mutant.Set
	// Home returns the home shard of a key.
	Home func(key []byte) kv.ShardID
	// IsLeaderless reports whether a shard is known to have no leader, Leads whether this node leads it. Leader is the
	// node that does, as far as this one knows.
	IsLeaderless func(kv.ShardID) bool
	Leads        func(kv.ShardID) bool
	Leader       func(kv.ShardID) kv.NodeID
	// Up reports whether another node can be reached.
	Up func(kv.NodeID) bool
	// Replica returns the number of this node's replica of a shard, 0 if it has none that can be read.
	Replica func(kv.ShardID) consensus.ReplicaID
	// Read reads rows, like a read of a machine. OnDamage is called if a row cannot be read (R6.15).
	Read     func(kv.ShardID, entry.Read) entry.ReadResult
	OnDamage func(kv.ShardID, error)
	// Respond sends a message to a gateway. Forward sends one to the leader of its shard, and Send to a node.
	Respond func(*msg.Envelope)
	Forward func(kv.ShardID, *msg.Envelope)
	Send    func(kv.NodeID, *msg.Envelope)
	// Stop is closed when the node stops.
	Stop <-chan struct{}
}

// Reads are the reads of a node. Its methods are safe for concurrent use.
type Reads struct {
	opt Options

	mu      sync.Mutex
	running int
	closed  bool
	wg      sync.WaitGroup
}

// New returns the reads of a node, of which there are none yet.
func New(opt Options) *Reads { return &Reads{opt: opt} }

const (
	// maxClosedWait is for how long a replica waits until it has everything up to the snapshot (R8.1).
	maxClosedWait = 10 * time.Millisecond
	// maxRunning bounds the reads in execution. Further ones go to the leader. Somewhat arbitrary: a quarter of what may
	// wait for the readers of a node, as each read waits for one row or range at a time.
	maxRunning = 1024
)

// Serves reports whether replicas can serve a message: a read at a retained snapshot, or, while the hot shard has no
// leader, the search for one.
func (r *Reads) Serves(env *msg.Envelope) bool {
	switch q := env.Body.(type) {
	case *msg.Read:
		return q.SnapshotNumber != 0
	case *msg.ReadPage:
		return q.SnapshotNumber != 0 && q.Number != 0 && !q.Done
	case *msg.FindSnapshot:
		return r.opt.IsLeaderless(env.Shard)
	}
	return false
}

// NodeOf returns the node to which a message goes that replicas can serve.
func (r *Reads) NodeOf(s kv.ShardID) kv.NodeID {
	switch {
	case slices.Contains(r.opt.Placement.NodesOf(s), r.opt.ID):
		return r.opt.ID
	case !r.opt.IsLeaderless(s):
		return r.opt.Leader(s)
	}
	return cmp.Or(r.other(s), r.opt.ID) // if none can be reached, this node says so
}

// other returns another node with a replica of a shard that can be reached, 0 if there is none.
func (r *Reads) other(s kv.ShardID) kv.NodeID {
	for _, id := range r.opt.Placement.NodesOf(s) {
		if id != r.opt.ID && r.opt.Up(id) {
			return id
		}
	}
	return 0
}

// Take starts the reads among the messages for a shard that this node's replica is to serve, and returns the others.
func (r *Reads) Take(s kv.ShardID, envs []*msg.Envelope) []*msg.Envelope {
	byMachine := r.opt.Leads(s) && !r.opt.IsLeaderless(r.opt.Placement.HotShard())
	if byMachine || !slices.ContainsFunc(envs, r.Serves) {
		return envs
	}
	var rest []*msg.Envelope
	for _, env := range envs {
		switch {
		case !r.Serves(env):
			rest = append(rest, env)
		case !r.start(s, env):
			r.refuse(s, env, failure(s, "too many snapshots are read on the node"))
		}
	}
	return rest
}

// start starts a read, and reports whether there are not too many. Those that begin while the node stops are dropped.
func (r *Reads) start(s kv.ShardID, env *msg.Envelope) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.running == maxRunning {
		return r.closed
	}
	r.running++
	r.wg.Go(func() {
		r.serve(s, env)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running--
	})
	return true
}

// Close returns when no read is in execution. Stop was closed before.
func (r *Reads) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.wg.Wait()
}

// serve serves a message, or refuses it.
func (r *Reads) serve(s kv.ShardID, env *msg.Envelope) {
	until := r.opt.Clock.Now() + int64(maxClosedWait)
	for {
		replica := r.opt.Replica(s)
		if replica == 0 {
			r.refuse(s, env, failure(s, "this node has no replica of it"))
			return
		}
		out, why := r.read(s, env)
		switch {
		case r.opt.Replica(s) != replica:
			why = shard.Unreadable
		case why == shard.Served:
			r.opt.Respond(out)
			return
		}
		if why != shard.NotClosed || r.opt.Clock.Now() >= until {
			f := failure(s, reasons[why])
			if p := msg.As[msg.SnapshotResponse](out); p != nil && p.Failure != nil {
				f.Text, f.Hint = p.Failure.Text, p.Failure.Hint
			}
			r.refuse(s, env, f)
			return
		}
		select {
		case <-r.opt.Stop:
			return
		case <-time.After(maxClosedWait / 4):
		}
	}
}

// reasons are why a replica refuses a read.
var reasons = map[shard.Refusal]string{
	shard.NotClosed:  "the replica on this node has not received everything up to the snapshot",
	shard.TooOld:     "the snapshot may have been dropped, or has expired",
	shard.Unreadable: "the rows of the replica on this node cannot be read",
}

// read reads what a message requests, and returns the response.
func (r *Reads) read(s kv.ShardID, env *msg.Envelope) (*msg.Envelope, shard.Refusal) {
	reader := shard.ReplicaReader{Shard: s, Mutants: r.opt.Mutants,
		Read: func(q entry.Read) entry.ReadResult {
			res := r.opt.Read(s, q)
			if res.Err != nil && kv.KindOf(res.Err) == kv.KindCorrupt {
				r.opt.OnDamage(s, res.Err)
			}
			return res
		},
		Clock: func() int64 {
			return (r.opt.Clock.Wall() + int64(time.Millisecond) - 1) / int64(time.Millisecond)
		}}
	if s == r.opt.Placement.HotShard() {
		reader.Home = r.opt.Home
	}
	return reader.Serve(env)
}

// refuse passes on a message that the replica here does not serve: to the leader, or to another replica, once. If there
// is neither, the gateway gets the failure.
func (r *Reads) refuse(s kv.ShardID, env *msg.Envelope, f *msg.Failure) {
	leads := r.opt.Leads(s)
	if !leads && !r.opt.IsLeaderless(s) {
		r.opt.Forward(s, env)
		return
	}
	if to := r.other(s); !leads && to != 0 && !env.Forwarded {
		c := *env // other goroutines may have the original
		c.Forwarded = true
		r.opt.Send(to, &c)
		return
	}
	r.opt.Respond(failureResponse(env, s, f))
}

// failure is the failure of a read at a snapshot that neither a leader nor a replica serves.
func failure(s kv.ShardID, why string) *msg.Failure {
	f := msg.Fail(msg.ReasonExhausted, kv.KindUnavailable, "shard "+s.String()+" cannot be read at the snapshot: "+why)
	f.Down = kv.NoLeader
	f.Hint = why + `; read an earlier snapshot, or start the nodes that "linchpin status" shows as down`
	return f
}

// failureResponse is the response with a failure to a message that replicas can serve.
func failureResponse(env *msg.Envelope, s kv.ShardID, f *msg.Failure) *msg.Envelope {
	out := msg.ToGateway(0)
	switch q := env.Body.(type) {
	case *msg.Read:
		out.Gateway = q.Gateway
		out.Body = &msg.ReadResponse{Reader: q.Reader, Number: q.Number, CSN: q.CSN, Reading: msg.Reading{Shard: s},
			Failure: f}
	case *msg.ReadPage:
		out.Gateway = q.Gateway
		out.Body = &msg.ReadPageResponse{Txn: q.Txn, Number: q.Number, Shard: s, Failure: f}
	case *msg.FindSnapshot:
		out.Gateway = q.Gateway
		out.Body = &msg.SnapshotResponse{Request: q.Request, Failure: f}
	}
	return out
}
