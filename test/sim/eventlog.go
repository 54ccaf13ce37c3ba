package sim

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/world"
)

// eventLog records a run for the checks at its end.
type eventLog struct {
	txns    []*txnRecord
	byID    map[kv.TxnID]*txnRecord  // one-shots and scans
	byRef   map[kv.TxnRef]*txnRecord // attempts of interactive transactions
	reports map[kv.TxnID]*outcomeReports
	events  []*logEvent // in the order in which the shards reported them
}

func newEventLog() eventLog {
	return eventLog{byID: map[kv.TxnID]*txnRecord{}, byRef: map[kv.TxnRef]*txnRecord{},
		reports: map[kv.TxnID]*outcomeReports{}}
}

// logEvent is an event that a shard's trace reported. If a crash revokes the step that caused it, it never happened.
type logEvent struct {
	world.Note
	decided *decision
	visible *visibleEffect
}

// decision is the instant F of a transaction.
type decision struct {
	txn   kv.TxnRef
	shard kv.ShardID
	at    int64
}

// visibleEffect is a version that became visible.
type visibleEffect struct {
	txn   kv.TxnRef
	shard kv.ShardID
	key   string
	kind  entry.EffectKind
	delta int64
	value entry.Value
	csn   kv.CSN
}

type kind uint8

const (
	oneShot kind = iota
	interactive
	scan
)

type outcome uint8

const (
	running outcome = iota
	committed
	// failed: nothing has been applied, and nothing will be.
	failed
	// unknown: the client could not determine the outcome.
	unknown
)

// txnRecord is one transaction, or one attempt of an interactive one, as its client observed it.
type txnRecord struct {
	ref    kv.TxnRef
	kind   kind
	client int
	// readOnly: no operation that took effect is a write.
	readOnly bool
	// reader: the transaction was begun as read-only.
	reader     bool
	calls      []*callRecord
	start, end int64
	outcome    outcome
	failure    *msg.Failure
	// closedBy lists the operations of the call that ended an open transaction with a failure.
	closedBy []msg.Op
	// observed: the reads must be consistent at one instant between start and end, although the transaction committed no
	// write.
	observed bool
	// rolledBack: the writes must not take effect.
	rolledBack bool
	resLost    bool
	// commitFailure is the failure of the commit, if it reports a condition, a type or a bound.
	commitFailure *msg.Failure
}

// callRecord is one list of operations with their results.
type callRecord struct {
	ops     []msg.Op
	results []msg.Result
	failure *msg.Failure
	// raw: the results come from a shard, by operation number, not merged by a gateway. Only results of point operations
	// are compared.
	raw bool
}

// writes reports whether an operation that took effect may have changed a key.
func (t *txnRecord) writes() bool {
	if t.rolledBack {
		return false
	}
	for _, c := range t.calls {
		for i := range c.ops {
			if c.failure == nil && c.ops[i].Writes() {
				return true
			}
		}
	}
	return false
}

// removeCalls removes the calls from the n-th on, after a rollback to a savepoint. Gets of keys that the transaction
// has not written stay, since their results must still hold.
func (t *txnRecord) removeCalls(n int) {
	undone := t.calls[n:]
	t.calls = t.calls[:n:n]
	own := func(key []byte) bool {
		writes := func(c *callRecord) bool {
			return slices.ContainsFunc(c.ops, func(op msg.Op) bool { return op.Writes() && op.Span().Contains(key) })
		}
		return slices.ContainsFunc(t.calls, writes) || slices.ContainsFunc(undone, writes)
	}
	for _, c := range undone {
		var left callRecord
		for i := range c.results {
			if op := &c.ops[i]; op.Kind == msg.OpGet && !own(op.Key) {
				left.ops = append(left.ops, *op)
				left.results = append(left.results, c.results[i])
				left.results[len(left.results)-1].Seq = uint32(len(left.ops) - 1)
			}
		}
		if len(left.ops) > 0 {
			t.calls = append(t.calls, &left)
		}
	}
}

// outcomeReports holds the outcomes that clients were given for one id.
type outcomeReports struct {
	committed, aborted bool
}

func (h *eventLog) reportsOf(id kv.TxnID) *outcomeReports {
	t := h.reports[id]
	if t == nil {
		t = &outcomeReports{}
		h.reports[id] = t
	}
	return t
}

// add adds a record.
func (h *eventLog) add(t *txnRecord) {
	h.txns = append(h.txns, t)
	if t.kind == interactive {
		h.byRef[t.ref] = t
	} else {
		h.byID[t.ref.TxnID] = t
	}
}

// find returns the record of an attempt.
func (h *eventLog) find(ref kv.TxnRef) *txnRecord {
	if t := h.byRef[ref]; t != nil {
		return t
	}
	return h.byID[ref.TxnID]
}
