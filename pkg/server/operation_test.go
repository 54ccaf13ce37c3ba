package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func getOp(key string) pb.Op { return pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: []byte(key)}}} }

func putOp(key string, bytes int) pb.Op {
	return pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte(key), Value: make([]byte, bytes)}}}
}

func scanOp(start, end string, limit uint32) pb.Op {
	return pb.Op{Op: &pb.Op_Scan{Scan: &pb.ScanOp{Start: []byte(start), End: []byte(end), Limit: limit}}}
}

func rangeOp(start, end string) pb.Op {
	return pb.Op{Op: &pb.Op_DeleteRange{DeleteRange: &pb.DeleteRangeOp{Start: []byte(start), End: []byte(end)}}}
}

func requireOp(r pb.RequireOp) pb.Op { return pb.Op{Op: &pb.Op_Require{Require: &r}} }

func many(n int, op pb.Op) []pb.Op {
	ops := make([]pb.Op, n)
	for i := range ops {
		ops[i] = op
	}
	return ops
}

var (
	longestKey = strings.Repeat("k", kv.MaxKeyBytes)
	tooLongKey = longestKey + "k"
)

func TestBadRequestsAreRefusedWithTheOperationNamed(t *testing.T) {
	good := getOp("fine")
	absent := &pb.PutOp{Key: []byte("k"), Condition: &pb.PutOp_IfAbsent{}}
	for name, c := range map[string]struct {
		ops  []pb.Op
		text string
		op   int // -1: about the whole
	}{
		"no operations":                   {nil, "no operations", -1},
		"too many operations":             {many(kv.MaxTxnOps+1, good), "10001 operations", -1},
		"an operation of an unknown kind": {[]pb.Op{good, {}}, "kind of operation", 1},
		"an empty key to get":             {[]pb.Op{getOp("")}, "key is empty", 0},
		"an empty key to put":             {[]pb.Op{good, putOp("", 1)}, "key is empty", 1},
		"an empty key to delete":          {[]pb.Op{{Op: &pb.Op_Delete{Delete: &pb.DeleteOp{}}}}, "key is empty", 0},
		"an empty key to add to":          {[]pb.Op{{Op: &pb.Op_Add{Add: &pb.AddOp{Delta: 1}}}}, "key is empty", 0},
		"an empty key to require": {[]pb.Op{requireOp(pb.RequireOp{Condition: &pb.RequireOp_Exists{Exists: true}})},
			"key is empty", 0},
		"a key that is too long":   {[]pb.Op{good, good, getOp(tooLongKey)}, "4097 bytes", 2},
		"a value that is too long": {[]pb.Op{putOp("k", kv.MaxValueBytes+1)}, "1048577 bytes", 0},
		"an expected value that is too long": {[]pb.Op{requireOp(pb.RequireOp{Key: []byte("k"),
			Condition: &pb.RequireOp_Equals{Equals: make([]byte, kv.MaxValueBytes+1)}})}, "1048577 bytes", 0},
		"too much in all":                   {many(17, putOp("k", kv.MaxValueBytes)), "16777232 bytes or more", -1},
		"a range that ends where it starts": {[]pb.Op{scanOp("b", "b", 0)}, "range is empty", 0},
		"a range that ends before":          {[]pb.Op{good, rangeOp("b", "a")}, "range is empty", 1},
		"a start that is too long":          {[]pb.Op{scanOp(tooLongKey+"k", "", 0)}, "4098 bytes", 0},
		"an end that is too long":           {[]pb.Op{rangeOp("a", tooLongKey+"k")}, "4098 bytes", 0},
		"a limit that is too high":          {[]pb.Op{scanOp("a", "", kv.MaxScanLimit+1)}, "limit of the scan is 10001", 0},
		"a delete-range of everything":      {[]pb.Op{rangeOp("", "")}, "neither start nor end", 0},
		"a require without a condition":     {[]pb.Op{requireOp(pb.RequireOp{Key: []byte("k")})}, "needs a condition", 0},
		"a condition given as false":        {[]pb.Op{good, {Op: &pb.Op_Put{Put: absent}}}, "false", 1},
		"a version of the wrong size": {[]pb.Op{requireOp(pb.RequireOp{Key: []byte("k"),
			Condition: &pb.RequireOp_Version{Version: []byte("v1")}})}, "version", 0},
		"an empty version": {[]pb.Op{{Op: &pb.Op_Delete{Delete: &pb.DeleteOp{Key: []byte("k"),
			Condition: &pb.DeleteOp_IfVersion{}}}}}, "version", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := operations(c.ops, new(budget))
			require.NotNil(t, err)
			require.Equal(t, kv.KindInvalid, err.Kind)
			require.Contains(t, err.Text, c.text)
			require.Equal(t, c.op, err.Op)
			require.NotEmpty(t, err.Hint, "an error says what to do")
			require.LessOrEqual(t, len(err.Key), shownKey)
		})
	}
}

