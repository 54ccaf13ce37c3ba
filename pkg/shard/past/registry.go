package past

// This file has the registry of snapshots on the hot shard (package snapshot): it retains, finds and drops
// snapshots for gateways, and reports the retained ones to shards.

import (
	"encoding/binary"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/snapshot"
)

// Observe passes the time of day to the registry. contradicted: other evidence shows that it is wrong.
//
// When a step of the clock is adopted, or the time of day becomes certain, the rows that have times of day are
// written again.
func (x *Snapshots) Observe(contradicted bool) {
	if x.registry == nil {
		return
	}
	for _, p := range x.registry.Observe(x.Now, x.Wall, contradicted) {
		x.Put(entry.TableSnapshot, rowKey(p.Number), p)
	}
}

// onListRequest sends the list of snapshots if it has changed, and records that the shard has written.
//
// The list has the CSN of each snapshot on that shard only, and is complete: a lost list is repaired by the next one.
// A shard that has the newest list gets no response.
func (x *Snapshots) onListRequest(q *msg.SnapshotListRequest) {
	if x.registry == nil {
		return
	}
	// The shard has written since the newest snapshot: another one lets it collect the versions in between.
	if q.CSN > x.registry.SafePoint(q.Shard) {
		x.snapshotDue = true
	}
	// The shard has the newest list.
	if q.Incarnation == x.Inc && q.Change == x.registry.ChangeCount() {
		return
	}
	m := msg.ToShard(q.Shard)
	m.Body = x.registry.ListFor(q.Shard, q.RequesterIncarnation, x.Inc)
	x.Send(m)
}

// onRetainSnapshot retains a snapshot whose hot-shard CSN was fixed in this incarnation: such a snapshot is
// not older than any that was retained before. One of an earlier incarnation may be older, and is rejected.
//
//	request            the registry
//	first copy         retains the snapshot; if a newer one is retained already, that one is returned instead
//	a retry            returns the same snapshot, by the id of the request in its row
//	after its end      is late: the row is gone, and a copy must not retain it again
//	earlier restart    is rejected
func (x *Snapshots) onRetainSnapshot(q *msg.RetainSnapshot) {
	r := &msg.SnapshotResponse{Request: q.Request}
	if x.registry == nil {
		r.Failure = snapshotsOff()
		x.reply(q.Gateway, r)
		return
	}
	// A retry gets the snapshot of its first copy, also after a restart: the row names the request.
	made := x.registry.FindRequest(q.Request, q.Name)
	switch {
	case made != nil:
		r.Snapshots = []msg.Snapshot{*made}
	// The safe point of the former incarnation may have been higher than that of its newest row, and shards may
	// have collected by it.
	case q.Incarnation != x.Inc:
		r.Failure = msg.Fail(msg.ReasonIncarnation, kv.KindAborted, "the hot shard has restarted since it took the snapshot")
	case x.registry.IsLate(x.Now, retainRequest(q)):
		// The snapshot was retained and dropped, and this is a delayed copy of the request.
		r.Failure = msg.Fail(msg.ReasonRequest, kv.KindTooOld, "the snapshot does not exist: it has expired or was dropped")
	default:
		x.retain(q, r)
	}
	x.reply(q.Gateway, r)
}

// retainRequest is the registry's form of a message.
func retainRequest(q *msg.RetainSnapshot) snapshot.Request {
	return snapshot.Request{Origin: q.Request, Clock: q.Clock, Fixed: q.Fixed, Name: q.Name,
		TTL: time.Duration(q.TtlNanos)}
}

// retain adds a snapshot to the registry and writes its row.
//
// HAZARD: the number comes from the write numbers of the shard, which a restart does not repeat. It must never be
// reused: a client may still refer to a dropped snapshot by it.
func (x *Snapshots) retain(q *msg.RetainSnapshot, r *msg.SnapshotResponse) {
	p, fresh, err := x.registry.Retain(x.Now, retainRequest(q), x.store.NextWrite)
	if err != nil {
		r.Failure = msg.FailureOf(err)
	}
	if fresh {
		if x.Trace.SnapshotRetained != nil {
			x.Trace.SnapshotRetained(p.Number, x.registry.Fixed(p.Number))
		}
		x.Put(entry.TableSnapshot, rowKey(p.Number), p)
	}
	if p != nil {
		r.Snapshots = []msg.Snapshot{*p}
	}
	x.applyOwnList()
}

// snapshotsOff is the failure of all requests if snapshots are switched off.
func snapshotsOff() *msg.Failure {
	return msg.Fail(msg.ReasonRequest, kv.KindInvalid, "snapshots are off on this server")
}

// reply sends a response when the row of the snapshot is durable.
//
// A client that has received a snapshot must find it after a crash.
func (x *Snapshots) reply(to kv.NodeID, r *msg.SnapshotResponse) {
	m := msg.ToGateway(to)
	m.Body = r
	x.Send(m)
}

// rowKey is the key of a snapshot's row; rows are ordered by number.
func rowKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// onFindSnapshot looks a snapshot up, or lists the named ones.
//
// The response leaves when the log is durable: what is found may have been retained in this step.
func (x *Snapshots) onFindSnapshot(q *msg.FindSnapshot) {
	r := &msg.SnapshotResponse{Request: q.Request}
	switch {
	case x.registry == nil:
		r.Failure = snapshotsOff()
	case q.List:
		r.Snapshots = x.registry.List(x.Now)
	default:
		p, err := x.find(q)
		if err != nil {
			r.Failure = msg.FailureOf(err)
		} else {
			r.Snapshots = []msg.Snapshot{*p}
		}
	}
	x.reply(q.Gateway, r)
}

// find looks a snapshot up by name, number or time.
func (x *Snapshots) find(q *msg.FindSnapshot) (*msg.Snapshot, *kv.Error) {
	switch {
	case q.Name != "":
		return x.registry.FindName(x.Now, q.Name)
	case q.Number != 0:
		return x.registry.FindNumber(x.Now, q.Number)
	}
	return x.registry.AsOf(x.Now, q.AsOf)
}

// onDropSnapshot drops a snapshot. It is idempotent.
//
// The row is deleted in this step; other shards collect when they have the next list.
func (x *Snapshots) onDropSnapshot(q *msg.DropSnapshot) {
	r := &msg.SnapshotResponse{Request: q.Request}
	if x.registry == nil {
		r.Failure = snapshotsOff()
	} else if x.registry.Drop(x.Now, q.Number) {
		x.Delete(entry.TableSnapshot, rowKey(q.Number))
		x.applyOwnList()
	}
	x.reply(q.Gateway, r)
}

// expireSnapshots removes the snapshots that have expired.
//
// Shards learn of it by the next list that they request. Until then they retain more than necessary.
func (x *Snapshots) expireSnapshots() {
	gone := x.registry.Expire(x.Now)
	for _, n := range gone {
		x.Delete(entry.TableSnapshot, rowKey(n))
	}
	if len(gone) > 0 {
		x.applyOwnList()
	}
}

// CanExpire reports whether snapshots may expire.
//
// The newest snapshot of the history stays, however old it is: it is the safe point.
func (x *Snapshots) CanExpire() bool {
	if x.registry == nil {
		return false
	}
	all, named := x.registry.Len()
	return named > 0 || all > 1
}

// Len is the number of retained snapshots, the number of named ones, and the age of the oldest.
func (x *Snapshots) Len(now int64) (all, named int, age time.Duration) {
	if x.registry == nil {
		return 0, 0, 0
	}
	all, named = x.registry.Len()
	return all, named, x.registry.Age(now)
}
