package sim

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/world"
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
		s.w.arrived[txn.TxnID] = s.w.Now()
	}
}

// recordDeadline records the earliest instant at which a key with a new deadline may be deleted.
func (s *shell) recordDeadline(txn kv.TxnRef, e *entry.Effect, v *entry.Value) {
	arrived, ok := s.w.arrived[txn.TxnID]
	if e.Ttl == 0 || v.Expires == 0 || !ok {
		return
	}
	row := string(entry.DeadlineKey(v.Expires, e.Key))
	s.w.deleteNotBefore[row] = arrived + int64(float64(e.Ttl*int64(time.Millisecond))/s.w.Rates[1])
}

// checkDue fails if a shard requests an expiry too early, whatever the nodes' times of day have been since. If outcomes
// are retained for less than the run takes, nodes may adopt wrong clocks, and nothing is checked.
func (s *shell) checkDue(k *msg.ExpireKey) {
	earliest, ok := s.w.deleteNotBefore[string(entry.DeadlineKey(k.Expires, k.Key))]
	if !ok || s.w.opt.Retention > 0 {
		return
	}
	if s.w.Now() < earliest {
		s.w.Fail("%v requests the expiry of %q %v too early", s.ID, k.Key, time.Duration(earliest-s.w.Now()))
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
		s.w.expiries[k.Txn.TxnID] = &expiry{s.w.Now(), msg.Op{Kind: msg.OpDeleteExpired, Key: k.Key, Expiry: k.Expires}}
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
func (s *shell) expiryRef(by *world.Shard, txn kv.TxnRef) kv.TxnRef {
	x := s.w.expiries[txn.TxnID]
	if x == nil {
		return txn
	}
	at := expiryDecision{txn.TxnID, s.ID, by.M.Incarnation()}
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
func (w *sim) checkDeadlines(keys []string) {
	want := map[kv.ShardID][]string{}
	for _, key := range keys {
		s := w.shardStoring(key)
		if v, err := s.stored(key); err == nil && v.Expires != 0 {
			want[s.ID] = append(want[s.ID], string(entry.DeadlineKey(v.Expires, []byte(key))))
		}
	}
	for _, s := range w.shards {
		res := s.Disk.Store.Read(s.ID, entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline, Span: kv.Range(nil, nil)})
		if res.Err != nil {
			w.Fail("%v: the deadlines cannot be read: %v", s.ID, res.Err)
		}
		rows := want[s.ID]
		slices.Sort(rows)
		same := slices.EqualFunc(rows, res.Rows, func(row string, r entry.Row) bool {
			return bytes.Equal([]byte(row),
				r.Key)
		})
		if !same {
			w.Fail("%v has %d rows of deadlines, but %d keys with a deadline, or other ones: %q, %v", s.ID, len(res.Rows),
				len(rows), rows, res.Rows)
		}
	}
}
