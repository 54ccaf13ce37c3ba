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
// Each read has a goroutine, which waits for the readers of the node like a read of a machine. A copy of a request that
// is being read is dropped, and a newer page of a scan ends the reading of the one before. Package node relies on this
// one.
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
	// Replica returns the number of this node's replica of a shard; 0, and why, if it has none that may be read.
	Replica func(kv.ShardID) (consensus.ReplicaID, string)
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

	mu sync.Mutex
	// running are the reads in execution, byUser is how many of them a user has.
	running map[name]*read
	byUser  map[kv.Account]int
	closed  bool
	wg      sync.WaitGroup
	// finding is held while all rows of the registry are in memory.
	finding sync.Mutex
}

// name names what requests read: a reader, a scan or a search. number is that of a request; the requests of a scan
// replace each other, and have none.
type name struct {
	shard  kv.ShardID
	kind   msg.Kind
	txn    kv.TxnRef
	number uint64
}

// read is a read in execution.
type read struct {
	shard kv.ShardID
	env   *msg.Envelope
	name  name
	user  kv.Account
	// number is that of the request. replaced is closed when a newer page of its scan is requested.
	number   uint64
	replaced chan struct{}
	// err is why rows could not be read.
	err error
}

// New returns the reads of a node, of which there are none yet.
func New(opt Options) *Reads {
	return &Reads{opt: opt, running: map[name]*read{}, byUser: map[kv.Account]int{}}
}

const (
	// maxClosedWait is for how long a replica waits until it has everything up to the snapshot (R8.1).
	maxClosedWait = 10 * time.Millisecond
	// maxRunning bounds the reads in execution, of which a user has at most half. Further ones go to the leader. Somewhat
	// arbitrary: a quarter of what may wait for the readers of a node, as each read waits for one row or range at a time.
	maxRunning = 1024
	// retryAfter is the suggested delay before a retry without a leader.
	retryAfter = time.Second
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
		if !r.Serves(env) {
			rest = append(rest, env)
			continue
		}
		x := newRead(s, env)
		if !r.start(x) {
			r.refuse(x, tooMany())
		}
	}
	return rest
}

func newRead(s kv.ShardID, env *msg.Envelope) *read {
	x := &read{shard: s, env: env, replaced: make(chan struct{}), name: name{shard: s, kind: env.Body.Kind()}}
	switch q := env.Body.(type) {
	case *msg.Read:
		x.name.txn, x.name.number, x.user = q.Reader, uint64(q.Number), q.User
	case *msg.ReadPage:
		x.name.txn, x.number, x.user = q.Txn, q.Number, q.User
	case *msg.FindSnapshot:
		x.name.txn = q.Request
	}
	return x
}

