package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// unreadScans is how many scans stop reading at once, unreadRows how much there is for
// each, in rows of 64 KiB, and unreadBytes how much memory each may take of the node: a page
// of 1 MiB of each of four shards, and the one that waits, twice, as it is encoded.
const (
	unreadScans = 8
	unreadRows  = 320
	unreadBytes = 8 << 20
)

// TestScansThatNobodyReads: clients begin to scan much more than a window and do not read.
// The node keeps a bounded part of it for each, serves others meanwhile, and ends the scans
// with a reason when a page has waited for long; metric and log tell of them.
func TestScansThatNobodyReads(t *testing.T) {
	t.Parallel()
	n := single(t, filepath.Join(t.TempDir(), "store"), "--slow-reader", "3s", "--pprof")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr})
	row := make([]byte, 64<<10)
	for i := 0; i < unreadRows; i += 16 {
		var ops []client.Op
		for j := range 16 {
			ops = append(ops, client.PutOp(fmt.Sprintf("row/%04d", i+j), row))
		}
		require.NoError(t, db.Execute(soon(t), ops...))
	}
	scan := func(ctx context.Context) grpc.ServerStreamingClient[pb.ScanResponse] {
		// A connection each, as of so many clients.
		conn, err := grpc.NewClient("passthrough:///"+n.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()), codec.DialOption(),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pb.MaxMessageBytes)))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		stream, err := pb.NewKVClient(conn).Scan(ctx, &pb.ScanRequest{Start: []byte("row/"), End: []byte("row0")})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err)
		return stream
	}
	before := live(t, n)
	var streams []grpc.ServerStreamingClient[pb.ScanResponse]
	for range unreadScans {
		streams = append(streams, scan(soon(t)))
	}
	most := live(t, n) - before
	for begin := time.Now(); time.Since(begin) < time.Second; { // less than the scans have
		most = max(most, live(t, n)-before)
		put(t, db, "meanwhile", keysOf(3)...)
		got(t, db, "meanwhile", keysOf(3)...)
	}
	t.Logf("each scan of %d MiB that nobody reads takes up to %.1f MiB", unreadRows/16, most/unreadScans/(1<<20))
	require.Positive(t, most, "what the scans take is not seen")
	require.Less(t, most, float64(unreadScans*unreadBytes))
	awaitMetric(t, n, "linchpin_scans_stalled_total", func(v float64) bool { return v == unreadScans })
	awaitOutput(t, n, "scan aborted: client does not read")
	for _, s := range streams {
		rows, err := 0, error(nil)
		for err == nil {
			var page *pb.ScanResponse
			page, err = s.Recv()
			if err == nil {
				rows += len(page.Entries)
			}
		}
		d := detail.From(err)
		require.NotNil(t, d, "%v", err)
		require.Equal(t, kv.KindResourceExhausted.String(), d.Kind)
		require.Contains(t, d.Message, "the client reads the scan too slowly")
		require.Less(t, rows, unreadRows/2)
	}
	rows, s := 16, scan(soon(t)) // the first page is read already
	for {
		page, err := s.Recv()
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		rows += len(page.Entries)
	}
	require.GreaterOrEqual(t, rows, unreadRows, "who reads gets everything")
}

// live is how many bytes of a node's heap are in use, garbage left out.
func live(t *testing.T, n *proc.Node) float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(soon(t), http.MethodGet, "http://"+n.HTTP+"/debug/pprof/heap?gc=1", nil) // collects garbage
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	m, err := n.Metrics(soon(t))
	require.NoError(t, err)
	return m["go_memstats_heap_alloc_bytes"]
}
