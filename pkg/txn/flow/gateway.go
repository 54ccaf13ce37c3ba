package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/heat"
	"github.com/linchpindb/linchpin/pkg/txn/places"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
)

// Host is what all flows of a machine share: the environment, what is known of the cluster, and
// the requests of clients that have been answered.
type Gateway struct {
	*env.Env
	Shards *shards.Shards
	Places *places.Places
	Heat   *heat.Heat
	Rounds *round.Rounds
	Admitter   *Admitter
	// Readers finds the flows that read without locks by the names of their readings, Pages the
	// scans that wait for a page by the request's number.
	Readers map[kv.TxnRef]Reader
	Pages   map[uint64]*Scan
	pageNumber    uint64
	SharedReads  SharedReads
	// Done are the requests that have been answered since the last Flush.
	Done []Done
	// LeftOut are the shards that did not answer a round of this machine in time, since the
	// last Flush.
	LeftOut []kv.ShardID
	// missed is the shard on which a view could not read because it has no part in its state.
	missedShards map[kv.TxnID]kv.ShardID
	// refusedUntil is until when views read at a fixed state from the start.
	viewsAtSnapshotUntil int64
}

// NewHost makes the host of a machine without flows. under lists what is under way.
func NewGateway(e *env.Env, under func(yield func(Flow))) *Gateway {
	s := shards.New(e)
	gw := &Gateway{
		Env:     e,
		Shards:  s,
		Places:  places.New(e),
		Heat:    heat.New(e),
		Rounds:  round.New(e, s),
		Readers: map[kv.TxnRef]Reader{},
		Pages:   map[uint64]*Scan{},
		missedShards:  map[kv.TxnID]kv.ShardID{},
	}
	gw.Admitter = newAdmitter(gw, under)
	return gw
}

// LeaveOut notes that a shard did not answer a round in time.
func (gw *Gateway) LeaveOut(s kv.ShardID) {
	if gw.Shards.LeaveOut(gw.Now, s) {
		gw.LeftOut = append(gw.LeftOut, s)
	}
}

// place is the shard on which a call looks for a key.
func (gw *Gateway) shardOf(c *Call, key []byte) kv.ShardID { return gw.Places.Of(&c.redirects, key) }

// Answer reports the end of a request of a client, once.
func (gw *Gateway) Respond(c *Call, d Done) {
	d.Receipt = c.finalReceipt(gw.Now, d.Failure)
	gw.enqueueDone(c, d)
}

func (gw *Gateway) enqueueDone(c *Call, d Done) {
	if c.Token == nil {
		return
	}
	d.Token, d.Txn = c.Token, c.Ref
	d.Attempts, d.Aborts, d.Ended = c.Ref.Attempt-c.Earlier.Redirects, c.Earlier.Aborts, c.Earlier.Ended
	c.Token = nil
	gw.Done = append(gw.Done, d)
}

// newReading begins a reading for a flow, to which its answers find their way.
func (gw *Gateway) newReading(f Reader, plan env.Plan) *readreq.Reading {
	r := readreq.New(gw.Env, plan, f.Base().Ref.TxnID.Affinity())
	r.User = f.Base().How.User
	gw.Readers[r.Name] = f
	return r
}

// endReading ends a reading, if there is one.
func (gw *Gateway) endReading(r *readreq.Reading) {
	if r != nil && !r.Ended {
		delete(gw.Readers, r.Name)
		r.End(gw.Env)
	}
}

// tickReading sends again what has no answer, and renews leases. A lease that has lapsed ends the
// attempt.
func (gw *Gateway) tickReading(c *Call, r *readreq.Reading) Outcome {
	r.Tick(gw.Env, c.LastRequestRetry())
	return gw.tickLeases(r)
}

func (gw *Gateway) tickLeases(r *readreq.Reading) Outcome {
	s, lapsed := r.Lapsed(gw.Env)
	if lapsed {
		return Aborted(readreq.Lapse(s))
	}
	r.TickLeases(gw.Env)
	return Continue
}
