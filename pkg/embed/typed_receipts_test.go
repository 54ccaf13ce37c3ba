package embed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestReceiptsNameTheMethodsOfDataTypes: what one wanted to do with a value and
// what the other had locked it for, in fields and in words, and what would have
// gone together.
func TestReceiptsNameTheMethodsOfDataTypes(t *testing.T) {
	x := contend(t)
	set := client.NewSet("team", client.String)
	require.NoError(t, set.Add(soon(t), x.db, "ann"))
	call := func(method string, args ...msg.Datum) msg.Op {
		op, err := adt.Call([]byte("team"), "set", method, args)
		require.NoError(t, err)
		return op
	}
	waited := func(holds msg.Op, wants client.Op) client.Receipt {
		t.Helper()
		holder, release := x.holding(holds)
		got := x.executes(wants)
		x.waits()
		release()
		out := <-got
		require.NoError(t, out.Err)
		require.NotNil(t, out.Receipt.Wait)
		require.Equal(t, holder, out.Receipt.Wait.Holder)
		return out.Receipt
	}

	r := waited(call("len"), set.AddOp("bob"))
	require.Equal(t, []string{"set.add", "set.all"}, []string{r.Wait.Lock, r.Wait.HolderLock})
	require.Equal(t, []string{"set.add"}, r.Wait.Operations)
	require.Equal(t, []string{"set.len"}, r.Wait.HolderOperations)
	require.Equal(t, &client.Advice{HolderInstead: "set.contains", Apart: true}, r.Wait.Advice)
	for _, says := range []string{`key "team"`,
		"the add on a set conflicts with a len on a set of transaction " + r.Wait.Holder.String(),
		"Send that transaction as a one-shot, or replace its len on a set with contains " +
			"if that is sufficient and concerns another part of the set."} {
		require.Contains(t, r.String(), says)
	}
	require.NotContains(t, r.String(), "View")

	r = waited(call("contains", adt.Bytes([]byte("eve"))), set.AddOp("eve"))
	require.Equal(t, []string{"set.add", "set.absent"}, []string{r.Wait.Lock, r.Wait.HolderLock})
	require.Equal(t, &client.Advice{Apart: true}, r.Wait.Advice)
	require.Contains(t, r.String(), "Send that transaction as a one-shot, or use different parts of the set, which "+
		"commute.")

	r = waited(forUpdate("team"), set.AddCountOp("joe"))
	require.Equal(t, "write", r.Wait.HolderLock)
	require.Contains(t, r.String(), "the add-count on a set conflicts with a get for update of transaction")
}
