package integration

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

func TestMain(m *testing.M) { os.Exit(proc.Main(m)) }

// testContext returns a context for calls that normally take milliseconds.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
	t.Cleanup(cancel)
	return ctx
}

// keysOf returns n keys. If n is 12 or more, each node most likely has some of them.
func keysOf(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("key/%03d", i))
	}
	return keys
}

// getsOf returns operations that read keys.
func getsOf(keys ...string) (gets []*client.Result[[]byte], ops []client.Op) {
	for _, k := range keys {
		get := client.GetOp(k)
		gets, ops = append(gets, get), append(ops, get)
	}
	return gets, ops
}

// valuesOf reads keys in one round trip. The value of an absent key is "".
func valuesOf(ctx context.Context, r client.Reader, keys ...string) (values []string, err error) {
	gets, ops := getsOf(keys...)
	if err := r.Execute(ctx, ops...); err != nil {
		return nil, err
	}
	for _, get := range gets {
		values = append(values, string(get.Value()))
	}
	return values, nil
}

// requireCounter requires the value of a counter.
func requireCounter(t *testing.T, db *client.DB, key string, want int64) {
	t.Helper()
	n, err := client.NewCounter(key).Get(testContext(t), db)
	require.NoError(t, err)
	require.Equal(t, want, n, key)
}

// add returns an operation that adds to a counter.
func add(key string, n int64) client.Op { return client.NewCounter(key).AddOp(n) }

// txID converts a transaction id to the type of the client.
func txID(t *testing.T, id kv.TxnID) client.TxID {
	t.Helper()
	of, err := client.ParseTxID(id.String())
	require.NoError(t, err)
	return of
}
