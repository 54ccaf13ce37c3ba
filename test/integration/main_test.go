package integration

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

func TestMain(m *testing.M) { os.Exit(proc.Main(m)) }

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

// add returns an operation that adds to a counter.
func add(key string, n int64) client.Op { return client.NewCounter(key).AddOp(n) }

// txID converts a transaction id to the type of the client.
func txID(t *testing.T, id kv.TxnID) client.TxID {
	t.Helper()
	of, err := client.ParseTxID(id.String())
	require.NoError(t, err)
	return of
}
