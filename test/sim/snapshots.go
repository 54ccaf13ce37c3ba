package sim

import (
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// snapshot is one that a client has created, or may have created.
type snapshot struct {
	name   string
	number uint64 // 0 until it is known
	// mustExist: it must exist until it is dropped.
	mustExist, dropped bool
}

// snapshotConfig configures how the shards retain snapshots.
func (w *sim) snapshotConfig() shard.SnapshotConfig {
	if w.opt.SnapshotEvery == 0 {
		return shard.SnapshotConfig{}
	}
	hot := w.Router.HotShard()
	return shard.SnapshotConfig{Every: w.opt.SnapshotEvery, History: w.opt.History, Hot: hot, Node: w.Router.Node(hot)}
}

// snapshotCall creates, drops, lists or reads a snapshot.
func (c *client) snapshotCall() {
	w := c.w
	switch at := w.Rng.IntN(10); {
	case at < 2 || len(w.snapshots) == 0 && w.opt.History == 0:
		c.createSnapshot()
	case at < 3 && len(w.snapshots) > 0:
		c.dropSnapshot()
	case at < 4:
		c.listSnapshots()
	case at < 7:
		c.oneShotAs(true, c.drawSnapshot())
	case at < 9:
		c.interactAs(true, c.drawSnapshot())
	default:
		c.scanAs(c.drawSnapshot())
	}
}

// drawSnapshot draws a snapshot to read, or a time, which may be slightly before the history.
func (c *client) drawSnapshot() txn.TxnOptions {
	w := c.w
	var at txn.SnapshotRef
	switch s := (*snapshot)(nil); {
	case len(w.snapshots) == 0, w.opt.History > 0 && w.Rng.IntN(2) == 0:
		hot := w.nodes[w.Router.Node(w.Router.HotShard())-1]
		at.AsOf = hot.TrueWall() - int64(w.UpTo(w.opt.History*5/4+time.Millisecond))
	default:
		s = w.snapshots[w.Rng.IntN(len(w.snapshots))]
		at.Number = s.number
		if s.number == 0 || w.Rng.IntN(2) == 0 {
			at.Name, at.Number = s.name, 0
		}
	}
	return txn.TxnOptions{At: at}
}

// createSnapshot creates a snapshot.
func (c *client) createSnapshot() {
	w, n := c.w, c.anyNode()
	s := &snapshot{name: fmt.Sprintf("s%d", len(w.snapshots))}
	w.snapshots = append(w.snapshots, s)
	ttl := int64(pick(w.Rng, 10*time.Millisecond, time.Second, 24*time.Hour, 24*time.Hour))
	id, begun := c.newID(n), w.Now()
	w.Trace("client %d creates snapshot %s at %v", c.n, s.name, n.ID)
	w.call(n, func(now int64, tok txn.CallHandle) {
		n.Machine(id).RetainSnapshot(now, tok, id, s.name, ttl, c.deadline(n))
	},
		func(d txn.Done, lost bool) {
			w.Trace("client %d created snapshot %s: %v lost=%v %v", c.n, s.name, d.Snapshots, lost, d.Failure)
			if !lost && d.Failure == nil {
				s.number = d.Snapshots[0].Number
				s.mustExist = ttl > int64(time.Hour) && !w.canAdoptJumps()
				w.sum.Snapshots++
				if at := w.instant(&d.Snapshots[0]); at < begun || at > w.Now() {
					w.Fail("snapshot %s is of instant %d, but was created between %d and %d", s.name, at, begun, w.Now())
				}
			}
			c.next()
		})
}

func (c *client) dropSnapshot() {
	w, n := c.w, c.anyNode()
	s := w.snapshots[w.Rng.IntN(len(w.snapshots))]
	s.dropped = true
	id := c.newID(n)
	w.Trace("client %d drops %s at %v", c.n, s.name, n.ID)
	w.call(n, func(now int64, tok txn.CallHandle) {
		n.Machine(id).DropSnapshot(now, tok, id, txn.SnapshotRef{Name: s.name}, c.deadline(n))
	},
		func(txn.Done, bool) { c.next() })
}

// listSnapshots lists all snapshots, and checks their order.
func (c *client) listSnapshots() {
	w, n := c.w, c.anyNode()
	id := c.newID(n)
	w.call(n, func(now int64, tok txn.CallHandle) { n.Machine(id).Snapshots(now, tok, id, c.deadline(n)) },
		func(d txn.Done, _ bool) {
			for i := range d.Snapshots {
				if i > 0 && (d.Snapshots[i].Number <= d.Snapshots[i-1].Number || d.Snapshots[i].Time < d.Snapshots[i-1].Time) {
					w.Fail("snapshots out of order: %v", d.Snapshots)
				}
			}
			c.next()
		})
}

// recordFixing records when the hot shard fixes its CSN.
func (s *shell) recordFixing(now int64, envs []*msg.Envelope) {
	for _, env := range envs {
		if msg.Is[msg.ReadResponse](env) && msg.As[msg.ReadResponse](env).Fixed == now {
			s.fixed[now] = s.w.Now()
		}
	}
}

// onRetained records the instant of a snapshot.
func (s *shell) onRetained(number uint64, fixed int64) { s.w.instants[number] = s.fixed[fixed] }

// instant returns the instant at which a snapshot was the present state.
func (w *sim) instant(p *msg.Snapshot) int64 {
	at, known := w.instants[p.Number]
	if !known {
		w.Fail("snapshot %d was never created", p.Number)
	}
	return at
}

// placeAtSnapshot sets the lifetime of a reader to the instant of its snapshot, which is known exactly. The snapshot
// must be the requested one.
func (w *sim) placeAtSnapshot(t *txnRecord, at txn.SnapshotRef, d *txn.Done) {
	if len(d.Snapshots) == 0 {
		if !at.IsZero() && (t.outcome == committed || t.kind == scan) && len(t.calls) > 0 {
			w.Fail("%s requested %+v, but its response names no snapshot", name(t.ref), at)
		}
		return
	}
	w.sum.PastReads++
	if wrong := snapshotMismatch(at, &d.Snapshots[0]); wrong != "" {
		w.Fail("%s read at snapshot %d: %s", name(t.ref), d.Snapshots[0].Number, wrong)
	}
	t.start = w.instant(&d.Snapshots[0])
	t.end = t.start
}

// snapshotMismatch describes how a snapshot differs from the requested one, "" if it does not.
func snapshotMismatch(at txn.SnapshotRef, p *msg.Snapshot) string {
	switch {
	case at.Name != "" && p.Name != at.Name:
		return fmt.Sprintf("its name is %q, the requested one is %q", p.Name, at.Name)
	case at.Number != 0 && p.Number != at.Number:
		return fmt.Sprintf("number %d was requested", at.Number)
	case at.AsOf != 0 && p.Time > at.AsOf:
		return fmt.Sprintf("it is %v younger than the requested time", time.Duration(p.Time-at.AsOf))
	}
	return ""
}

// checkRetained reads at every snapshot that must exist, when the cluster is idle.
func (w *sim) checkRetained() {
	for _, s := range w.snapshots {
		if !s.mustExist || s.dropped {
			continue
		}
		c := &client{w: w, n: -1, versions: map[string]kv.Version{}, values: map[string][]byte{}}
		n := w.nodes[w.Rng.IntN(len(w.nodes))]
		t := c.begin(oneShot, kv.TxnRef{TxnID: c.newID(n)})
		call := &callRecord{ops: []msg.Op{{Kind: msg.OpScan}}}
		t.calls, t.readOnly = []*callRecord{call}, true
		ended := false
		w.call(n, func(now int64, tok txn.CallHandle) {
			n.Machine(t.ref.TxnID).Execute(now, tok, t.ref.TxnID, cloneOps(call.ops), int64(1)<<62,
				txn.TxnOptions{At: txn.SnapshotRef{Number: s.number}})
		}, func(d txn.Done, lost bool) {
			ended = true
			if lost || d.Failure != nil {
				w.Fail("snapshot %s cannot be read at the end: lost=%v %v", s.name, lost, d.Failure)
				return
			}
			call.results, t.outcome = d.Results, committed
			w.placeAtSnapshot(t, txn.SnapshotRef{Number: s.number}, &d)
		})
		w.Run(w.Now()+int64(time.Minute), func() bool { return ended })
	}
}
