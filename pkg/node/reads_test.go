package node_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// stuck is an engine whose reads of keys with the prefix "blocked" block until it is released.
type stuck struct {
	*memstore.Store
	released chan struct{}
}

func (s *stuck) Read(shard kv.ShardID, r entry.Read) entry.ReadResult {
	if bytes.HasPrefix(r.Key, []byte("blocked")) {
		<-s.released
	}
	return s.Store.Read(shard, r)
}

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.Bytes(), []byte(text))
}

// startReading starts a node with two ordinary shards, which ends with the test.
func startReading(t *testing.T, opt node.Options) *node.Node {
	t.Helper()
	var err error
	opt.Router, err = hotshard.NewRouter(2, 1, nil)
	require.NoError(t, err)
	opt.Clock, err = clock.NewReal()
	require.NoError(t, err)
	n, err := node.Start(opt)
	require.NoError(t, err)
	t.Cleanup(n.Stop)
	return n
}

// While all reads of the disk block, keys in memory are read and written as usual, however many requests
// need the disk: those beyond the queue's bound are rejected, the others end with their deadlines, and the
// log lists slow reads. When the disk responds again, all requests succeed.
func TestBlockedReadsDoNotBlockMemory(t *testing.T) {
	e := &stuck{memstore.NewAutoSync(), make(chan struct{})}
	var log lines
	n := startReading(t, node.Options{ID: 1, Engine: e, Readers: 4, Log: slog.New(slog.NewTextHandler(&log, nil))})
	execute := func(ctx context.Context, ops ...msg.Op) *kv.Error {
		by, _ := ctx.Deadline()
		return n.Gateway().Execute(ctx, gateway.Request{Ops: ops, Deadline: by}).Err
	}
	put := msg.Op{Kind: msg.OpPut, Key: []byte("cached"), Value: []byte("x")}
	require.Nil(t, execute(t.Context(), put))

	// 300 requests for 16 keys each exceed the queue.
	const requests, keys = 300, 16
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	kinds := make(chan kv.Kind, requests)
	for i := range requests {
		var ops []msg.Op
		for j := range keys {
			ops = append(ops, msg.Op{Kind: msg.OpGet, Key: fmt.Appendf(nil, "blocked/%d/%d", i, j)})
		}
		go func() {
			if err := execute(ctx, ops...); err != nil {
				kinds <- err.Kind
			} else {
				kinds <- kv.KindOK
			}
		}()
	}
	rejected := <-kinds
	require.Equal(t, kv.KindResourceExhausted, rejected, "requests beyond the bound end first")
	soon, done := context.WithTimeout(t.Context(), 10*time.Second)
	defer done()
	for range 100 {
		require.Nil(t, execute(soon, put))
		require.Nil(t, execute(soon, msg.Op{Kind: msg.OpGet, Key: put.Key}))
	}
	count := map[kv.Kind]int{rejected: 1}
	for range requests - 1 {
		count[<-kinds]++
	}
	t.Logf("requests that read from the disk: %v", count)
	require.Zero(t, count[kv.KindOK])
	require.Equal(t, requests, count[kv.KindResourceExhausted]+count[kv.KindDeadlineExceeded], "no other error: %v", count)
	require.NotZero(t, count[kv.KindDeadlineExceeded])
	require.Eventually(t, func() bool { return log.has("slow store reads") && log.has("slow=5") }, 10*time.Second,
		time.Millisecond)

	close(e.released)
	for i := range requests {
		require.Nil(t, execute(soon, msg.Op{Kind: msg.OpGet, Key: fmt.Appendf(nil, "blocked/%d/0", i)}))
	}
}

// endless is an engine whose ranges never end and take 2 ms per turn.
type endless struct {
	*memstore.Store
	turns atomic.Int64
}

func (s *endless) Read(shard kv.ShardID, r entry.Read) entry.ReadResult {
	if r.Kind != entry.ReadRange || r.Turn == 0 {
		return s.Store.Read(shard, r)
	}
	s.turns.Add(1)
	time.Sleep(2 * time.Millisecond)
	return entry.ReadResult{ID: r.ID, Kind: r.Kind, Yielded: true, Resume: kv.Next(r.Span.Start)}
}

// Point reads are fast while endless scans run. When the calls of the scans have ended, the scans end too.
func TestAbandonedScansDoNotDelayReads(t *testing.T) {
	e := &endless{Store: memstore.NewAutoSync()}
	n := startReading(t, node.Options{ID: 1, Engine: e, Readers: 4})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 100 {
		op := msg.Op{Kind: msg.OpScan, Key: []byte{'a' + byte(i%3)}, End: []byte("z"), Limit: 10}
		wg.Go(func() {
			by, _ := ctx.Deadline()
			_ = n.Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{op}, Deadline: by,
				How: txn.TxnOptions{User: kv.Account(i % 2)}})
		})
	}
	get := func(i int) time.Duration {
		begin := time.Now()
		op := msg.Op{Kind: msg.OpGet, Key: fmt.Appendf(nil, "blocked/%d", i)}
		r := n.Gateway().Execute(t.Context(), gateway.Request{Ops: []msg.Op{op},
			Deadline: begin.Add(10 * time.Second), How: txn.TxnOptions{User: 1}})
		require.Nil(t, r.Err)
		return time.Since(begin)
	}
	for i := 0; ctx.Err() == nil; i++ {
		require.Less(t, get(i), 3*time.Second, "during the scans")
	}
	wg.Wait()
	require.Less(t, get(1<<20), 3*time.Second, "after the scans")
	require.NotZero(t, e.turns.Load())
	require.Eventually(t, func() bool {
		before := e.turns.Load()
		time.Sleep(100 * time.Millisecond)
		return e.turns.Load() == before
	}, 10*time.Second, time.Millisecond)
}