// start starts a read, and reports whether there are not too many. A copy of one is dropped, and so are reads that
// begin while the node stops.
func (r *Reads) start(x *read) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.running[x.name]
	switch {
	case r.closed, was != nil && was.number >= x.number:
		return true
	case len(r.running) >= maxRunning, r.byUser[x.user] >= maxRunning/2:
		return false
	case was != nil:
		close(was.replaced)
	}
	r.running[x.name] = x
	r.byUser[x.user]++
	r.wg.Go(func() {
		r.serve(x)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.running[x.name] == x {
			delete(r.running, x.name)
		}
		r.byUser[x.user]--
		if r.byUser[x.user] == 0 {
			delete(r.byUser, x.user)
		}
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
func (r *Reads) serve(x *read) {
	until := r.opt.Clock.Now() + int64(maxClosedWait)
	for {
		replica, why := r.opt.Replica(x.shard)
		if replica == 0 {
			r.refuse(x, failure(x.shard, why, hintStart))
			return
		}
		out, refused := r.read(x)
		if now, _ := r.opt.Replica(x.shard); now != replica {
			refused = shard.Unreadable
		}
		if refused == shard.Served {
			r.opt.Respond(out)
			return
		}
		if refused != shard.NotClosed || r.opt.Clock.Now() >= until {
			r.refuse(x, x.failure(out, refused))
			return
		}
		select {
		case <-r.opt.Stop:
			return
		case <-x.replaced:
			return
		case <-time.After(maxClosedWait / 4):
		}
	}
}

// read reads what a message requests, and returns the response.
func (r *Reads) read(x *read) (*msg.Envelope, shard.Refusal) {
	reader := shard.ReplicaReader{Shard: x.shard, Mutants: r.opt.Mutants,
		Read: func(q entry.Read) entry.ReadResult { return r.rows(x, q) },
		Clock: func() int64 {
			return (r.opt.Clock.Wall() + int64(time.Millisecond) - 1) / int64(time.Millisecond)
		}}
	if x.shard == r.opt.Placement.HotShard() {
		reader.Home = r.opt.Home
	}
	if msg.Is[msg.FindSnapshot](x.env) {
		r.finding.Lock()
		defer r.finding.Unlock()
	}
	return reader.Serve(x.env)
}

// rows reads rows for a read, unless that was replaced. A block that cannot be read makes the replica unfit if another
// one can take its place (R6.15): without a leader, the rest of its rows may be all that is left.
func (r *Reads) rows(x *read, q entry.Read) entry.ReadResult {
	select {
	case <-x.replaced:
		return entry.ReadResult{Err: kv.Errorf(kv.KindCancelled, "the scan goes on with another page")}
	default:
	}
	q.User = x.user
	res := r.opt.Read(x.shard, q)
	x.err = res.Err
	if res.Err != nil && kv.KindOf(res.Err) == kv.KindCorrupt && !r.opt.IsLeaderless(x.shard) {
		r.opt.OnDamage(x.shard, res.Err)
	}
	return res
}

// refuse passes on a message that the replica here does not serve: to the leader, or to another replica, once. If there
// is neither, the gateway gets the failure. A read that was replaced is dropped, and so are those of a node that stops.
func (r *Reads) refuse(x *read, f *msg.Failure) {
	select {
	case <-r.opt.Stop:
		return
	case <-x.replaced:
		return
	default:
	}
	leads := r.opt.Leads(x.shard)
	if !leads && !r.opt.IsLeaderless(x.shard) {
		r.opt.Forward(x.shard, x.env)
		return
	}
	if to := r.other(x.shard); !leads && to != 0 && !x.env.Forwarded {
		c := *x.env // other goroutines may have the original
		c.Forwarded = true
		r.opt.Send(to, &c)
		return
	}
	r.opt.Respond((&shard.ReplicaReader{Shard: x.shard}).Response(x.env, f))
}

const (
	hintStart   = `start the nodes that "linchpin status" shows as down`
	hintEarlier = "read an earlier snapshot, or " + hintStart
	hintNewer   = "read a newer snapshot, or " + hintStart
)

// failure is the failure of a read that the replica here refuses, and nothing else can serve.
func (x *read) failure(out *msg.Envelope, refused shard.Refusal) *msg.Failure {
	p := msg.As[msg.SnapshotResponse](out)
	switch {
	case x.err != nil && kv.KindOf(x.err) == kv.KindResourceExhausted:
		f := msg.FailureOf(x.err)
		f.RetryAfterNanos = int64(retryAfter)
		return f
	case p != nil && p.Failure != nil:
		p.Failure.Reason, p.Failure.Down = msg.ReasonExhausted, kv.NoLeader
		return p.Failure
	case refused == shard.NotClosed:
		return failure(x.shard, "the replica on this node has not received everything up to it", hintEarlier)
	case refused == shard.TooOld:
		return failure(x.shard, "it may have been dropped, or has expired", hintNewer)
	}
	return failure(x.shard, "the rows of the replica on this node cannot be read", hintStart)
}

// failure is the failure of a read at a snapshot that neither a leader nor a replica serves.
func failure(s kv.ShardID, why, hint string) *msg.Failure {
	f := msg.Fail(msg.ReasonExhausted, kv.KindUnavailable, "shard "+s.String()+" cannot be read at the snapshot: "+why)
	f.Down, f.Hint = kv.NoLeader, why+"; "+hint
	return f
}

// tooMany is the failure of a read beyond maxRunning.
func tooMany() *msg.Failure {
	f := msg.Fail(msg.ReasonExhausted, kv.KindResourceExhausted, "too many reads at snapshots run on the node")
	f.RetryAfterNanos, f.Hint = int64(retryAfter), "retry later"
	return f
}