func TestWhatIsJustWithinTheLimitsIsTaken(t *testing.T) {
	for name, ops := range map[string][]pb.Op{
		"the most operations":                many(kv.MaxTxnOps, getOp("k")),
		"the longest key and value":          {putOp(longestKey, kv.MaxValueBytes)},
		"an empty value":                     {putOp("k", 0)},
		"the most bytes":                     append(many(15, putOp("k", kv.MaxValueBytes)), putOp("k", kv.MaxValueBytes-16)),
		"a range from after the longest key": {scanOp(longestKey+"\x00", "", kv.MaxScanLimit)},
		"a scan of everything":               {scanOp("", "", 0)},
		"a delete-range with one bound":      {rangeOp("", "a"), rangeOp("a", "")},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := operations(ops, new(budget))
			require.Nil(t, err)
			require.Len(t, out, len(ops))
		})
	}
}

func TestEveryOperationIsConverted(t *testing.T) {
	ver := kv.Version{Moves: 1, Shard: 2, Write: 3}
	rawVer, err := ver.Marshal()
	require.NoError(t, err)
	k, v := []byte("k"), []byte("v")
	put := func(p pb.PutOp) pb.Op { p.Key, p.Value = k, v; return pb.Op{Op: &pb.Op_Put{Put: &p}} }
	del := func(d pb.DeleteOp) pb.Op { d.Key = k; return pb.Op{Op: &pb.Op_Delete{Delete: &d}} }
	req := func(r pb.RequireOp) pb.Op { r.Key = k; return requireOp(r) }
	for _, c := range []struct {
		in  pb.Op
		out msg.Op
	}{
		{pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: k, ForUpdate: true}}}, msg.Op{Kind: msg.OpGet, Key: k, ForUpdate: true}},
		{put(pb.PutOp{}), msg.Op{Kind: msg.OpPut, Key: k, Value: v}},
		{put(pb.PutOp{Condition: &pb.PutOp_IfAbsent{IfAbsent: true}}),
			msg.Op{Kind: msg.OpPut, Key: k, Value: v, Expect: msg.ExpectAbsent}},
		{put(pb.PutOp{Condition: &pb.PutOp_IfExists{IfExists: true}}),
			msg.Op{Kind: msg.OpPut, Key: k, Value: v, Expect: msg.ExpectExists}},
		{put(pb.PutOp{Condition: &pb.PutOp_IfValue{IfValue: k}}),
			msg.Op{Kind: msg.OpPut, Key: k, Value: v, Expect: msg.ExpectValue, ExpectValue: k}},
		{put(pb.PutOp{Condition: &pb.PutOp_IfVersion{IfVersion: rawVer}}),
			msg.Op{Kind: msg.OpPut, Key: k, Value: v, Expect: msg.ExpectVersion, ExpectVersion: ver}},
		{put(pb.PutOp{Condition: &pb.PutOp_IfVersion{IfVersion: make([]byte, 14)}}),
			msg.Op{Kind: msg.OpPut, Key: k, Value: v, Expect: msg.ExpectAbsent}},
		{del(pb.DeleteOp{}), msg.Op{Kind: msg.OpDelete, Key: k}},
		{del(pb.DeleteOp{ReturnFound: true}), msg.Op{Kind: msg.OpDelete, Key: k, ReturnFound: true}},
		{del(pb.DeleteOp{Condition: &pb.DeleteOp_IfExists{IfExists: true}}),
			msg.Op{Kind: msg.OpDelete, Key: k, Expect: msg.ExpectExists}},
		{del(pb.DeleteOp{Condition: &pb.DeleteOp_IfValue{}}), msg.Op{Kind: msg.OpDelete, Key: k, Expect: msg.ExpectValue}},
		{del(pb.DeleteOp{Condition: &pb.DeleteOp_IfVersion{IfVersion: rawVer}}),
			msg.Op{Kind: msg.OpDelete, Key: k, Expect: msg.ExpectVersion, ExpectVersion: ver}},
		{req(pb.RequireOp{Condition: &pb.RequireOp_Exists{Exists: true}}),
			msg.Op{Kind: msg.OpRequire, Key: k, Expect: msg.ExpectExists}},
		{req(pb.RequireOp{Condition: &pb.RequireOp_Absent{Absent: true}}),
			msg.Op{Kind: msg.OpRequire, Key: k, Expect: msg.ExpectAbsent}},
		{req(pb.RequireOp{Condition: &pb.RequireOp_Equals{Equals: v}}),
			msg.Op{Kind: msg.OpRequire, Key: k, Expect: msg.ExpectValue, ExpectValue: v}},
		{req(pb.RequireOp{Condition: &pb.RequireOp_Version{Version: rawVer}}),
			msg.Op{Kind: msg.OpRequire, Key: k, Expect: msg.ExpectVersion, ExpectVersion: ver}},
		{pb.Op{Op: &pb.Op_Add{Add: &pb.AddOp{Key: k, Delta: -5}}}, msg.Op{Kind: msg.OpAdd, Key: k, Delta: -5}},
		{pb.Op{Op: &pb.Op_Add{Add: &pb.AddOp{Key: k, Delta: 5, ReturnValue: true}}},
			msg.Op{Kind: msg.OpAddGet, Key: k, Delta: 5}},
		{scanOp("a", "b", 7), msg.Op{Kind: msg.OpScan, Key: []byte("a"), End: []byte("b"), Limit: 7}},
		{pb.Op{Op: &pb.Op_Scan{Scan: &pb.ScanOp{End: k, Reverse: true}}}, msg.Op{Kind: msg.OpScan, End: k, Reverse: true}},
		{rangeOp("a", "b"), msg.Op{Kind: msg.OpDeleteRange, Key: []byte("a"), End: []byte("b")}},
	} {
		b := new(budget)
		got, err := operations([]pb.Op{getOp("first"), c.in}, b)
		require.Nil(t, err)
		c.out.Seq = 1
		require.Equal(t, c.out, got[1])
		require.Equal(t, c.out.Writes(), b.writes)
	}
}

