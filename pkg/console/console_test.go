package console

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

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
	hot   func() (*pb.HotKeysResponse, error)
}

func (c *cluster) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{NodeId: 1, ClusterId: "test", HotShard: 8,
		Members: []pb.Member{{NodeId: 1, Up: true, Self: true}, {NodeId: 2, Up: true}}}, nil
}

func (c *cluster) HotKeys(context.Context, *pb.HotKeysRequest) (*pb.HotKeysResponse, error) {
	if c.hot != nil {
		return c.hot()
	}
	return &pb.HotKeysResponse{Mode: pb.HotMode_HOT_MODE_AUTO}, nil
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
		c := &cluster{}
		c.silent.Store(true)
		began := time.Now()
		d := document(t, New(c, nil))
		require.Equal(t, askTimeout, time.Since(began))
		require.True(t, d.Nodes[0].Answered)
		require.True(t, d.Nodes[1].Up)
		require.False(t, d.Nodes[1].Answered)
		require.Len(t, d.Problems, 1)
		require.Contains(t, d.Problems[0], "Node n2 did not report its activity")
	})
}

// TestDownNodeIsReportedWithItsShards, and with its share of the keyspace.
func TestDownNodeIsReportedWithItsShards(t *testing.T) {
	d := documentOf(&answers{status: &pb.StatusResponse{NodeId: 1, HotShard: 5, Members: []pb.Member{
		{NodeId: 1, Up: true, Self: true, Shards: []uint32{0, 2, 4}, KeyspacePercent: 60},
		{NodeId: 2, Address: "10.0.0.2:7070", Shards: []uint32{1, 3, 5}, KeyspacePercent: 40}}},
		nodes: make([]*pb.ActivityResponse, 2)}, time.Unix(1, 0))
	require.Equal(t, []string{"Node n2 (10.0.0.2:7070) is down, and with it the shards s1, s3 and s5 (hot), 40 % " +
		"of the keyspace."}, d.Problems)
	require.Equal(t, "the shards s1, s3 and s5 (hot), 40 % of the keyspace", d.Nodes[1].Lost)
	require.Empty(t, d.Nodes[0].Lost)
}

func TestKeysComeFromReceiptsWithoutTheHotShard(t *testing.T) {
	c := &cluster{hot: func() (*pb.HotKeysResponse, error) { return nil, errors.New("no hot shard") }}
	c.act = func(node uint32) *pb.ActivityResponse {
		return &pb.ActivityResponse{NodeId: node, Conflicts: []pb.KeyConflict{
			{Key: []byte("a"), Operations: "counter.add-get", HolderOperations: "get", Waits: 2, WaitedUs: 500,
				SinceNs: int64(node) * 1e9, Advice: "Something."},
			{Key: []byte("a"), Operations: "get", HolderOperations: "get", Waits: 1, WaitedUs: 700},
			{Key: []byte("b\xff"), Operations: "get", HolderOperations: "get", Waits: 1, WaitedUs: 7, SinceNs: 5e9},
			{Operations: "get", HolderOperations: "get", Waits: 1, WaitedUs: 1}}}
	}
	d := document(t, New(c, nil))
	require.Len(t, d.Problems, 1)
	require.False(t, d.Hot.Known)
	require.Len(t, d.Keys, 2, "a wait without a key belongs to no key")
	k := d.Keys[0]
	require.Equal(t, "a", k.Key)
	require.EqualValues(t, 2400, k.Waited)
	require.EqualValues(t, 6, k.Waits)
	require.Equal(t, "get", k.Operations, "the pair with the longest total wait")
	require.Equal(t, `"b\xff"`, d.Keys[1].Key)
	require.Equal(t, &Conflict{Operations: "get", HolderOperations: "get", Waits: 6, Waited: 1416}, d.Conflicts[0])
}

func TestKeysAreOrderedByCurrentWaits(t *testing.T) {
	c := &cluster{hot: func() (*pb.HotKeysResponse, error) {
		return &pb.HotKeysResponse{Mode: pb.HotMode_HOT_MODE_AUTO, Utilization: 0.25, Keys: []pb.HotKey{
				{Key: []byte("less"), WaitUsPerS: 10, Shard: 3}, {Key: []byte("more"), WaitUsPerS: 20, Shard: 8, MovedNs: 7e9,
					Reason: "it is hot", Policy: pb.HotPolicy_HOT_PIN},
				{Key: []byte("rule")}, {Key: []byte(strings.Repeat("ü", 500)), WaitUsPerS: 5}},
				Moves: []pb.HotMove{{Key: []byte("more"), FromShard: 3, ToShard: 8, ToHot: true, TimeNs: 7e9,
					Reason: "it is hot"}}},
			nil
	}}
	d := document(t, New(c, nil))
	require.Len(t, d.Keys, 3, "a rule alone is no contention")
	require.Equal(t, "more", d.Keys[0].Key)
	require.EqualValues(t, 7000, d.Keys[0].Moved)
	require.Equal(t, "pinned", d.Keys[0].Rule)
	require.Equal(t, "less", d.Keys[1].Key)
	require.LessOrEqual(t, len(d.Keys[2].Key), maxShown+len("…"))
	require.True(t, strings.HasSuffix(d.Keys[2].Key, "ü…"), "characters are not split")
	require.Equal(t, []Move{{Time: 7000, Key: "more", From: 3, To: 8, ToHot: true, Reason: "it is hot"}}, d.Moves)
	require.Equal(t, Hot{Known: true, Mode: "auto", Busy: 0.25, Shard: 8}, d.Hot)
	require.Equal(t, []string{"new", "old"}, []string{d.Snapshots[0].Name, d.Snapshots[1].Name})
}

