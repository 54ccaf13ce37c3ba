package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// did is a committed transaction of one call.
func did(id uint64, start, end int64, ops []msg.Op, results ...msg.Result) *txnRecord {
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

// showed is what a transaction's write of a key became, the n-th of that key.
func showed(t *txnRecord, key string, n int, typ entry.Type) *note {
	v := entry.Value{Type: typ, Version: kv.Version{Write: 10*t.ref.Rand + uint64(n)}}
	return &note{shown: &shownEffect{txn: t.ref, key: key, kind: entry.EffectPut, value: v, index: kv.Index(n)}}
}

// TestTheGraphJudgeNoticesWhatWasNotFound: it has no model that would know what
// a get or a scan should have found.
func TestTheGraphJudgeNoticesWhatWasNotFound(t *testing.T) {
	put := did(1, 0, 9, []msg.Op{putOf("b")}, msg.Result{})
	other := did(2, 0, 9, []msg.Op{scanOf("a", "z"), putOf("c")}, msg.Result{}, msg.Result{})
	both := did(3, 0, 9, []msg.Op{scanOf("a", "z"), putOf("b")}, msg.Result{}, msg.Result{})
	gone := did(4, 10, 19, []msg.Op{goneOf("b")}, msg.Result{Found: true})
	wrote := []*note{showed(put, "b", 1, entry.Type(0))}
	for _, tc := range []struct {
		name  string
		want  string
		txns  []*txnRecord
		notes []*note
	}{
		{"a get misses what was there", "real-time inversion", []*txnRecord{put, did(5, 10, 19, []msg.Op{getOf("b")}, msg.Result{})}, wrote},
		{"a get misses what is written meanwhile", "", []*txnRecord{put, did(5, 5, 19, []msg.Op{getOf("b")}, msg.Result{})}, wrote},
		{"a get misses what it has deleted", "", []*txnRecord{put, did(5, 10, 19, []msg.Op{goneOf("b"), getOf("b")}, msg.Result{}, msg.Result{})}, wrote},
		{"a scan misses what was there", "real-time inversion", []*txnRecord{put, did(5, 10, 19, []msg.Op{scanOf("a", "z")}, msg.Result{})}, wrote},
		{"a scan of another range", "", []*txnRecord{put, did(5, 10, 19, []msg.Op{scanOf("c", "z")}, msg.Result{})}, wrote},
		{"a scan that stopped before", "", []*txnRecord{put, did(5, 10, 19, []msg.Op{scanOf("a", "z")}, msg.Result{Resume: []byte("b")})}, wrote},
		{"a scan that stopped behind", "real-time inversion", []*txnRecord{put, did(5, 10, 19, []msg.Op{scanOf("a", "z")}, msg.Result{Resume: []byte("bb")})}, wrote},
		{"a scan in reverse that stopped before", "", []*txnRecord{put, did(5, 10, 19, backOf("a", "z"), msg.Result{Resume: []byte("bb")})}, wrote},
		{"a scan in reverse that stopped behind", "real-time inversion", []*txnRecord{put, did(5, 10, 19, backOf("a", "z"), msg.Result{Resume: []byte("b")})}, wrote},
		{"two scans each miss what the other writes", "write skew", []*txnRecord{other, both},
			[]*note{showed(other, "c", 1, entry.Type(0)), showed(both, "b", 1, entry.Type(0))}},
		{"a get behind a deletion", "", []*txnRecord{put, gone, did(5, 20, 29, []msg.Op{getOf("b")}, msg.Result{})},
			append(wrote[:1:1], showed(gone, "b", 2, entry.TypeDeleted))},
		{"a get between a write and a deletion", "impossible absence", []*txnRecord{put, gone, did(5, 10, 11, []msg.Op{getOf("b")}, msg.Result{}),
			did(6, 12, 13, []msg.Op{getOf("b")}, msg.Result{Found: true, Version: wrote[0].shown.value.Version})},
			append(wrote[:1:1], showed(gone, "b", 2, entry.TypeDeleted))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &world{log: newChronicle()}
			for _, x := range tc.txns {
				w.log.enter(x)
			}
			w.log.notes = tc.notes
			w.judgeGraph()
			if tc.want == "" {
				require.NoError(t, w.err)
				return
			}
			require.ErrorContains(t, w.err, tc.want)
		})
	}
}
