package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// committedTxn returns a committed transaction of one call.
func committedTxn(id uint64, start, end int64, ops []msg.Op, results ...msg.Result) *txnRecord {
	return &txnRecord{ref: kv.TxnRef{TxnID: kv.TxnID{Rand: id}}, kind: oneShot, start: start, end: end, outcome: committed,
		calls: []*callRecord{{ops: ops, results: results}}}
}

func getOf(key string) msg.Op  { return msg.Op{Kind: msg.OpGet, Key: []byte(key)} }
func putOf(key string) msg.Op  { return msg.Op{Kind: msg.OpPut, Key: []byte(key)} }
func goneOf(key string) msg.Op { return msg.Op{Kind: msg.OpDelete, Key: []byte(key)} }
func scanOf(start, end string) msg.Op {
	return msg.Op{Kind: msg.OpScan, Key: []byte(start), End: []byte(end)}
}

// backOf is a scan in reverse.
func backOf(start, end string) []msg.Op {
	op := scanOf(start, end)
	op.Reverse = true
	return []msg.Op{op}
}

// visibleEvent returns the event of the n-th version of a key, written by a transaction.
func visibleEvent(t *txnRecord, key string, n int, typ entry.Type) *logEvent {
	v := entry.Value{Type: typ, Version: kv.Version{Write: 10*t.ref.Rand + uint64(n)}}
	return &logEvent{visible: &visibleEffect{txn: t.ref, key: key, kind: entry.EffectPut, value: v, index: kv.CSN(n)}}
}

// TestGraphCheckerDetectsMissedKeys: the graph checker detects a get or a scan that missed a key. It has no model that
// would know the expected result.
func TestGraphCheckerDetectsMissedKeys(t *testing.T) {
	put := committedTxn(1, 0, 9, []msg.Op{putOf("b")}, msg.Result{})
	other := committedTxn(2, 0, 9, []msg.Op{scanOf("a", "z"), putOf("c")}, msg.Result{}, msg.Result{})
	both := committedTxn(3, 0, 9, []msg.Op{scanOf("a", "z"), putOf("b")}, msg.Result{}, msg.Result{})
	gone := committedTxn(4, 10, 19, []msg.Op{goneOf("b")}, msg.Result{Found: true})
	wrote := []*logEvent{visibleEvent(put, "b", 1, entry.Type(0))}
	for _, tc := range []struct {
		name   string
		want   string
		txns   []*txnRecord
		events []*logEvent
	}{
		{"a get misses what was there", "real-time inversion", []*txnRecord{put,
			committedTxn(5, 10, 19, []msg.Op{getOf("b")}, msg.Result{})}, wrote},
		{"a get misses what is written meanwhile", "", []*txnRecord{put,
			committedTxn(5, 5, 19, []msg.Op{getOf("b")}, msg.Result{})}, wrote},
		{"a get misses what it has deleted", "", []*txnRecord{put, committedTxn(5, 10, 19, []msg.Op{goneOf("b"), getOf("b")},
			msg.Result{}, msg.Result{})}, wrote},
		{"a scan misses what was there", "real-time inversion", []*txnRecord{put,
			committedTxn(5, 10, 19, []msg.Op{scanOf("a", "z")}, msg.Result{})}, wrote},
		{"a scan of another range", "", []*txnRecord{put, committedTxn(5, 10, 19, []msg.Op{scanOf("c", "z")}, msg.Result{})},
			wrote},
		{"a scan that stopped before", "", []*txnRecord{put, committedTxn(5, 10, 19, []msg.Op{scanOf("a", "z")},
			msg.Result{Resume: []byte("b")})}, wrote},
		{"a scan that stopped behind", "real-time inversion", []*txnRecord{put,
			committedTxn(5, 10, 19, []msg.Op{scanOf("a", "z")}, msg.Result{Resume: []byte("bb")})}, wrote},
		{"a scan in reverse that stopped before", "", []*txnRecord{put,
			committedTxn(5, 10, 19, backOf("a", "z"), msg.Result{Resume: []byte("bb")})}, wrote},
		{"a scan in reverse that stopped behind", "real-time inversion",
			[]*txnRecord{put, committedTxn(5, 10, 19, backOf("a", "z"), msg.Result{Resume: []byte("b")})}, wrote},
		{"two scans each miss what the other writes", "write skew", []*txnRecord{other, both},
			[]*logEvent{visibleEvent(other, "c", 1, entry.Type(0)), visibleEvent(both, "b", 1, entry.Type(0))}},
		{"a get behind a deletion", "", []*txnRecord{put, gone, committedTxn(5, 20, 29, []msg.Op{getOf("b")}, msg.Result{})},
			append(wrote[:1:1], visibleEvent(gone, "b", 2, entry.TypeDeleted))},
		{"a get between a write and a deletion", "impossible absence",
			[]*txnRecord{put, gone, committedTxn(5, 10, 11, []msg.Op{getOf("b")}, msg.Result{}),
				committedTxn(6, 12, 13, []msg.Op{getOf("b")}, msg.Result{Found: true, Version: wrote[0].visible.value.Version})},
			append(wrote[:1:1], visibleEvent(gone, "b", 2, entry.TypeDeleted))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &world{log: newEventLog()}
			for _, x := range tc.txns {
				w.log.add(x)
			}
			w.log.events = tc.events
			w.checkGraph()
			if tc.want == "" {
				require.NoError(t, w.err)
				return
			}
			require.ErrorContains(t, w.err, tc.want)
		})
	}
}
