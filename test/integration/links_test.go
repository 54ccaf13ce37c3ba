package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// TestCutLinksLoseNothing cuts links to nodes under load: connections that end, that are refused, and that
// carry nothing, of one node, two or all. The node behind a cut link receives nothing from peers and
// clients, but can still send to its peers.
func TestCutLinksLoseNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	c := proc.StartCluster(t, proc.Options{Proxied: true, Args: hotKeyArgs()})
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Timeout: time.Second})
	for f := range faultCount(t, 8) {
		run.Await(t, 50+r.IntN(100))
		links := []*proxy.Proxy{c.Proxy(r.IntN(3)), c.Proxy(r.IntN(3)), c.Proxy(r.IntN(3))}[:1+r.IntN(3)]
		for _, l := range links {
			switch f % 3 {
			case 0:
				l.Break()
			case 1:
				l.Cut()
			case 2:
				l.Swallow()
			}
		}
		if f%3 != 0 {
			run.AwaitFailures(t, 4)
		}
		for _, l := range links {
			l.Heal()
		}
	}
	c.WaitConnected(t)
	run.Await(t, 100)
	run.Finish(t)
}

// openThroughProxy opens a client with a proxy between it and a node.
func openThroughProxy(t *testing.T, n *proc.Node) (*client.DB, *proxy.Proxy) {
	t.Helper()
	p, err := proxy.Start(n.Addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return proc.Open(t, []string{p.Addr()}), p
}

// TestRetriesAcrossBrokenLinksApplyOnce: if the connection of a client breaks repeatedly, every increment
// still succeeds and is applied once.
func TestRetriesAcrossBrokenLinksApplyOnce(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	db, link := openThroughProxy(t, c.Node(0))
	ctx := testContext(t)
	const callers, each = 4, 25
	done := make(chan error, callers)
	progress := make(chan error, callers*each)
	for i := range callers {
		go func() {
			for range each {
				err := db.Execute(ctx, add("n", 1), add(fmt.Sprintf("m/%d", i), 1))
				progress <- err
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		for range callers * each / 10 {
			require.NoError(t, <-progress)
		}
		link.Break()
	}
	for range callers {
		require.NoError(t, <-done)
	}
	n, m := client.NewCounter("n").AddGetOp(0), client.NewCounter("m/0").AddGetOp(0)
	require.NoError(t, c.Open(t).Execute(ctx, n, m))
	require.EqualValues(t, callers*each, n.Value())
	require.EqualValues(t, each, m.Value())
	require.Greater(t, link.Accepted(), 1)
}

// TestIsolatedGatewayServesOwnShards: a gateway that reaches no peer serves the keys of its own shards, and
// returns Unavailable for others.
func TestIsolatedGatewayServesOwnShards(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Proxied: true})
	at := c.KeysByNode(t, keysOf(12))
	// Node 0 reaches no peer.
	c.Proxy(1).Cut()
	c.Proxy(2).Cut()
	db := proc.Open(t, []string{c.Node(0).Listen}).With(client.NoRetry())
	require.NoError(t, db.Put(testContext(t), at[0][0], nil))
	proc.Until(t, "keys of other nodes are unavailable", func(ctx context.Context) bool {
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, _, err := db.Get(short, at[1][0])
		return errors.Is(err, client.ErrUnavailable)
	}, func() string { return "" })
	c.Proxy(1).Heal()
	c.Proxy(2).Heal()
	c.WaitConnected(t)
	_, err := valuesOf(testContext(t), db, at[1][0], at[2][0])
	require.NoError(t, err)
}