// second is a second of n ended transactions, of which one failed and one is retried.
func second(at int64, kind string, n uint32, upper uint64) pb.ActivitySecond {
	return pb.ActivitySecond{TimeS: at, Classes: []pb.ActivityClass{{Kind: kind, Ended: n, Committed: max(n, 2) - 2,
		Retried: 1, Failed: 1,
		UpperUs: []uint64{upper}, Counts: []uint32{n}}}}
}

func TestSecondsOfAllNodesAreSummed(t *testing.T) {
	s := newSeries()
	s.take(&pb.ActivityResponse{NodeId: 1, Seconds: []pb.ActivitySecond{second(1000, "scan", 98, 100),
		second(1004, "scan", 1, 5)}}, 1005)
	s.take(&pb.ActivityResponse{NodeId: 2, Seconds: []pb.ActivitySecond{second(1000, "one_shot", 2, 9000)}}, 1005)
	got := s.total(0, 1005)
	require.Len(t, got, 1, "the last seconds may be incomplete")
	require.Equal(t, Second{Time: 1000, Classes: map[string]Class{
		"scan":     {Ended: 98, Committed: 96, Retried: 1, Failed: 1, P50: 100, P99: 100},
		"one_shot": {Ended: 2, Retried: 1, Failed: 1, P50: 9000, P99: 9000},
		"all":      {Ended: 100, Committed: 96, Retried: 2, Failed: 2, P50: 100, P99: 9000}}}, got[0])
	require.Equal(t, map[uint32]int64{1: 1004, 2: 1000}, s.since())
	require.Len(t, s.total(1000, 1010), 1)

	s.take(&pb.ActivityResponse{NodeId: 1, Seconds: []pb.ActivitySecond{second(1e9, "scan", 1, 1)}}, 1005)
	require.Len(t, s.nodes[1], 2, "a node whose clock is far ahead does not displace the seconds of others")
	s.take(&pb.ActivityResponse{NodeId: 1}, 1000+kept+late)
	require.Len(t, s.nodes[1], 1, "old seconds are dropped")
}

func TestStreamStartsWithAWholeDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{}
		c.act = func(node uint32) *pb.ActivityResponse {
			now := time.Now().Unix()
			return &pb.ActivityResponse{NodeId: node, Seconds: []pb.ActivitySecond{second(now-100, "scan", 1, 1),
				second(now-3, "scan", 1, 1)}}
		}
		h := New(c, nil)
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer w.Close()
			h.ServeHTTP(&streamed{PipeWriter: w, header: http.Header{}}, httptest.NewRequestWithContext(ctx, http.MethodGet,
				"/console/api/v1/events", nil))
		}()
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		next := func() (d Document) {
			for lines.Scan() {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					require.NoError(t, json.Unmarshal([]byte(data), &d))
					return d
				}
			}
			t.Fatal("the stream has ended")
			return d
		}
		first := next()
		require.True(t, first.Whole)
		require.Len(t, first.Seconds, 2)
		second := next()
		require.False(t, second.Whole)
		require.Less(t, len(second.Seconds), len(first.Seconds)+2)
		require.Equal(t, time.Second.Milliseconds(), second.Time-first.Time)
		require.NotZero(t, c.since.Load(), "only new seconds are requested")
		cancel()
		go func() { _, _ = io.Copy(io.Discard, r) }()
		<-done
		require.Zero(t, h.streams.Load())
	})
}

// streamed is a response that is read while it is written.
type streamed struct {
	*io.PipeWriter
	header http.Header
}

func (s *streamed) Header() http.Header                { return s.header }
func (s *streamed) WriteHeader(int)                    {}
func (s *streamed) FlushError() error                  { return nil }
func (s *streamed) SetWriteDeadline(_ time.Time) error { return nil }

func TestStreamEndsWhenPermissionIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 3
		h := New(&cluster{}, func(context.Context) error {
			left--
			if left < 0 {
				return errors.New("no more")
			}
			return nil
		})
		r, w := io.Pipe()
		go func() {
			h.ServeHTTP(&streamed{PipeWriter: w, header: http.Header{}},
				httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/api/v1/events", nil))
			_ = w.Close()
		}()
		all, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, 3, strings.Count(string(all), "data: "))
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
