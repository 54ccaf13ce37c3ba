package past

// The hot shard's registry of snapshots (package pins): it keeps, finds and drops them for gateways,
// and reports to shards what is kept.

import (
	"encoding/binary"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/pins"
)

// Observe has the registry see the time of day; contradicted: something shows that it is wrong.
func (x *Snapshots) Observe(contradicted bool) {
	if x.registry == nil {
		return
	}
	for _, p := range x.registry.Observe(x.Now, x.Wall, contradicted) {
		x.Put(entry.TablePin, rowKey(p.Number), p)
	}
}

// onAsk answers if there is news, and notes that there are writes.
func (x *Snapshots) onAsk(q *msg.SnapshotListRequest) {
	if x.registry == nil {
		return
	}
	if q.Index > x.registry.Floor(q.Shard) {
		x.due = true
	}
	if q.Incarnation == x.Inc && q.Change == x.registry.Change() {
		return
	}
	m := msg.ToShard(q.Shard)
	m.Body = x.registry.Tell(q.Shard, q.Asker, x.Inc)
	x.Send(m)
}

// onKeep keeps a state, if this incarnation of the shard has been part of it: then it is not older than
// any that was kept before.
func (x *Snapshots) onKeep(q *msg.RetainSnapshot) {
	r := &msg.SnapshotResponse{Request: q.Request}
	if x.registry == nil {
		r.Failure = switchedOff()
		x.reply(q.Gateway, r)
		return
	}
	made := x.registry.Made(q.Request, q.Name)
	switch {
	case made != nil:
		r.Pins = []msg.Snapshot{*made}
	case q.Incarnation != x.Inc:
		r.Failure = msg.Fail(msg.ReasonIncarnation, kv.KindAborted, "the hot shard has restarted since it took the snapshot")
	case x.registry.Late(x.Now, request(q)):
		r.Failure = msg.Fail(msg.ReasonRequest, kv.KindTooOld, "the snapshot does not exist: it has expired or was dropped")
	default:
		x.keep(q, r)
	}
	x.reply(q.Gateway, r)
}

func request(q *msg.RetainSnapshot) pins.Request {
	return pins.Request{Origin: q.Request, Clock: q.Clock, Fixed: q.Fixed, Name: q.Name, TTL: time.Duration(q.TtlNanos)}
}

func (x *Snapshots) keep(q *msg.RetainSnapshot, r *msg.SnapshotResponse) {
	p, fresh, err := x.registry.Keep(x.Now, request(q), x.store.NextWrite)
	if err != nil {
		r.Failure = msg.FailureOf(err)
	}
	if fresh {
		if x.Trace.Kept != nil {
			x.Trace.Kept(p.Number, x.registry.Fixed(p.Number))
		}
		x.Put(entry.TablePin, rowKey(p.Number), p)
	}
	if p != nil {
		r.Pins = []msg.Snapshot{*p}
	}
	x.changed()
}

func switchedOff() *msg.Failure {
	return msg.Fail(msg.ReasonRequest, kv.KindInvalid, "snapshots are off on this server")
}

func (x *Snapshots) reply(to kv.NodeID, r *msg.SnapshotResponse) {
	m := msg.ToGateway(to)
	m.Body = r
	x.Send(m)
}

func rowKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func (x *Snapshots) onFind(q *msg.FindSnapshot) {
	r := &msg.SnapshotResponse{Request: q.Request}
	switch {
	case x.registry == nil:
		r.Failure = switchedOff()
	case q.List:
		r.Pins = x.registry.List(x.Now)
	default:
		p, err := x.find(q)
		if err != nil {
			r.Failure = msg.FailureOf(err)
		} else {
			r.Pins = []msg.Snapshot{*p}
		}
	}
	x.reply(q.Gateway, r)
}

func (x *Snapshots) find(q *msg.FindSnapshot) (*msg.Snapshot, *kv.Error) {
	switch {
	case q.Name != "":
		return x.registry.Named(x.Now, q.Name)
	case q.Number != 0:
		return x.registry.Numbered(x.Now, q.Number)
	}
	return x.registry.AsOf(x.Now, q.AsOf)
}

// onDrop gives a snapshot up. To do so twice is the same.
func (x *Snapshots) onDrop(q *msg.DropSnapshot) {
	r := &msg.SnapshotResponse{Request: q.Request}
	if x.registry == nil {
		r.Failure = switchedOff()
	} else if x.registry.Drop(x.Now, q.Number) {
		x.Delete(entry.TablePin, rowKey(q.Number))
		x.changed()
	}
	x.reply(q.Gateway, r)
}

// expire gives up the snapshots whose time is over.
func (x *Snapshots) expire() {
	gone := x.registry.Expire(x.Now)
	for _, n := range gone {
		x.Delete(entry.TablePin, rowKey(n))
	}
	if len(gone) > 0 {
		x.changed()
	}
}

// Expecting reports whether snapshots may expire.
func (x *Snapshots) Expecting() bool {
	if x.registry == nil {
		return false
	}
	all, named := x.registry.Len()
	return named > 0 || all > 1
}

// Len is how many snapshots are kept here, how many of them have a name, and for how long by now the
// oldest has been past.
func (x *Snapshots) Len(now int64) (all, named int, age time.Duration) {
	if x.registry == nil {
		return 0, 0, 0
	}
	all, named = x.registry.Len()
	return all, named, x.registry.Age(now)
}
