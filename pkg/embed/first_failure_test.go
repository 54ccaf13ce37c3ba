package embed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestTheFirstFailureOnAKeyIsReported: of several operations on one key that cannot succeed,
// the error is that of the first one, in a one-shot and in a step of a transaction. A
// condition that does not hold is not hidden by an operation that would have failed if it
// had held.
func TestTheFirstFailureOnAKeyIsReported(t *testing.T) {
	c := start(t, embed.ClusterOptions{Nodes: 1, Shards: 2, NoSync: true})
	g := c.Node(1).Gateway()
	setup := g.Execute(soon(t), gateway.Request{Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte("full"), Value: []byte("v")}}})
	require.Nil(t, setup.Err)
	ann := []msg.Datum{{Kind: msg.DatumBytes, Bytes: []byte("ann")}}
	put := func(e msg.Expect) msg.Op {
		return msg.Op{Kind: msg.OpPut, Value: []byte("w"), Expect: e, ExpectVersion: kv.Version{Write: 99}}
	}
	requires := func(e msg.Expect) msg.Op { return msg.Op{Kind: msg.OpRequire, Expect: e} }
	del := msg.Op{Kind: msg.OpDelete, Expect: msg.ExpectVersion, ExpectVersion: kv.Version{Write: 99}}
	contains := msg.Op{Kind: msg.OpQuery, Type: 2, Method: 3, Args: ann}
	addCount := msg.Op{Kind: msg.OpUpdateGet, Type: 2, Method: 6, Args: ann}
	add := msg.Op{Kind: msg.OpUpdate, Type: 2, Method: 1, Args: ann}
	count := msg.Op{Kind: msg.OpAdd, Delta: 1}
	get := msg.Op{Kind: msg.OpGet}
	for name, x := range map[string]struct {
		key    string
		ops    []msg.Op
		failed int
		kind   kv.Kind
	}{
		"put if exists, contains":  {"none", []msg.Op{put(msg.ExpectExists), contains}, 0, kv.KindConditionFailed},
		"put if exists, add-count": {"none", []msg.Op{put(msg.ExpectExists), addCount}, 0, kv.KindConditionFailed},
		"put if exists, add, get":  {"none", []msg.Op{put(msg.ExpectExists), add, get}, 0, kv.KindConditionFailed},
		"put if absent, contains":  {"full", []msg.Op{put(msg.ExpectAbsent), contains}, 0, kv.KindConditionFailed},
		"put if version, contains": {"full", []msg.Op{put(msg.ExpectVersion), contains}, 0, kv.KindConditionFailed},
		"put if value, contains":   {"full", []msg.Op{put(msg.ExpectValue), contains}, 0, kv.KindConditionFailed},
		"delete if version, add":   {"full", []msg.Op{del, add, contains}, 0, kv.KindConditionFailed},
		"require absent, contains": {"full", []msg.Op{requires(msg.ExpectAbsent), contains}, 0,
			kv.KindConditionFailed},
		"require exists, contains, put": {"none", []msg.Op{requires(msg.ExpectExists), contains, put(msg.ExpectNothing),
			contains}, 0, kv.KindConditionFailed},
		"get, require absent, contains": {"full", []msg.Op{get, requires(msg.ExpectAbsent), contains}, 1,
			kv.KindConditionFailed},
		"put, require absent, contains": {"none", []msg.Op{put(msg.ExpectNothing), requires(msg.ExpectAbsent), contains},
			1, kv.KindConditionFailed},
		"count, contains":                    {"full", []msg.Op{count, contains}, 0, kv.KindWrongType},
		"require exists holds, contains":     {"full", []msg.Op{requires(msg.ExpectExists), contains}, 1, kv.KindWrongType},
		"put if exists holds, contains":      {"full", []msg.Op{put(msg.ExpectExists), contains}, 1, kv.KindWrongType},
		"contains, require, on another type": {"full", []msg.Op{contains, requires(msg.ExpectAbsent)}, 0, kv.KindWrongType},
		"add, require absent, get": {"none", []msg.Op{add, requires(msg.ExpectAbsent), get}, 1,
			kv.KindConditionFailed},
	} {
		ops := func() []msg.Op {
			out := make([]msg.Op, len(x.ops))
			for i := range out {
				out[i] = x.ops[i]
				out[i].Key, out[i].Seq = []byte(x.key), uint32(i)
			}
			return out
		}
		r := g.Execute(soon(t), gateway.Request{Ops: ops()})
		require.NotNil(t, r.Err, name)
		require.Equal(t, x.kind, r.Err.Kind, "%s: %v", name, r.Err)
		require.Equal(t, x.failed, r.Err.Op, "%s: %v", name, r.Err)
		tx, err := g.Begin(soon(t), gateway.TxOptions{})
		require.NoError(t, err)
		_, err = tx.Do(soon(t), ops())
		require.Equal(t, x.kind, kv.KindOf(err), "%s, interactive: %v", name, err)
		tx.Rollback()
	}
	for _, key := range []string{"none", "full"} {
		r := g.Execute(soon(t), gateway.Request{Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte(key)}}})
		require.Nil(t, r.Err)
		require.Equal(t, key == "full", r.Results[0].Found)
	}
}

// TestConditionsThatHoldBeforeCalls: the results of a step with conditions and calls on one
// key are those of the same operations in one shot, and so is the state after the commit.
func TestConditionsThatHoldBeforeCalls(t *testing.T) {
	c := start(t, embed.ClusterOptions{Nodes: 1, Shards: 2, NoSync: true})
	g := c.Node(1).Gateway()
	ann := []msg.Datum{{Kind: msg.DatumBytes, Bytes: []byte("ann")}}
	ops := func(key string) []msg.Op {
		out := []msg.Op{
			{Kind: msg.OpPut, Value: []byte("v"), Expect: msg.ExpectAbsent},
			{Kind: msg.OpRequire, Expect: msg.ExpectValue, ExpectValue: []byte("v")},
			{Kind: msg.OpDelete, Expect: msg.ExpectExists},
			{Kind: msg.OpUpdate, Type: 2, Method: 1, Args: ann},
			{Kind: msg.OpRequire, Expect: msg.ExpectExists},
			{Kind: msg.OpQuery, Type: 2, Method: 3, Args: ann},
			{Kind: msg.OpUpdateGet, Type: 2, Method: 7, Args: ann},
			{Kind: msg.OpRequire, Expect: msg.ExpectAbsent},
			{Kind: msg.OpGet},
			{Kind: msg.OpQuery, Type: 2, Method: 3, Args: ann},
		}
		for i := range out {
			out[i].Key, out[i].Seq = []byte(key), uint32(i)
		}
		return out
	}
	r := g.Execute(soon(t), gateway.Request{Ops: ops("one")})
	require.Nil(t, r.Err)
	tx, err := g.Begin(soon(t), gateway.TxOptions{})
	require.NoError(t, err)
	defer tx.Rollback()
	got, err := tx.Do(soon(t), ops("step"))
	require.NoError(t, err)
	for i := range got {
		require.Equal(t, r.Results[i].Data, got[i].Data, "%d", i)
	}
	require.Equal(t, r.Results[8].Found, got[8].Found)
}
