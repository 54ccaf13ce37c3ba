package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/heat"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/txn/routing"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
)

// Gateway is the state of one state machine of a gateway that all of its flows share: time, output,
// what is known of the cluster, and the responses to clients.
type Gateway struct {
	*env.Env
	Shards   *shards.Shards
	Places   *routing.Routes
	Heat     *heat.Heat
	Rounds   *round.Rounds
	Admitter *Admitter
	// Readers maps the name of a reading to its flow, Pages the number of a page request to its scan.
	// A late response names neither, and is ignored.
	Readers     map[kv.TxnRef]Reader
	Pages       map[uint64]*Scan
	pageNumber  uint64
	SharedReads SharedReads
	// Done are the responses since the last Flush.
	Done []Done
	// LeftOut are the shards that did not respond to a round of this machine in time, since the last
	// Flush.
	LeftOut []kv.ShardID
	// missedShards is, for a view that has failed, the shard whose part its snapshot lacked.
	missedShards map[kv.TxnID]kv.ShardID
	// viewsAtSnapshotUntil is until when new views read at a snapshot from the start.
	viewsAtSnapshotUntil int64
}

// NewGateway makes the state of a machine without flows. under lists its flows.
func NewGateway(e *env.Env, under func(yield func(Flow))) *Gateway {
	s := shards.New(e)
	gw := &Gateway{
		Env:          e,
		Shards:       s,
		Places:       routing.New(e),
		Heat:         heat.New(e),
		Rounds:       round.New(e, s),
		Readers:      map[kv.TxnRef]Reader{},
		Pages:        map[uint64]*Scan{},
		missedShards: map[kv.TxnID]kv.ShardID{},
	}
	gw.Admitter = newAdmitter(gw, under)
	return gw
}

// LeaveOut excludes a shard from snapshot rounds because it did not respond to one in time.
//
// A round blocks updates on all shards until the last one has responded. A shard with a slow disk would
// block those of the others at each round.
func (gw *Gateway) LeaveOut(s kv.ShardID) {
	if gw.Shards.LeaveOut(gw.Now, s) {
		gw.LeftOut = append(gw.LeftOut, s)
	}
}

// shardOf is the shard on which a call looks for a key: where it was redirected, else where the
// gateway routes the key.
func (gw *Gateway) shardOf(c *Call, key []byte) kv.ShardID { return gw.Places.Shard(&c.redirects, key) }

// Respond reports the end of a client's request, with the receipt of the whole call. A second
// response to the same request is dropped.
func (gw *Gateway) Respond(c *Call, d Done) {
	d.Receipt = c.finalReceipt(gw.Now, d.Failure)
	gw.enqueueDone(c, d)
}

// enqueueDone queues a response for the next Flush. A call without a handle has none.
func (gw *Gateway) enqueueDone(c *Call, d Done) {
	// The delete of an expired key has no client. An interactive transaction that is aborted between
	// two requests has no request to respond to: package txn remembers why it was aborted.
	if c.Handle == nil {
		return
	}
	d.Handle, d.Txn = c.Handle, c.Ref
	d.Attempts, d.AbortReasons, d.Ended = c.Ref.Attempt-c.Earlier.Redirects, c.Earlier.Aborts, c.Earlier.Ended
	c.Handle = nil
	gw.Done = append(gw.Done, d)
}

// newReading begins a reading for a flow. Its name leads the responses to this machine.
//
// A new name for each attempt: a late response, or notice, of the last attempt must not be taken for one of this.
func (gw *Gateway) newReading(f Reader, plan env.Plan) *readreq.Reading {
	r := readreq.New(gw.Env, plan, f.Base().Ref.TxnID.Affinity())
	r.User = f.Base().How.User
	gw.Readers[r.Name] = f
	return r
}

// endReading deregisters a reading, if there is one.
func (gw *Gateway) endReading(r *readreq.Reading) {
	if r != nil && !r.Ended {
		// From now on responses to this reading find no flow. A flow that reads again does so under a new
		// name: its shards cannot mistake the new registration for the old one.
		delete(gw.Readers, r.Name)
		r.End(gw.Env)
	}
}

// tickReading retries requests and renews leases. If a lease has expired, the attempt aborts.
func (gw *Gateway) tickReading(c *Call, r *readreq.Reading) Outcome {
	r.Tick(gw.Env, c.LastRequestRetry())
	return gw.tickLeases(r)
}

// tickLeases renews leases. An expired lease is never revived: the shard may have decided an update
// that the registration was to hold.
func (gw *Gateway) tickLeases(r *readreq.Reading) Outcome {
	// This machine may have stalled, or a shard has not received renewals. The gateway counts a lease
	// from the sending of its request, and 10 % shorter than the shard does, so it is the first to
	// notice.
	s, lapsed := r.ExpiredLease(gw.Env)
	if lapsed {
		return Aborted(readreq.ExpiredLeaseFailure(s))
	}
	r.TickLeases(gw.Env)
	return Continue
}
