package embed_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestNormalStartsAndStopsLogNoWarning: the log of a node, or of three that start and stop together, with
// and without TLS, twice on the same stores, has no warning, no error, and no text of gRPC.
func TestNormalStartsAndStopsLogNoWarning(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]int{"one node": 1, "three nodes": 3} {
		t.Run(name, func(t *testing.T) { startAndStop(t, nodes, certs.Files{}) })
	}
	t.Run("three nodes with TLS", func(t *testing.T) {
		m := &certs.Maker{Dir: filepath.Join(t.TempDir(), "certs")}
		_, err := m.CreateCA()
		require.NoError(t, err)
		_, err = m.CreateNode("127.0.0.1")
		require.NoError(t, err)
		file := func(name string) string { return filepath.Join(m.Dir, name) }
		startAndStop(t, 3, certs.Files{Cert: file(certs.NodeFile), Key: file(certs.NodeKey), CA: file(certs.CAFile)})
	})
}

func startAndStop(t *testing.T, count int, tls certs.Files) {
	var addrs, dirs []string
	var held []net.Listener
	for range count {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		held = append(held, lis)
		addrs = append(addrs, lis.Addr().String())
		dirs = append(dirs, t.TempDir())
	}
	for _, lis := range held {
		require.NoError(t, lis.Close())
	}
	for range 2 {
		logs := make([]journal, count)
		nodes := make([]*embed.Instance, count)
		var all sync.WaitGroup
		for i := range count {
			all.Go(func() {
				var err error
				nodes[i], err = embed.Start(context.Background(),
					embed.Options{Dir: dirs[i], Listen: addrs[i], Join: strings.Join(addrs, ","), Shards: 4, CacheBytes: 16 << 20,
						Security: embed.Security{TLS: tls}, Log: slog.New(slog.NewTextHandler(&logs[i], nil))})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.False(t, t.Failed())
		for i := range 20 {
			r := nodes[0].Node().Gateway().Execute(soon(t), gateway.Request{Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte{'k',
				byte(i)}, Value: []byte("v")}}})
			require.Nil(t, r.Err)
		}
		for _, n := range nodes {
			all.Go(func() {
				if err := n.Stop(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for i := range logs {
			text := logs[i].String()
			require.Contains(t, text, "node stopped")
			for _, not := range []string{"level=WARN", "level=ERROR", "rpc error", "desc =", "transport"} {
				require.NotContains(t, text, not)
			}
		}
	}
}
