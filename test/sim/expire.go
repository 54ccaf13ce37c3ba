package sim

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Keys that expire. An expiry is a transaction of which no client knows: it begins
// when a shard asks for it, which must not be before the deadline by the shard's
// clock, and may commit or not. Beyond that it is judged as any other is: the model
// knows for each version when it expires, and so whether an expiry that was decided
// had to delete the key.

// dueEvery is how often shards look for what is due, and dueAgain when they ask again.
const (
	dueEvery = 2 * time.Millisecond
	dueAgain = 60 * time.Millisecond
	// mostTTL is the longest time to live, in milliseconds.
	mostTTL = 40
)

// expiringOp has a key expire, or not do so any more.
func (c *client) expiringOp() msg.Op {
	expiry := -1 - int64(c.w.rng.IntN(mostTTL))
	switch c.w.rng.IntN(8) {
	case 0:
		return msg.Op{Kind: msg.OpExpire, Key: c.anyKey()}
	case 1, 2, 3:
		return msg.Op{Kind: msg.OpExpire, Key: c.anyKey(), Expiry: expiry}
	}
	return msg.Op{Kind: msg.OpPut, Key: c.register(), Value: c.value(), Expiry: expiry}
}

// expire executes one of them on the model, or a deletion. What a key's deadline is
// comes with the version that becomes visible; here it is only whether there is one.
func (t *trial) expire(op *msg.Op, res *msg.Result) error {
	key := string(op.Key)
	c, mine := t.get(key)
	if op.Kind == msg.OpDeleteExpired {
		if c.exists && c.expires == op.Expiry {
			t.own[key] = own{}
		}
		return nil
	}
	if err := t.foundAs(c, op, res); err != nil || !c.exists || op.Expiry == 0 && c.expires == 0 {
		return err
	}
	o := own{cell: c}
	if mine {
		o = t.own[key]
	}
	o.version = kv.Version{} // a new one, of which nobody knows yet
	o.expires = 0
	if op.Expiry != 0 {
		o.expires = someTime
	}
	t.own[key] = o
	return nil
}

// someTime is the deadline of what is not visible yet.
const someTime = math.MaxInt64

// noteArrival notes when a shard first received a piece that may set a deadline.
func (s *shell) noteArrival(env *msg.Envelope) {
	var txn kv.TxnRef
	switch b := env.Body.(type) {
	case *msg.CommitRequest:
		txn = b.Txn
	case *msg.Prepare:
		txn = b.Txn
	default:
		return
	}
	if _, ok := s.w.arrived[txn.TxnID]; !ok {
		s.w.arrived[txn.TxnID] = s.w.now
	}
}

// noteDeadline notes before when a key may not be deleted that has been given a time to live.
func (s *shell) noteDeadline(txn kv.TxnRef, e *entry.Effect, v *entry.Value) {
	arrived, ok := s.w.arrived[txn.TxnID]
	if e.Ttl == 0 || v.Expires == 0 || !ok {
		return
	}
	row := string(entry.DeadlineKey(v.Expires, e.Key))
	s.w.lives[row] = arrived + int64(float64(e.Ttl*int64(time.Millisecond))/fastest)
}

// checkDue fails if a key is deleted before it has lived for as long as it was to, whatever the
// times of day of nodes have shown since. Where outcomes are kept for less than the run lasts, clocks
// that are wrong, or of another node, may be believed, and nothing is checked.
func (s *shell) checkDue(k *msg.ExpireKey) {
	lives, ok := s.w.lives[string(entry.DeadlineKey(k.Expires, k.Key))]
	if !ok || s.w.opt.Retention > 0 {
		return
	}
	if s.w.now < lives {
		s.w.fail("%v wants %q to expire %v before its time", s.id, k.Key, time.Duration(lives-s.w.now))
	}
}

// asksDue takes note of the deletions that a shard asks for.
func (s *shell) asksDue(envs []*msg.Envelope) {
	for _, env := range envs {
		if !msg.Is[msg.Due](env) || msg.As[msg.Due](env).ExpireKey == nil {
			continue
		}
		k := msg.As[msg.Due](env).ExpireKey
		s.checkDue(k)
		s.w.sum.Due++
		s.w.expiries[k.Txn.TxnID] = &expiry{s.w.now, msg.Op{Kind: msg.OpDeleteExpired, Key: k.Key, Expiry: k.Expires}}
	}
}

// expiry is a deletion that a shard has asked for at a time.
type expiry struct {
	at int64
	op msg.Op
}

// expiryLife is where an expiry is decided.
type expiryLife struct {
	id    kv.TxnID
	shard kv.ShardID
	life  kv.Incarnation
}

// expiring gives an expiry that a shard decides a name of its own, and a record. The
// message that asks for one can come twice, to two lives of the gateway: then there are
// two, in two lives of the shard or, if the key has moved, on two. Nobody asks
// what became of either.
func (s *shell) expiring(txn kv.TxnRef) kv.TxnRef {
	x := s.w.expiries[txn.TxnID]
	if x == nil {
		return txn
	}
	at := expiryLife{txn.TxnID, s.id, s.m.Incarnation()}
	t := s.w.decidedDue[at]
	if t == nil {
		n := len(s.w.decidedDue)
		txn.Rand = 1<<61 | uint64(n)
		t = &txnRecord{ref: txn, kind: oneShot, client: math.MaxInt32 - n, start: x.at, end: math.MaxInt64, outcome: unknown,
			calls: []*callRecord{{ops: []msg.Op{x.op}}}}
		s.w.decidedDue[at] = t
		s.w.log.enter(t)
	}
	return t.ref
}

// checkDeadlines: each key that expires has the row by which that is found, where it
// lives, and there are no others.
func (w *world) checkDeadlines(keys []string) {
	want := map[kv.ShardID][]string{}
	for _, key := range keys {
		s := w.whereStored(key)
		if v, err := s.stored(key); err == nil && v.Expires != 0 {
			want[s.id] = append(want[s.id], string(entry.DeadlineKey(v.Expires, []byte(key))))
		}
	}
	for _, s := range w.shards {
		res := s.disk.store.Read(s.id, entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline, Span: kv.Range(nil, nil)})
		if res.Err != nil {
			w.fail("%v: the deadlines cannot be read: %v", s.id, res.Err)
		}
		rows := want[s.id]
		slices.Sort(rows)
		same := slices.EqualFunc(rows, res.Rows, func(row string, r entry.Row) bool { return bytes.Equal([]byte(row), r.Key) })
		if !same {
			w.fail("%v has %d rows of deadlines, and %d keys that expire, or not the same: %q, %v", s.id, len(res.Rows), len(rows), rows, res.Rows)
		}
	}
}
