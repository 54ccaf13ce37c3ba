package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a source with two nodes of which the second can be silent.
type cluster struct {
	asked  atomic.Int64
	silent atomic.Bool
	// since is what node 1 was last asked for.
	since atomic.Int64
	act   func(node uint32) *pb.ActivityResponse
	hot   *pb.HotKeysResponse // nil: the hot shard does not respond
}

func (c *cluster) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{NodeId: 1, ClusterId: "test", HotShard: 8,
		Members: []pb.Member{{NodeId: 1, Up: true, Self: true}, {NodeId: 2, Up: true}}}, nil
}

func (c *cluster) HotKeys(context.Context, *pb.HotKeysRequest) (*pb.HotKeysResponse, error) {
	if c.hot == nil {
		return nil, errors.New("no hot shard")
	}
	return c.hot, nil
}

func (c *cluster) Activity(ctx context.Context, in *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	c.asked.Add(1)
	if in.NodeId == 1 {
		c.since.Store(in.SinceS)
	}
	if in.NodeId == 2 && c.silent.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if c.act != nil {
		return c.act(in.NodeId), nil
	}
	return &pb.ActivityResponse{NodeId: in.NodeId}, nil
}

func (c *cluster) ListSnapshots(context.Context, *pb.ListSnapshotsRequest) (*pb.ListSnapshotsResponse, error) {
	return &pb.ListSnapshotsResponse{Snapshots: []pb.Snapshot{{Name: "old", Id: "@1"}, {Name: "new", Id: "@2"}}}, nil
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func document(t *testing.T, h http.Handler) (d Document) {
	t.Helper()
	w := get(t, h, "/console/api/v1/snapshot")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &d))
	return d
}

func TestClusterIsQueriedOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		h := New(c, nil)
		require.Zero(t, c.asked.Load(), "no page is open")
		for range 100 {
			document(t, h)
		}
		require.EqualValues(t, 2, c.asked.Load(), "one request to each node")
		time.Sleep(time.Second)
		document(t, h)
		require.EqualValues(t, 4, c.asked.Load())
		time.Sleep(time.Hour)
		require.EqualValues(t, 4, c.asked.Load())
	})
}

func TestSilentNodeIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{hot: &pb.HotKeysResponse{}}
		c.silent.Store(true)
		began := time.Now()
		d := document(t, New(c, nil))
		require.Equal(t, askTimeout, time.Since(began))
		require.NotNil(t, d.Nodes[0])
		require.True(t, d.Status.Members[1].Up)
		require.Nil(t, d.Nodes[1])
		require.Len(t, d.Problems, 1)
		require.Contains(t, d.Problems[0], "Node n2 did not report its activity")
	})
}

// TestDownNodeIsReportedWithItsShards, and with its share of the keyspace.
func TestDownNodeIsReportedWithItsShards(t *testing.T) {
	d := &Document{Status: &pb.StatusResponse{NodeId: 1, HotShard: 5, Members: []pb.Member{
		{NodeId: 1, Up: true, Self: true, Shards: []uint32{0, 2, 4}, KeyspacePercent: 60},
		{NodeId: 2, Address: "10.0.0.2:7070", Shards: []uint32{1, 3, 5}, KeyspacePercent: 40}}},
		Nodes: make([]*pb.ActivityResponse, 2)}
	d.complete(time.Unix(1, 0))
	require.Equal(t, []string{"Node n2 (10.0.0.2:7070) is down, and with it the shards s1, s3 and s5 (hot), 40 % " +
		"of the keyspace."}, d.Problems)
	require.Equal(t, map[uint32]string{2: "the shards s1, s3 and s5 (hot), 40 % of the keyspace"}, d.Lost)
}

func TestKeysComeFromReceiptsWithoutTheHotShard(t *testing.T) {
	d := document(t, New(&cluster{act: func(node uint32) *pb.ActivityResponse {
		return &pb.ActivityResponse{NodeId: node, Conflicts: []pb.KeyConflict{
			{Key: []byte("a"), Operations: "counter.add-get", HolderOperations: "get", Waits: 2, WaitedUs: 500,
				SinceNs: int64(node) * 1e9, Advice: "Something."},
			{Key: []byte("a"), Operations: "get", HolderOperations: "get", Waits: 1, WaitedUs: 700},
			{Key: []byte("b\xff"), Operations: "get", HolderOperations: "get", Waits: 1, WaitedUs: 7, SinceNs: 5e9},
			{Operations: "get", HolderOperations: "get", Waits: 1, WaitedUs: 1}}}
	}}, nil))
	require.Len(t, d.Problems, 1)
	require.Nil(t, d.Hot)
	require.Len(t, d.Keys, 2, "a wait without a key belongs to no key")
	require.Equal(t, Key{Key: []byte("a"), Conflict: pb.KeyConflict{Operations: "get", HolderOperations: "get", Waits: 6,
		WaitedUs: 2400}}, d.Keys[0], "the operations and the advice are those of the pair with the longest total wait")
	require.Equal(t, `"b\xff"`, string(d.Keys[1].Key))
	require.EqualValues(t, 5e9, d.Keys[1].Conflict.SinceNs)
	require.Equal(t, &pb.KeyConflict{Operations: "get", HolderOperations: "get", Waits: 6, WaitedUs: 1416}, d.Conflicts[0])
}

