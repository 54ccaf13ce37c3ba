package adt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func TestIDsAreUniqueAndRepeatable(t *testing.T) {
	method := adt.Lookup(adt.IDs).MethodByName("next")
	next := func(unique byte, args ...msg.Datum) []msg.Datum {
		r := adt.Request{Method: method, Args: args, Value: &entry.Value{}}
		r.Unique[23] = unique
		p, modes := r.Plan(nil)
		require.NoError(t, p.Err)
		require.Empty(t, p.Calls, "nothing is stored")
		require.True(t, adt.Compatible(modes[0], modes[0]))
		require.False(t, adt.Compatible(modes[0], adt.ModeWrite), "the key is not deleted meanwhile")
		return p.Answer
	}
	seen := map[string]bool{}
	for unique := range byte(200) {
		ids := next(unique, adt.Int(50))
		require.Len(t, ids, 50)
		require.Equal(t, ids[:1], next(unique), "the same call, the same id")
		for _, id := range ids {
			require.Len(t, id.Bytes, 16)
			require.Equal(t, byte(8), id.Bytes[6]>>4, "RFC 9562: version 8")
			require.Equal(t, byte(2), id.Bytes[8]>>6, "and its variant")
			require.False(t, seen[string(id.Bytes)])
			seen[string(id.Bytes)] = true
		}
	}
	require.Equal(t, msg.OpQuery, method.OpKind())
	for _, n := range []int64{0, -1, adt.MaxIDs + 1} {
		r := adt.Request{Method: method, Args: adt.Args{adt.Int(n)}, Value: &entry.Value{}}
		p, _ := r.Plan(nil)
		require.Equal(t, kv.KindInvalid, kv.KindOf(p.Err))
	}
}
