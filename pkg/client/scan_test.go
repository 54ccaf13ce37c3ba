package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

func fill(t *testing.T, db *client.DB, n int) {
	t.Helper()
	var ops []client.Op
	for i := range n {
		ops = append(ops, client.PutOp(fmt.Sprintf("k%03d", i), fmt.Appendf(nil, "v%d", i)))
	}
	err := db.Execute(within(t, 10*time.Second), ops...)
	require.NoError(t, err)
}

func TestScanKeepsItsBounds(t *testing.T) {
	db, _ := openStore(t)
	fill(t, db, 30)
	ctx := within(t, 10*time.Second)
	keys := func(start, end string, o ...client.ScanOption) (ks []string) {
		for p, err := range db.Scan(ctx, client.Range{Start: start, End: end}, o...) {
			require.NoError(t, err)
			ks = append(ks, p.Key)
		}
		return ks
	}
	require.Len(t, keys("", "", client.PageSize(4)), 30)
	require.Equal(t, []string{"k005", "k006"}, keys("k005", "k007"))
	require.Equal(t, []string{"k005", "k006", "k007"}, keys("k005", "", client.Limit(3), client.PageSize(2)))
	require.Empty(t, keys("z", ""))
}

func TestLeavingTheLoopEndsTheScan(t *testing.T) {
	db, s := openStore(t)
	fill(t, db, 30)
	for p, err := range db.Scan(within(t, 10*time.Second), client.Range{}, client.PageSize(1)) {
		require.NoError(t, err)
		require.Equal(t, "v0", string(p.Value))
		break
	}
	require.Zero(t, s.Open())
}

func TestFailuresOfScansAreYieldedOnce(t *testing.T) {
	n := startNode(t, servertest.New(), "", server.Options{})
	db := hasty(open(t, []string{n.addr}))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	count := func(ctx context.Context, start, end string) (n int, last error) {
		for _, err := range db.Scan(ctx, client.Range{Start: start, End: end}) {
			n, last = n+1, err
		}
		return n, last
	}
	times, err := count(context.Background(), "b", "a")
	requireKind(t, client.KindInvalid, err)
	require.Equal(t, 1, times)
	times, err = count(cancelled, "", "")
	requireKind(t, client.KindCancelled, err)
	require.Equal(t, 1, times)
	n.stop()
	times, err = count(context.Background(), "", "")
	requireKind(t, client.KindUnavailable, err)
	require.Equal(t, 1, times)
}
