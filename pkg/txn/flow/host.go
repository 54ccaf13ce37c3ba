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
type Host struct {
	*env.Env
	Shards *shards.Shards
	Places *places.Places
	Heat   *heat.Heat
	Rounds *round.Rounds
	Door   *Door
	// Readers finds the flows that read without locks by the names of their readings, Pages the
	// scans that wait for a page by the request's number.
	Readers map[kv.TxnRef]Reader
	Pages   map[uint64]*Scan
	page    uint64
	Shared  Shared
	// Done are the requests that have been answered since the last Flush.
	Done []Done
	// LeftOut are the shards that did not answer a round of this machine in time, since the
	// last Flush.
	LeftOut []kv.ShardID
	// missed is the shard on which a view could not read because it has no part in its state.
	missed map[kv.TxnID]kv.ShardID
	// refusedUntil is until when views read at a fixed state from the start.
	refusedUntil int64
}

// NewHost makes the host of a machine without flows. under lists what is under way.
func NewHost(e *env.Env, under func(yield func(Flow))) *Host {
	s := shards.New(e)
	h := &Host{
		Env:     e,
		Shards:  s,
		Places:  places.New(e),
		Heat:    heat.New(e),
		Rounds:  round.New(e, s),
		Readers: map[kv.TxnRef]Reader{},
		Pages:   map[uint64]*Scan{},
		missed:  map[kv.TxnID]kv.ShardID{},
	}
	h.Door = newDoor(h, under)
	return h
}

// LeaveOut notes that a shard did not answer a round in time.
func (h *Host) LeaveOut(s kv.ShardID) {
	if h.Shards.LeaveOut(h.Now, s) {
		h.LeftOut = append(h.LeftOut, s)
	}
}

// place is the shard on which a call looks for a key.
func (h *Host) place(c *Call, key []byte) kv.ShardID { return h.Places.Of(&c.redirects, key) }

// Answer reports the end of a request of a client, once.
func (h *Host) Answer(c *Call, d Done) {
	d.Receipt = c.waited(h.Now, d.Failure)
	h.report(c, d)
}

func (h *Host) report(c *Call, d Done) {
	if c.Token == nil {
		return
	}
	d.Token, d.Txn = c.Token, c.Ref
	d.Attempts, d.Aborts, d.Ended = c.Ref.Attempt-c.Losses.Redirects, c.Losses.Aborts, c.Losses.Ended
	c.Token = nil
	h.Done = append(h.Done, d)
}

// newReading begins a reading for a flow, to which its answers find their way.
func (h *Host) newReading(f Reader, plan env.Plan) *readreq.Reading {
	r := readreq.New(h.Env, plan, f.Base().Ref.TxnID.Affinity())
	r.User = f.Base().How.User
	h.Readers[r.Name] = f
	return r
}

// endReading ends a reading, if there is one.
func (h *Host) endReading(r *readreq.Reading) {
	if r != nil && !r.Ended {
		delete(h.Readers, r.Name)
		r.End(h.Env)
	}
}

// tickReading sends again what has no answer, and renews leases. A lease that has lapsed ends the
// attempt.
func (h *Host) tickReading(c *Call, r *readreq.Reading) Outcome {
	r.Tick(h.Env, c.LastAsk())
	return h.tickLeases(r)
}

func (h *Host) tickLeases(r *readreq.Reading) Outcome {
	s, lapsed := r.Lapsed(h.Env)
	if lapsed {
		return Aborted(readreq.Lapse(s))
	}
	r.TickLeases(h.Env)
	return GoesOn
}
