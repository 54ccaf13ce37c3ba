package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

func fill(t *testing.T, db *client.DB, n int) {
	t.Helper()
	var ops []client.Op
	for i := range n {
		ops = append(ops, client.Put(fmt.Appendf(nil, "k%03d", i), fmt.Appendf(nil, "v%d", i)))
	}
	_, err := db.Execute(within(t, 10*time.Second), ops...)
	require.NoError(t, err)
}

func TestScanKeepsItsBounds(t *testing.T) {
	db, _ := openStore(t)
	fill(t, db, 30)
	ctx := within(t, 10*time.Second)
	keys := func(start, end string, o client.ScanOptions) (ks []string) {
		for p, err := range db.Scan(ctx, b(start), b(end), o) {
			require.NoError(t, err)
			ks = append(ks, string(p.Key))
		}
		return ks
	}
	require.Len(t, keys("", "", client.ScanOptions{PageSize: 4}), 30)
	require.Equal(t, []string{"k005", "k006"}, keys("k005", "k007", client.ScanOptions{}))
	require.Equal(t, []string{"k005", "k006", "k007"}, keys("k005", "", client.ScanOptions{Limit: 3, PageSize: 2}))
	require.Empty(t, keys("z", "", client.ScanOptions{}))
}

func TestLeavingTheLoopEndsTheScan(t *testing.T) {
	db, s := openStore(t)
	fill(t, db, 30)
	for p, err := range db.Scan(within(t, 10*time.Second), nil, nil, client.ScanOptions{PageSize: 1}) {
		require.NoError(t, err)
		require.Equal(t, "v0", string(p.Value))
		break
	}
	require.Zero(t, s.Open())
}

func TestFailuresOfScansAreYieldedOnce(t *testing.T) {
	n := startNode(t, servertest.New(), "", server.Options{})
	db := open(t, []string{n.addr}, client.WithRetries(false))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	count := func(ctx context.Context, start, end string) (n int, last error) {
		for _, err := range db.Scan(ctx, b(start), b(end), client.ScanOptions{}) {
			n, last = n+1, err
		}
		return n, last
	}
	times, err := count(context.Background(), "b", "a")
	requireKind(t, kv.KindInvalid, err)
	require.Equal(t, 1, times)
	times, err = count(cancelled, "", "")
	requireKind(t, kv.KindCancelled, err)
	require.Equal(t, 1, times)
	n.stop()
	times, err = count(context.Background(), "", "")
	requireKind(t, kv.KindUnavailable, err)
	require.Equal(t, 1, times)
}

func TestAdminAnswers(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	st, err := db.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, "servertest", st.ClusterId)
	sh, err := db.Shards(ctx)
	require.NoError(t, err)
	require.Len(t, sh.Shards, 1)
	hot, err := db.HotKeys(ctx, 5)
	require.NoError(t, err)
	require.Empty(t, hot.Keys)
}
