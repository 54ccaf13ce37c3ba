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

// soon is a context for what is expected to happen soon.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), proc.WaitTimeout)
	t.Cleanup(cancel)
	return ctx
}

// single prepares a cluster of one node.
func single(t *testing.T, dir string, args ...string) *proc.Node {
	t.Helper()
	listen, http := proc.FreeAddr(t), proc.FreeAddr(t)
	args = append([]string{"--listen", listen, "--http", http, "--shards", "3", "--cache-mb", "16"}, args...)
	n := proc.NewNode(t, "single", dir, args...)
	n.Listen, n.HTTP, n.Addr = listen, http, listen
	return n
}

// keysOf gives keys of which every shard is likely to have some.
func keysOf(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("key/%03d", i))
	}
	return keys
}

// awaitMetric waits until a metric of a node, summed up over its labels, is as
// wanted.
func awaitMetric(t *testing.T, n *proc.Node, name string, want func(float64) bool) {
	t.Helper()
	last := ""
	proc.Until(t, name+" is as wanted", func(ctx context.Context) bool {
		m, err := n.Metrics(ctx)
		last = fmt.Sprint(m[name], err)
		v, ok := m[name]
		return err == nil && ok && want(v)
	}, func() string { return last })
}

func isOne(v float64) bool  { return v == 1 }
func isZero(v float64) bool { return v == 0 }

// awaitOutput waits until a node has written something.
func awaitOutput(t *testing.T, n *proc.Node, text string) {
	t.Helper()
	proc.Until(t, "the node says "+text, func(context.Context) bool {
		return strings.Contains(n.Output.String(), text)
	}, n.Output.String)
}

// failsAs requires an error of a kind with a text and a hint.
func failsAs(t *testing.T, err error, kind client.Kind, text string) *client.Error {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", err)
	require.Contains(t, e.Error(), text)
	require.NotEmpty(t, e.Hint)
	return e
}

// got requires that keys have values.
func got(t *testing.T, from client.Reader, want string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		require.Equal(t, want, string(value(t, from, k)), "%s", k)
	}
}

// value reads a key.
func value(t *testing.T, from client.Reader, key string) []byte {
	t.Helper()
	v, _, err := from.Get(soon(t), key)
	require.NoError(t, err)
	return v
}

// put writes one value to keys, each in a transaction of its own.
func put(t *testing.T, db *client.DB, value string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		require.NoError(t, db.Put(soon(t), k, []byte(value)))
	}
}

// forget deletes keys that the judge of a torture run would not know.
func forget(t *testing.T, db *client.DB, keys ...string) {
	t.Helper()
	for _, k := range keys {
		require.NoError(t, db.Delete(soon(t), k))
	}
}

// waitFor gives the end of something that runs, which must come within a time.
func waitFor(t *testing.T, done <-chan error, within time.Duration, what string) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		t.Fatalf("%s: it does not end within %v", what, within)
		return nil
	}
}
