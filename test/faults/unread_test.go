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

// unreadScans is the number of concurrent scans that are not read, unreadRows the number of rows of 64 KiB
// for each, and unreadBytes the bound of the memory that each uses on the node: a page of 1 MiB of each of
// four shards, and the page that waits, once more in encoded form.
const (
	unreadScans = 8
	unreadRows  = 320
	unreadBytes = 8 << 20
)

// TestUnreadScansAreAborted: clients start scans that are much larger than a flow-control window, and do
// not read. The node retains a bounded part of each, serves other clients meanwhile, and aborts a scan with
// a reason when a page has waited too long. A metric and the log report it.
func TestUnreadScansAreAborted(t *testing.T) {
	t.Parallel()
	n := proc.NewSingle(t, filepath.Join(t.TempDir(), "store"), "--slow-reader", "3s", "--pprof")
	n.Start(t)
	db := proc.Open(t, []string{n.Addr})
	row := make([]byte, 64<<10)
	for i := 0; i < unreadRows; i += 16 {
		var ops []client.Op
		for j := range 16 {
			ops = append(ops, client.PutOp(fmt.Sprintf("row/%04d", i+j), row))
		}
		require.NoError(t, db.Execute(proc.Context(t), ops...))
	}
	scan := func(ctx context.Context) grpc.ServerStreamingClient[pb.ScanResponse] {
		// One connection each, as from separate clients.
		conn, err := grpc.NewClient("passthrough:///"+n.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			codec.DialOption(),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pb.MaxMessageBytes)))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		stream, err := pb.NewKVClient(conn).Scan(ctx, &pb.ScanRequest{Start: []byte("row/"), End: []byte("row0")})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err)
		return stream
	}
	before := liveHeapBytes(t, n)
	var streams []grpc.ServerStreamingClient[pb.ScanResponse]
	for range unreadScans {
		streams = append(streams, scan(proc.Context(t)))
	}
	most := liveHeapBytes(t, n) - before
	for begin := time.Now(); time.Since(begin) < time.Second; { // less than the timeout of the scans
		most = max(most, liveHeapBytes(t, n)-before)
		put(t, db, "meanwhile", proc.Keys(3)...)
		requireValues(t, db, "meanwhile", proc.Keys(3)...)
	}
	t.Logf("each unread scan of %d MiB uses up to %.1f MiB", unreadRows/16, most/unreadScans/(1<<20))
	require.Positive(t, most, "the memory of the scans is not visible")
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
	rows, s := 16, scan(proc.Context(t)) // the first page has been read
	for {
		page, err := s.Recv()
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		rows += len(page.Entries)
	}
	require.GreaterOrEqual(t, rows, unreadRows, "a scan that is read is complete")
}

// liveHeapBytes returns the size of the heap of a node after a garbage collection.
func liveHeapBytes(t *testing.T, n *proc.Node) float64 {
	t.Helper()
	status, _, err := n.Get(proc.Context(t), "/debug/pprof/heap?gc=1") // collects garbage
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	m, err := n.Metrics(proc.Context(t))
	require.NoError(t, err)
	return m["go_memstats_heap_alloc_bytes"]
}
