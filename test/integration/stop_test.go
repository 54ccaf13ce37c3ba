package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// TestStopUnderLoadLosesNothing stops nodes with SIGTERM under load, one after the other and then all: each
// exits with 0, and nothing is lost.
func TestStopUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: append(hotKeyArgs(), "--drain-timeout", "2s")})
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: 7})
	for _, n := range c.Nodes() {
		run.Await(t, 50)
		begin := time.Now()
		require.Equal(t, cli.ExitOK, n.Stop(t), n.Output)
		require.Less(t, time.Since(begin), 8*time.Second, "the drain has a limit")
		n.Start(t)
	}
	run.Await(t, 50)
	for _, n := range c.Nodes() {
		require.Equal(t, cli.ExitOK, n.Stop(t), n.Output)
	}
	c.Start(t)
	run.Await(t, 50)
	run.Finish(t)
}

// TestOpenTransactionDoesNotPreventStop: nothing of an open interactive transaction is left when its node
// stops.
func TestOpenTransactionDoesNotPreventStop(t *testing.T) {
	t.Parallel()
	n := newSingleNode(t, "node", t.TempDir(), "--drain-timeout", "500ms")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	held, ended := make(chan struct{}), make(chan error, 1)
	stopped := make(chan struct{})
	go func() {
		ended <- db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
			if _, _, err := tx.GetForUpdate(ctx, "k"); err != nil {
				return err
			}
			if err := tx.Put(ctx, "k", []byte("never")); err != nil {
				return err
			}
			close(held)
			<-stopped
			_, _, err := tx.Get(ctx, "more")
			return err
		})
	}()
	select {
	case <-held:
	case err := <-ended:
		t.Fatalf("the transaction ended before it held its locks: %v", err)
	}
	code := n.Stop(t)
	close(stopped)
	require.Error(t, <-ended)
	require.Equal(t, cli.ExitOK, code, n.Output)
	n.Start(t)
	before := client.GetOp("k")
	require.NoError(t, proc.Open(t, []string{n.Addr}).Execute(testContext(t), before, client.PutOp("k", nil)))
	require.False(t, before.Found())
}