func TestEveryKindHasACode(t *testing.T) {
	for _, k := range kv.Kinds() {
		_, ok := codeOf[k]
		require.True(t, ok, "%v has no code", k)
	}
	require.Len(t, codeOf, len(kv.Kinds()))
	require.Equal(t, Code(kv.KindInternal), Code(kv.Kind(250)))
}

// FuzzRequest holds that whatever decodes and passes the checks, is within all
// limits, and that nothing panics.
func FuzzRequest(f *testing.F) {
	for _, ops := range [][]pb.Op{{getOp("k"), putOp("k", 3)}, {scanOp("a", "b", 1), rangeOp("a", "")},
		{requireOp(pb.RequireOp{Key: []byte("k"), Condition: &pb.RequireOp_Version{Version: make([]byte, 14)}})}} {
		raw, err := (&pb.ExecuteRequest{Ops: ops}).Marshal()
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in pb.ExecuteRequest
		if in.Unmarshal(raw) != nil {
			return
		}
		out, err := operations(in.Ops, new(budget))
		if err != nil {
			require.Equal(t, kv.KindInvalid, err.Kind)
			require.Less(t, err.Op, len(in.Ops))
			return
		}
		require.Len(t, out, len(in.Ops))
		for i := range out {
			o := &out[i]
			require.Equal(t, uint32(i), o.Seq)
			if s := o.Span(); s.IsPoint() {
				require.NoError(t, kv.CheckKey(o.Key))
			} else {
				require.False(t, s.IsEmpty())
			}
			require.LessOrEqual(t, len(o.Value), kv.MaxValueBytes)
			require.Equal(t, o.Expect == msg.ExpectVersion, !o.ExpectVersion.IsZero())
		}
	})
}
