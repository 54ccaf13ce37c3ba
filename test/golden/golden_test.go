package golden

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesReadBack(t *testing.T) {
	for _, name := range []string{"A", "B/2", "Z/13"} {
		r, err := Txn(name)
		require.NoError(t, err)
		require.Equal(t, name, Name(r))
		require.Equal(t, "by "+name[:1]+"!", Names("by "+r.TxnID.String()+"!"))
	}
	for _, s := range []string{"a", "[a,c)", "[,)", "[b,)"} {
		span, err := Span(s)
		require.NoError(t, err)
		require.Equal(t, s, SpanName(span))
	}
	for _, s := range []string{"", "a1", "AB", "A/x"} {
		_, err := Txn(s)
		require.Error(t, err)
	}
}

func TestOperationsReadBack(t *testing.T) {
	for _, text := range []string{
		"get a", "get! a", "put a x", "put a x if absent", "put a x if value y", "del a if version 0.1.7",
		"require a if exists",
		"add a -5", "incr a 5", "scan [a,c)", "scan! [a,) limit 2", "delrange [,c)",
		"moveout a to s2", "moveout a to s0 tombstone", "movein a x@0.1.7", "movein a deleted", "movein a deleted@1.0.7",
		"get a redirected",
	} {
		ops, err := Ops(text)
		require.NoError(t, err)
		require.Equal(t, text, OpText(&ops[0]))
	}
	ops, err := Ops("get a; put b x")
	require.NoError(t, err)
	require.EqualValues(t, 1, ops[1].Seq)
	for _, bad := range []string{"", "get", "fetch a", "put a x if lucky", "add a x", "scan a", "del a if version 7",
		"moveout a", "moveout a to b", "movein a", "movein a x@y"} {
		_, err := Ops(bad)
		require.Error(t, err, bad)
	}
}
