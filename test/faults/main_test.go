package faults

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
)

func TestMain(m *testing.M) {
	if code, done := sandbox.Main(); done {
		os.Exit(code)
	}
	os.Exit(proc.Main(m))
}

// awaitMetric waits until a metric of a node, summed over its labels, satisfies a condition.
func awaitMetric(t *testing.T, n *proc.Node, name string, satisfied func(float64) bool) {
	t.Helper()
	last := ""
	proc.Until(t, name+" satisfies the condition", func(ctx context.Context) bool {
		m, err := n.Metrics(ctx)
		last = fmt.Sprint(m[name], err)
		v, ok := m[name]
		return err == nil && ok && satisfied(v)
	}, func() string { return last })
}

func isOne(v float64) bool  { return v == 1 }
func isZero(v float64) bool { return v == 0 }

// awaitOutput waits until a node has written a text, in any of its runs.
func awaitOutput(t *testing.T, n *proc.Node, text string) {
	t.Helper()
	proc.Until(t, "the node writes "+text, func(context.Context) bool {
		return strings.Contains(n.Output.String(), text)
	}, n.Output.String)
}

// requireKind requires an error of a kind with a text and a hint, and returns it.
func requireKind(t *testing.T, err error, kind client.Kind, text string) *client.Error {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", err)
	require.Contains(t, e.Error(), text)
	require.NotEmpty(t, e.Hint)
	return e
}

// requireValues requires that keys have a value.
func requireValues(t *testing.T, from client.Reader, want string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		require.Equal(t, want, string(value(t, from, k)), "%s", k)
	}
}

// value reads a key.
func value(t *testing.T, from client.Reader, key string) []byte {
	t.Helper()
	v, _, err := from.Get(proc.Context(t), key)
	require.NoError(t, err)
	return v
}

// put writes a value to keys, each in its own transaction.
func put(t *testing.T, db *client.DB, value string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		require.NoError(t, db.Put(proc.Context(t), k, []byte(value)))
	}
}

// deleteKeys deletes keys that the history of a torture run does not contain.
func deleteKeys(t *testing.T, db *client.DB, keys ...string) {
	t.Helper()
	for _, k := range keys {
		require.NoError(t, db.Delete(proc.Context(t), k))
	}
}

// awaitResult waits for a result, for at most a time.
func awaitResult(t *testing.T, done <-chan error, within time.Duration, what string) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		t.Fatalf("%s: not finished within %v", what, within)
		return nil
	}
}