func TestKeysAreOrderedByCurrentWaits(t *testing.T) {
	more := pb.HotKey{Key: []byte("more"), WaitUsPerS: 20, Shard: 8, MovedNs: 7e9, Reason: "it is hot"}
	move := pb.HotMove{Key: more.Key, FromShard: 3, ToShard: 8, ToHot: true, TimeNs: 7e9, Reason: "it is hot"}
	d := document(t, New(&cluster{hot: &pb.HotKeysResponse{Mode: pb.HotMode_HOT_MODE_AUTO,
		Moves: []pb.HotMove{move}, Keys: []pb.HotKey{{Key: []byte("less"), WaitUsPerS: 10, Shard: 3}, more,
			{Key: []byte("rule")}, {Key: []byte(strings.Repeat("ü", 500)), WaitUsPerS: 5}}}}, nil))
	require.Len(t, d.Keys, 3, "a rule alone is no contention")
	more.Key = nil
	require.Equal(t, Key{Key: []byte("more"), Known: true, Hot: more}, d.Keys[0])
	require.Equal(t, "less", string(d.Keys[1].Key))
	require.LessOrEqual(t, len(d.Keys[2].Key), maxShown+len("…"))
	require.True(t, strings.HasSuffix(string(d.Keys[2].Key), "ü…"), "characters are not split")
	require.Equal(t, &pb.HotKeysResponse{Mode: pb.HotMode_HOT_MODE_AUTO, Moves: []pb.HotMove{move}}, d.Hot)
	listed := d.Snapshots.Snapshots
	require.Equal(t, []string{"new", "old"}, []string{listed[0].Name, listed[1].Name})
}

// TestDocumentIsBounded: of all nodes it has the longest waits and the last receipts, with keys that are cut.
func TestDocumentIsBounded(t *testing.T) {
	long := strings.Repeat("\xff", kv.MaxKeyBytes)
	hot := &pb.HotKeysResponse{Moves: make([]pb.HotMove, 2*maxMoves), Rules: []pb.HotRule{{Key: []byte(long)}}}
	h := New(&cluster{hot: hot, act: func(node uint32) *pb.ActivityResponse {
		out := &pb.ActivityResponse{NodeId: node, Seconds: make([]pb.ActivitySecond, 10_000)}
		for i := range 1000 {
			id, wait := kv.TxnID{Time: int64(node), Rand: uint64(i)}, &pb.Conflict{Key: []byte(long)}
			out.Waits = append(out.Waits, pb.CurrentWait{TxnId: id, WaitedUs: uint64(i), Wait: wait})
			out.Receipts = append(out.Receipts, pb.RecentReceipt{TimeNs: int64(i), Receipt: &pb.Receipt{Abort: wait}})
			out.Conflicts = append(out.Conflicts, pb.KeyConflict{Key: fmt.Append(nil, long, i), Operations: fmt.Sprint(i)})
		}
		return out
	}}, nil)
	require.Less(t, get(t, h, "/console/api/v1/snapshot").Body.Len(), 200_000)
	d := document(t, h)
	require.Equal(t, []int{maxKeys, maxMoves, maxPairs, maxWaits, maxReceipts},
		[]int{len(d.Keys), len(d.Hot.Moves), len(d.Conflicts), len(d.Waits), len(d.Receipts)})
	require.Equal(t, kv.TxnID{Time: 2, Rand: 999}, d.Waits[1].TxnId)
	require.EqualValues(t, []int64{2, 999}, []int64{int64(d.Receipts[1].NodeID), d.Receipts[1].TimeNs})
}

func TestPageNamesEachEnum(t *testing.T) {
	require.Equal(t, []int{10, 4, 3, 3}, []int{len(pb.Cause_name), len(pb.HotMode_name), len(pb.HotPolicy_name),
		len(pb.DiskRejects_name)}, "web/enums.js has a name for each value")
}

// second is a second of n ended transactions, of which one failed and one is retried.
func second(at int64, kind string, n uint32, upper uint64) pb.ActivitySecond {
	return pb.ActivitySecond{TimeS: at, Classes: []pb.ActivityClass{{Kind: kind, Ended: n, Committed: max(n, 2) - 2,
		Retried: 1, Failed: 1, UpperUs: []uint64{upper}, Counts: []uint32{n}}}}
}

