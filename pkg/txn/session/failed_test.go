package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// oneShard places all keys on one shard.
var oneShard = Placement{Shards: 1, Place: func([]byte) kv.ShardID { return 0 }}

// runCall executes a call with responses of a shard: one pair for a range, a value for a key.
func runCall(s *Session, ops []msg.Op) *msg.Failure {
	s.Number(ops)
	locked, _ := s.NeededReads(ops, oneShard)
	for i := range locked {
		var results []msg.Result
		for _, op := range locked[i].Ops {
			r := msg.Result{Seq: op.Seq, Found: true, Version: kv.Version{Write: 1}, Value: []byte("v")}
			if op.IsRange() {
				pair := msg.Pair{Key: []byte("k"), Version: kv.Version{Write: 1}, Value: []byte("v")}
				r = msg.Result{Seq: op.Seq, Pairs: []msg.Pair{pair}}
			}
			results = append(results, r)
		}
		s.StoreResults(locked[i].Shard, locked[i].Ops, false, results)
	}
	_, f := s.Evaluate(ops, 0)
	if f == nil {
		f = s.Write(ops)
	}
	return f
}

// A transaction may retry a failed call without a bound, so the reads of each must be dropped.
func TestFailedCallLeavesNoReads(t *testing.T) {
	s, set := New(), adt.Lookup(adt.Set)
	require.Nil(t, runCall(s, []msg.Op{set.MethodByName("add").Op([]byte("c"), adt.Bytes([]byte("m")))}))
	for range 10 {
		ops := []msg.Op{
			{Kind: msg.OpScan, Key: []byte("a"), End: []byte("z")},
			set.MethodByName("len").Op([]byte("d")),
			{Kind: msg.OpGet, Key: []byte("c")},
			{Kind: msg.OpRequire, Key: []byte("b"), Expect: msg.ExpectAbsent},
		}
		f := runCall(s, ops)
		require.NotNil(t, f)
		require.Equal(t, uint32(kv.KindConditionFailed), f.Kind, "%v", f)
		require.Equal(t, ops[3].Seq, f.Seq)
		s.DropReadsOf(ops)
		require.Empty(t, s.rows)
		require.Empty(t, s.lookups)
		require.Empty(t, s.callResults)
	}
}
