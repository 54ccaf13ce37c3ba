package embed_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// TestANodeThatWaitsForTheOthersIsDrained: the drain reports that it stops, and it
// does, without the others, and releases its directory.
func TestANodeThatWaitsForTheOthersIsDrained(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, lis.Close())
	addr, dir := lis.Addr().String(), t.TempDir()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	go func() {
		_, err := embed.Start(ctx, embed.Options{Dir: dir, Listen: addr, Join: addr + ",127.0.0.1:1", Shards: 1})
		ended <- err
	}()
	var db *client.DB
	require.Eventually(t, func() bool {
		db, err = client.Open(ctx, []string{addr})
		return err == nil
	}, waitTimeout, 10*time.Millisecond)
	defer func() { require.NoError(t, db.Close()) }()
	var phase string
	require.NoError(t, admin.New(db).Drain(soon(t), 0, func(p admin.DrainProgress) { phase = p.Phase }))
	require.Equal(t, "stopping", phase)
	require.ErrorIs(t, <-ended, embed.ErrDrained)
	alone, err := embed.Start(soon(t), embed.Options{Dir: dir, Listen: addr, Shards: 1})
	require.NoError(t, err)
	require.NoError(t, alone.Stop())
}
