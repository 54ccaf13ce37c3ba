package sim

import (
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// snapshot is one that a client has made, or may have made.
type snapshot struct {
	name   string
	number uint64 // once it is known
	// kept: it is there until dropped.
	kept, dropped bool
}

// pins is how the shards keep states.
func (w *world) pins() shard.PinConfig {
	if w.opt.PinEvery == 0 {
		return shard.PinConfig{}
	}
	hot := w.router.HotShard()
	return shard.PinConfig{Every: w.opt.PinEvery, History: w.opt.History, Hot: hot, Node: w.router.Node(hot)}
}

// snapshots does something with the past.
func (c *client) snapshots() {
	w := c.w
	switch at := w.rng.IntN(10); {
	case at < 2 || len(w.snaps) == 0 && w.opt.History == 0:
		c.keep()
	case at < 3 && len(w.snaps) > 0:
		c.dropOne()
	case at < 4:
		c.list()
	case at < 7:
		c.oneShotAs(true, c.somePast())
	case at < 9:
		c.interactAs(true, c.somePast())
	default:
		c.scanAs(c.somePast())
	}
}

// somePast names a snapshot, or a time of at most a little longer ago than the
// history goes back.
func (c *client) somePast() txn.How {
	w := c.w
	var at txn.At
	switch s := (*snapshot)(nil); {
	case len(w.snaps) == 0, w.opt.History > 0 && w.rng.IntN(2) == 0:
		hot := w.nodes[w.router.Node(w.router.HotShard())-1]
		at.AsOf = hot.wall() - int64(w.upTo(w.opt.History*5/4+time.Millisecond))
	default:
		s = w.snaps[w.rng.IntN(len(w.snaps))]
		at.Number = s.number
		if s.number == 0 || w.rng.IntN(2) == 0 {
			at.Name, at.Number = s.name, 0
		}
	}
	return txn.How{At: at}
}

// keep makes a snapshot.
func (c *client) keep() {
	w, n := c.w, c.anyNode()
	s := &snapshot{name: fmt.Sprintf("s%d", len(w.snaps))}
	w.snaps = append(w.snaps, s)
	ttl := int64(pick(w.rng, 10*time.Millisecond, time.Second, 24*time.Hour, 24*time.Hour))
	id, begun := c.newID(n), w.now
	w.trace("client %d keeps %s at %v", c.n, s.name, n.id)
	w.call(n, func(now int64, tok txn.Token) { n.machine(id).KeepSnapshot(now, tok, id, s.name, ttl, c.deadline(n)) }, func(d txn.Done, lost bool) {
		w.trace("client %d kept %s: %v lost=%v %v", c.n, s.name, d.Pins, lost, d.Failure)
		if !lost && d.Failure == nil {
			s.number = d.Pins[0].Number
			s.kept = ttl > int64(time.Hour) && !w.believesJumps()
			w.sum.Snapshots++
			if at := w.instant(&d.Pins[0]); at < begun || at > w.now {
				w.fail("snapshot %s is of %d, and was made between %d and %d", s.name, at, begun, w.now)
			}
		}
		c.next()
	})
}

func (c *client) dropOne() {
	w, n := c.w, c.anyNode()
	s := w.snaps[w.rng.IntN(len(w.snaps))]
	s.dropped = true
	id := c.newID(n)
	w.trace("client %d drops %s at %v", c.n, s.name, n.id)
	w.call(n, func(now int64, tok txn.Token) {
		n.machine(id).DropSnapshot(now, tok, id, txn.At{Name: s.name}, c.deadline(n))
	},
		func(txn.Done, bool) { c.next() })
}

// list looks at all snapshots: they are in order.
func (c *client) list() {
	w, n := c.w, c.anyNode()
	id := c.newID(n)
	w.call(n, func(now int64, tok txn.Token) { n.machine(id).Snapshots(now, tok, id, c.deadline(n)) }, func(d txn.Done, _ bool) {
		for i := range d.Pins {
			if i > 0 && (d.Pins[i].Number <= d.Pins[i-1].Number || d.Pins[i].Time < d.Pins[i-1].Time) {
				w.fail("snapshots out of order: %v", d.Pins)
			}
		}
		c.next()
	})
}

// fixes takes note of when the hot shard fixes its index.
func (s *shell) fixes(now int64, envs []*msg.Envelope) {
	for _, env := range envs {
		if msg.Is[msg.ReadResponse](env) && msg.As[msg.ReadResponse](env).Fixed == now {
			s.fixed[now] = s.w.now
		}
	}
}

// kept takes note of the instant of a pin.
func (s *shell) kept(number uint64, fixed int64) { s.w.instants[number] = s.fixed[fixed] }

// instant is when a pin's state was the present.
func (w *world) instant(p *msg.Snapshot) int64 {
	at, known := w.instants[p.Number]
	if !known {
		w.fail("nobody has made snapshot %d", p.Number)
	}
	return at
}

// inThePast puts a reader where its pin is, whose instant is exactly known, and
// which must be of the state that it asked for.
func (w *world) inThePast(t *txnRecord, at txn.At, d *txn.Done) {
	if len(d.Pins) == 0 {
		if !at.IsZero() && (t.outcome == committed || t.kind == scan) && len(t.calls) > 0 {
			w.fail("%s asked for %+v, and was not told at which state it read", name(t.ref), at)
		}
		return
	}
	w.sum.PastReads++
	if wrong := wrongState(at, &d.Pins[0]); wrong != "" {
		w.fail("%s read at snapshot %d: %s", name(t.ref), d.Pins[0].Number, wrong)
	}
	t.start = w.instant(&d.Pins[0])
	t.end = t.start
}

// wrongState says why a pin is not what was asked for, "" if it is.
func wrongState(at txn.At, p *msg.Snapshot) string {
	switch {
	case at.Name != "" && p.Name != at.Name:
		return fmt.Sprintf("it is named %q, and was asked for as %q", p.Name, at.Name)
	case at.Number != 0 && p.Number != at.Number:
		return fmt.Sprintf("number %d was asked for", at.Number)
	case at.AsOf != 0 && p.Time > at.AsOf:
		return fmt.Sprintf("it is %v younger than what was asked for", time.Duration(p.Time-at.AsOf))
	}
	return ""
}

// checkKept reads at every snapshot that is to be there, when all is quiet.
func (w *world) checkKept() {
	for _, s := range w.snaps {
		if !s.kept || s.dropped {
			continue
		}
		c := &client{w: w, n: -1, versions: map[string]kv.Version{}, values: map[string][]byte{}}
		n := w.nodes[w.rng.IntN(len(w.nodes))]
		t := c.begin(oneShot, kv.TxnRef{TxnID: c.newID(n)})
		call := &callRecord{ops: []msg.Op{{Kind: msg.OpScan}}}
		t.calls, t.readOnly = []*callRecord{call}, true
		ended := false
		w.call(n, func(now int64, tok txn.Token) {
			n.machine(t.ref.TxnID).Execute(now, tok, t.ref.TxnID, cloneOps(call.ops), int64(1)<<62, txn.How{At: txn.At{Number: s.number}})
		}, func(d txn.Done, lost bool) {
			ended = true
			if lost || d.Failure != nil {
				w.fail("snapshot %s cannot be read at the end: lost=%v %v", s.name, lost, d.Failure)
				return
			}
			call.results, t.outcome = d.Results, committed
			w.inThePast(t, txn.At{Number: s.number}, &d)
		})
		w.run(w.now+int64(time.Minute), func() bool { return ended })
	}
}
