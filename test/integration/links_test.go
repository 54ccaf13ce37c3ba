package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// TestLinks cuts the links to nodes under load: connections that end, that are
// refused, and that carry nothing; of one node, of two, of all. A node whose
// link is cut hears nobody, neither peers nor clients, and is still heard.
func TestLinks(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	c := proc.StartCluster(t, proc.Options{Proxied: true, Args: hotKeyArgs()})
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Timeout: time.Second})
	for f := range faults(t, 8) {
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
	c.Met(t)
	run.Await(t, 100)
	run.Finish(t)
}

// linked puts a link between a client and a node.
func linked(t *testing.T, n *proc.Node, opts ...client.Option) (*client.DB, *proxy.Proxy) {
	t.Helper()
	p, err := proxy.Start(n.Addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return proc.OpenOld(t, []string{p.Addr()}, opts...), p
}

// TestClientsLinkIsCut: a client whose connection breaks again and again gets
// every answer right: each increment counts once.
func TestClientsLinkIsCut(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	db, link := linked(t, c.Node(0))
	ctx := soon(t)
	const callers, each = 4, 25
	done := make(chan error, callers)
	progress := make(chan error, callers*each)
	for i := range callers {
		go func() {
			for range each {
				_, err := db.Execute(ctx, client.Add([]byte("n"), 1), client.Add(fmt.Appendf(nil, "m/%d", i), 1))
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
	out, err := c.OpenOld(t).Execute(ctx, client.AddGet([]byte("n"), 0), client.AddGet([]byte("m/0"), 0))
	require.NoError(t, err)
	require.EqualValues(t, callers*each, out.Results[0].Number)
	require.EqualValues(t, each, out.Results[1].Number)
	require.Greater(t, link.Accepted(), 1)
}

// TestANodeWithoutPeersSaysSo: a gateway that reaches nobody refuses what it
// does not have itself, and serves what it has.
func TestANodeWithoutPeersSaysSo(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Proxied: true})
	at := c.Places(t, keysOf(12))
	// Everybody else is unreachable from node 0.
	c.Proxy(1).Cut()
	c.Proxy(2).Cut()
	db := proc.OpenOld(t, []string{c.Node(0).Listen}, client.WithRetries(false))
	_, err := db.Execute(soon(t), client.Put(at[0][0], nil))
	require.NoError(t, err)
	proc.Until(t, "it says so", func(ctx context.Context) bool {
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, err := db.Execute(short, client.Get(at[1][0]))
		return kv.KindOf(err) == kv.KindUnavailable
	}, func() string { return "" })
	c.Proxy(1).Heal()
	c.Proxy(2).Heal()
	c.Met(t)
	_, err = db.Execute(soon(t), client.Get(at[1][0]), client.Get(at[2][0]))
	require.NoError(t, err)
}
