package sim

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// chronicle is what happened, as far as the verdict needs it.
type chronicle struct {
	txns  []*txnRecord
	byID  map[kv.TxnID]*txnRecord  // one-shots and scans
	byRef map[kv.TxnRef]*txnRecord // attempts of interactive transactions
	told  map[kv.TxnID]*told
	notes []*note // in the order in which shards told them
}

func newChronicle() chronicle {
	return chronicle{byID: map[kv.TxnID]*txnRecord{}, byRef: map[kv.TxnRef]*txnRecord{}, told: map[kv.TxnID]*told{}}
}

// note is something a shard's trace told, and the position of its log at
// which it did. If a crash takes the position away, it never happened.
type note struct {
	at      engine.Position
	lost    bool
	decided *decision
	shown   *shownEffect
}

// decision is the instant F of a transaction.
type decision struct {
	txn   kv.TxnRef
	shard kv.ShardID
	at    int64
}

// shownEffect is a version that became visible.
type shownEffect struct {
	txn   kv.TxnRef
	shard kv.ShardID
	key   string
	kind  entry.EffectKind
	delta int64
	value entry.Value
	index kv.Index
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
	// failed: nothing was applied, nor ever will be.
	failed
	// unknown: the client could not find out.
	unknown
)

// txnRecord is one transaction, or one attempt of an interactive one, as its
// client saw it.
type txnRecord struct {
	ref    kv.TxnRef
	kind   kind
	client int
	// readOnly: none of its operations that took effect writes.
	readOnly bool
	// reader: it was begun as a read-only one.
	reader     bool
	calls      []*callRecord
	start, end int64
	outcome    outcome
	failure    *msg.Failure
	// closedBy are the operations of the call with which an open transaction failed.
	closedBy []msg.Op
	// observed: what it read is to be true at some instant between start
	// and end, though it did not commit a write.
	observed bool
	// rolledBack: its writes are not to take effect.
	rolledBack bool
	resLost    bool
	// concluded is the failure of the commit, if it tells of what was asked for.
	concluded *msg.Failure
}

// callRecord is one list of operations with what came back.
type callRecord struct {
	ops     []msg.Op
	results []msg.Result
	failure *msg.Failure
	// raw: the results are a shard's, not put together; only those of point
	// operations are compared.
	raw bool
}

// writes reports whether an operation that took effect can change anything.
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

// undo takes back the calls from the n-th on. What is left of them is what they
// read and nothing of the transaction's own had a part in.
func (t *txnRecord) undo(n int) {
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

// told is what anybody was told about an id.
type told struct {
	committed, aborted bool
}

func (h *chronicle) toldOf(id kv.TxnID) *told {
	t := h.told[id]
	if t == nil {
		t = &told{}
		h.told[id] = t
	}
	return t
}

// enter files a record under its name.
func (h *chronicle) enter(t *txnRecord) {
	h.txns = append(h.txns, t)
	if t.kind == interactive {
		h.byRef[t.ref] = t
	} else {
		h.byID[t.ref.TxnID] = t
	}
}

// find gives the record of an attempt.
func (h *chronicle) find(ref kv.TxnRef) *txnRecord {
	if t := h.byRef[ref]; t != nil {
		return t
	}
	return h.byID[ref.TxnID]
}
