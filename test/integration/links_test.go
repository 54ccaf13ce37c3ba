package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
)

// openThroughProxy opens a client with a proxy between it and a node.
func openThroughProxy(t *testing.T, n *proc.Node) (*client.DB, *proxy.Proxy) {
	t.Helper()
	p, err := proxy.Start(n.Addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return proc.Open(t, []string{p.Addr()}), p
}

// TestIsolatedGatewayServesOwnShards: a gateway that reaches no peer serves the keys of its own shards, and
// returns Unavailable for others.
func TestIsolatedGatewayServesOwnShards(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Replicas: 1, Proxied: true})
	at := c.KeysByNode(t, proc.Keys(12))
	// Node 0 reaches no peer.
	c.Proxy(1).Cut()
	c.Proxy(2).Cut()
	db := proc.Open(t, []string{c.Node(0).Listen}).With(client.NoRetry())
	require.NoError(t, db.Put(proc.Context(t), at[0][0], nil))
	proc.Until(t, "keys of other nodes are unavailable", func(ctx context.Context) bool {
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, _, err := db.Get(short, at[1][0])
		return errors.Is(err, client.ErrUnavailable)
	}, func() string { return "" })
	c.Proxy(1).Heal()
	c.Proxy(2).Heal()
	c.WaitConnected(t)
	_, err := valuesOf(proc.Context(t), db, at[1][0], at[2][0])
	require.NoError(t, err)
}
