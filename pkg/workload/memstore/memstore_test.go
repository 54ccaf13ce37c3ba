package memstore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/workload"
)

func op(k workload.OpKind, key, value string, delta int64) workload.Op {
	return workload.Op{Kind: k, Key: []byte(key), Value: []byte(value), Delta: delta}
}

func TestATransactionSeesItsOwnWrites(t *testing.T) {
	s := &Store{}
	r, err := s.Transact(t.Context(), []workload.Op{
		op(workload.Read, "a", "", 0), op(workload.Write, "a", "x", 0), op(workload.ReadForUpdate, "a", "", 0),
		op(workload.Add, "n", "", 2), op(workload.Add, "n", "", 3), op(workload.Read, "n", "", 0),
	})
	require.NoError(t, err)
	require.Len(t, r.Results, 6)
	require.False(t, r.Results[0].Found)
	require.Equal(t, workload.Seen{Found: true, Value: []byte("x")}, r.Results[2])
	require.Equal(t, workload.Seen{Found: true, IsNumber: true, Number: 5}, r.Results[5])
}

func TestAWrongTypeAppliesNothing(t *testing.T) {
	s := &Store{}
	for _, ops := range [][]workload.Op{
		{op(workload.Write, "a", "x", 0), op(workload.Add, "a", "", 1)},
		{op(workload.Add, "a", "", 1), op(workload.Read, "a", "", 0), op(workload.Write, "a", "x", 0)},
	} {
		_, err := s.Execute(t.Context(), ops)
		require.Equal(t, kv.KindWrongType, kv.KindOf(err))
		require.Zero(t, s.Len())
	}
}

func TestAnErrorBeforeAppliesNothing(t *testing.T) {
	s := &Store{Before: func(context.Context, uint64, []workload.Op) (workload.Reply, error) {
		return workload.Reply{Attempts: 3}, kv.Errorf(kv.KindAborted, "no")
	}}
	r, err := s.Execute(t.Context(), []workload.Op{op(workload.Write, "a", "x", 0)})
	require.Equal(t, kv.KindAborted, kv.KindOf(err))
	require.Equal(t, 3, r.Attempts)
	require.Zero(t, s.Len())
}

func TestTheCallersBytesAreNotKept(t *testing.T) {
	s := &Store{}
	o := op(workload.Write, "a", "x", 0)
	_, err := s.Execute(t.Context(), []workload.Op{o})
	require.NoError(t, err)
	o.Value[0] = 'y'
	require.Equal(t, "x", string(s.Get([]byte("a")).Value))
}
