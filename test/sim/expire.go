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

// Keys that expire. An expiry is a transaction without a client. It begins when a shard requests it, which must not be
// before the deadline by the shard's clock, and it may commit or not. It is checked like any other transaction: the
// model knows the deadline of each version, so it knows whether a decided expiry has to delete the key.

// dueEvery is how often shards look for expired keys, and dueRetry after what time they request an expiry again.
const (
	dueEvery = 2 * time.Millisecond
	dueRetry = 60 * time.Millisecond
	// maxTTL is the longest time to live, in milliseconds.
	maxTTL = 40
)

// expiringOp draws an operation that sets or removes a deadline.
func (c *client) expiringOp() msg.Op {
	expiry := -1 - int64(c.w.rng.IntN(maxTTL))
	switch c.w.rng.IntN(8) {
	case 0:
		return msg.Op{Kind: msg.OpExpire, Key: c.anyKey()}
	case 1, 2, 3:
		return msg.Op{Kind: msg.OpExpire, Key: c.anyKey(), Expiry: expiry}
	}
	return msg.Op{Kind: msg.OpPut, Key: c.register(), Value: c.value(), Expiry: expiry}
}

// expire executes an expiry operation in the model, or a deletion by an expiry. The deadline itself is known only when
// the version becomes visible; until then it is unknownDeadline.
func (t *trial) expire(op *msg.Op, res *msg.Result) error {
	key := string(op.Key)
	c, mine := t.get(key)
	if op.Kind == msg.OpDeleteExpired {
		if c.exists && c.expires == op.Expiry {
			t.own[key] = own{}
		}
		return nil
	}
	if err := t.compareFound(c, op, res); err != nil || !c.exists || op.Expiry == 0 && c.expires == 0 {
		return err
	}
	o := own{cell: c}
	if mine {
		o = t.own[key]
	}
	o.version = kv.Version{} // a new version, not known yet
	o.expires = 0
	if op.Expiry != 0 {
		o.expires = unknownDeadline
	}
	t.own[key] = o
	return nil
}

// unknownDeadline is the deadline of a version that is not visible yet.
const unknownDeadline = math.MaxInt64

// recordArrival records when the first shard received a piece of a transaction that may set a deadline.
func (s *shell) recordArrival(env *msg.Envelope) {
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

// recordDeadline records the earliest instant at which a key with a new deadline may be deleted.
func (s *shell) recordDeadline(txn kv.TxnRef, e *entry.Effect, v *entry.Value) {
	arrived, ok := s.w.arrived[txn.TxnID]
	if e.Ttl == 0 || v.Expires == 0 || !ok {
		return
	}
	row := string(entry.DeadlineKey(v.Expires, e.Key))
	s.w.deleteNotBefore[row] = arrived + int64(float64(e.Ttl*int64(time.Millisecond))/fastest)
}

// checkDue fails if a shard requests an expiry too early, whatever the nodes' times of day have been since. If outcomes
// are retained for less than the run takes, nodes may adopt wrong clocks, and nothing is checked.
func (s *shell) checkDue(k *msg.ExpireKey) {
	earliest, ok := s.w.deleteNotBefore[string(entry.DeadlineKey(k.Expires, k.Key))]
	if !ok || s.w.opt.Retention > 0 {
		return
	}
	if s.w.now < earliest {
		s.w.fail("%v requests the expiry of %q %v too early", s.id, k.Key, time.Duration(earliest-s.w.now))
	}
}

// recordExpiries records the expiries that a shard requests.
func (s *shell) recordExpiries(envs []*msg.Envelope) {
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

// expiry is a deletion that a shard has requested.
type expiry struct {
	at int64
	op msg.Op
}

// expiryDecision names where an expiry was decided.
type expiryDecision struct {
	id          kv.TxnID
	shard       kv.ShardID
	incarnation kv.Incarnation
}

// expiryRef returns a separate name for an expiry that a shard decides, and adds a record of that name. The request can
// be duplicated, and reach two incarnations of the gateway. Then two transactions of one id commit: in two incarnations
// of the shard, or on two shards if the key has moved in between. No client queries either outcome.
func (s *shell) expiryRef(txn kv.TxnRef) kv.TxnRef {
	x := s.w.expiries[txn.TxnID]
	if x == nil {
		return txn
	}
	at := expiryDecision{txn.TxnID, s.id, s.m.Incarnation()}
	t := s.w.decidedDue[at]
	if t == nil {
		n := len(s.w.decidedDue)
		txn.Rand = 1<<61 | uint64(n)
		t = &txnRecord{ref: txn, kind: oneShot, client: math.MaxInt32 - n, start: x.at, end: math.MaxInt64, outcome: unknown,
			calls: []*callRecord{{ops: []msg.Op{x.op}}}}
		s.w.decidedDue[at] = t
		s.w.log.add(t)
	}
	return t.ref
}

// checkDeadlines fails unless each shard has exactly one row in its table of deadlines for each key with a deadline
// that it stores.
func (w *world) checkDeadlines(keys []string) {
	want := map[kv.ShardID][]string{}
	for _, key := range keys {
		s := w.shardStoring(key)
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
		same := slices.EqualFunc(rows, res.Rows, func(row string, r entry.Row) bool {
			return bytes.Equal([]byte(row),
				r.Key)
		})
		if !same {
			w.fail("%v has %d rows of deadlines, but %d keys with a deadline, or other ones: %q, %v", s.id, len(res.Rows),
				len(rows), rows, res.Rows)
		}
	}
}