func TestSecondsOfAllNodesAreSummed(t *testing.T) {
	s := newSeries()
	s.take(&pb.ActivityResponse{NodeId: 1, Seconds: []pb.ActivitySecond{second(1000, "scan", 98, 100),
		second(1004, "scan", 1, 5)}}, 1005)
	s.take(&pb.ActivityResponse{NodeId: 2, Seconds: []pb.ActivitySecond{second(1000, "one_shot", 2, 9000)}}, 1005)
	got := s.total(0, 1005)
	require.Len(t, got, 1, "the last seconds may be incomplete")
	b, err := json.Marshal(got[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"time_s": 1000, "classes": {
		"scan":     {"ended": 98, "committed": 96, "retried": 1, "failed": 1, "p50_us": 100, "p99_us": 100},
		"one_shot": {"ended": 2, "retried": 1, "failed": 1, "p50_us": 9000, "p99_us": 9000},
		"all":      {"ended": 100, "committed": 96, "retried": 2, "failed": 2, "p50_us": 100, "p99_us": 9000}}}`, string(b))
	require.Equal(t, map[uint32]int64{1: 1004, 2: 1000}, s.since())
	require.Len(t, s.total(1000, 1010), 1)

	s.take(&pb.ActivityResponse{NodeId: 1, Seconds: []pb.ActivitySecond{second(1e9, "scan", 1, 1)}}, 1005)
	require.Len(t, s.nodes[1], 2, "a node whose clock is far ahead does not displace the seconds of others")
	s.take(&pb.ActivityResponse{NodeId: 1}, 1000+kept+late)
	require.Len(t, s.nodes[1], 1, "old seconds are dropped")
}

// streamed is a recorder of a stream.
type streamed struct{ *httptest.ResponseRecorder }

func (streamed) SetWriteDeadline(time.Time) error { return nil }

// TestStreamStartsWithAWholeDocument, and ends when the permission is revoked.
func TestStreamStartsWithAWholeDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{act: func(node uint32) *pb.ActivityResponse {
			now := time.Now().Unix()
			return &pb.ActivityResponse{NodeId: node, Seconds: []pb.ActivitySecond{second(now-100, "scan", 1, 1),
				second(now-3, "scan", 1, 1)}}
		}}
		allowed := 2
		h := New(c, func(context.Context) error {
			if allowed--; allowed < 0 {
				return errors.New("no more")
			}
			return nil
		})
		w := streamed{httptest.NewRecorder()}
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/api/v1/events", nil))
		require.Zero(t, h.streams.Load())
		events := strings.Split(w.Body.String(), "\n\n")
		require.Len(t, events, 3, "the last is empty")
		var docs [2]Document
		for i := range docs {
			data, ok := strings.CutPrefix(events[i], "data: ")
			require.True(t, ok)
			require.NoError(t, json.Unmarshal([]byte(data), &docs[i]))
		}
		require.True(t, docs[0].Whole)
		require.Len(t, docs[0].Seconds, 2)
		require.False(t, docs[1].Whole)
		require.Less(t, len(docs[1].Seconds), len(docs[0].Seconds)+2)
		require.Equal(t, time.Second.Milliseconds(), docs[1].Time-docs[0].Time)
		require.NotZero(t, c.since.Load(), "only new seconds are requested")
	})
}

func TestStreamsAreBounded(t *testing.T) {
	h := New(&cluster{}, nil)
	h.streams.Store(maxStreams)
	w := get(t, h, "/console/api/v1/events")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.EqualValues(t, maxStreams, h.streams.Load())
}

func TestPageIsServed(t *testing.T) {
	h := New(&cluster{}, nil)
	for path, mimeType := range map[string]string{"": "text/html; charset=utf-8",
		"app.js": "text/javascript; charset=utf-8", "style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"} {
		w := get(t, h, "/console/"+path)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Equal(t, mimeType, w.Header().Get("Content-Type"))
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.NotContains(t, w.Body.String(), "//cdn")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/"+path, nil)
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		again := httptest.NewRecorder()
		h.ServeHTTP(again, r)
		require.Equal(t, http.StatusNotModified, again.Code, path)
	}
	require.Equal(t, http.StatusNotFound, get(t, h, "/console/web/app.js").Code)
	require.Equal(t, http.StatusNotFound, get(t, h, "/console/../console.go").Code)
	require.Equal(t, http.StatusMovedPermanently, get(t, h, "/console").Code)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/api/v1/snapshot", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

// TestPageLoadsNothingFromOtherHosts: no file contains a URL except the namespace of SVG.
func TestPageLoadsNothingFromOtherHosts(t *testing.T) {
	entries, err := web.ReadDir("web")
	require.NoError(t, err)
	for _, e := range entries {
		b, err := web.ReadFile("web/" + e.Name())
		require.NoError(t, err)
		text := strings.ReplaceAll(string(b), "http://www.w3.org/2000/svg", "")
		require.NotContains(t, text, "://", e.Name())
		require.NotContains(t, text, "innerHTML", e.Name())
	}
}
