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

// soon is a context for what is expected to take milliseconds.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
	t.Cleanup(cancel)
	return ctx
}

// keysOf gives keys of which every shard is likely to have some.
func keysOf(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("key/%03d", i))
	}
	return keys
}

// getsOf are operations that read keys.
func getsOf(keys ...string) (gets []*client.Result[[]byte], ops []client.Op) {
	for _, k := range keys {
		get := client.GetOp(k)
		gets, ops = append(gets, get), append(ops, get)
	}
	return gets, ops
}

// valuesOf reads the values of keys in one round trip, "" of those that do not exist.
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

// requireCounter requires that a counter has a number.
func requireCounter(t *testing.T, db *client.DB, key string, want int64) {
	t.Helper()
	n, err := client.NewCounter(key).Get(soon(t), db)
	require.NoError(t, err)
	require.Equal(t, want, n, key)
}

// add is an operation that adds to a counter.
func add(key string, n int64) client.Op { return client.NewCounter(key).AddOp(n) }

// txID is the id that a client has for the id of a transaction.
func txID(t *testing.T, id kv.TxnID) client.TxID {
	t.Helper()
	of, err := client.ParseTxID(id.String())
	require.NoError(t, err)
	return of
}
