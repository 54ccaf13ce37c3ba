package embed_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// mayHold bounds for how long an open reader holds a writer: its budget, the
// time it takes to pin it, and what a busy machine adds.
const mayHold = kv.DefaultOpenBudget + 3*time.Second

// openReader is a view, and what it has read so far.
type openReader struct {
	tx *gateway.Tx
	rs []msg.Result
}

func openView(t *testing.T, c *embed.Cluster, n kv.NodeID, opt gateway.TxOptions) *openReader {
	t.Helper()
	opt.ReadOnly = true
	tx, err := c.Node(n).Gateway().Begin(soon(t), opt)
	require.NoError(t, err)
	return &openReader{tx: tx}
}

func (r *openReader) read(t *testing.T, ops ...msg.Op) error {
	t.Helper()
	rs, err := r.tx.Do(soon(t), ops)
	r.rs = append(r.rs, rs...)
	return err
}

// untilInTime opens a view at a node and calls read with it, again if a shard was late for its snapshot: on a busy
// machine one may be at any time.
func untilInTime(t *testing.T, c *embed.Cluster, n kv.NodeID, read func(r *openReader) error) {
	t.Helper()
	for opt := (gateway.TxOptions{Attempt: 1}); ; opt.Attempt++ {
		r := openView(t, c, n, opt)
		err := read(r)
		if err == nil {
			return
		}
		require.ErrorContains(t, err, "did not respond to the snapshot round in time")
		require.Less(t, opt.Attempt, uint32(100))
		r.tx.Rollback()
		opt.ID = r.tx.ID()
	}
}

// TestAnOpenViewHoldsAWriterNoLongerThanItsBudget: then it goes on to read the
// state that it has begun with.
func TestAnOpenViewHoldsAWriterNoLongerThanItsBudget(t *testing.T) {
	c := remembering(t, time.Second)
	write(t, c, 1, "0")
	for n := kv.NodeID(1); n <= 3; n++ {
		write(t, c, n, "0")
		untilInTime(t, c, n, func(r *openReader) error {
			if err := r.read(t, gets()[0]); err != nil {
				return err
			}
			was, begin := string(r.rs[0].Value), time.Now()
			write(t, c, n%3+1, "1")
			require.Less(t, time.Since(begin), mayHold)
			write(t, c, 1, "2")
			if err := r.read(t, append(gets()[1:], msg.Op{Kind: msg.OpScan})...); err != nil {
				return err
			}
			scanned := r.rs[len(all)]
			require.Equal(t, was, same(t, r.rs[:len(all)]))
			require.Len(t, scanned.Pairs, len(all))
			for _, p := range scanned.Pairs {
				require.Equal(t, was, string(p.Value))
			}
			end := r.tx.Commit(soon(t))
			require.Nil(t, end.Err, "%v", end.Err)
			require.Equal(t, txn.PlanSnapshot, end.Plan)
			return nil
		})
		require.Equal(t, "2", same(t, readAs(t, c, n, txn.TxnOptions{}).Results))
	}
	quiet(t, c)
}

// TestOpenViewsSeeOneStateEach: whenever they are pinned, and whatever is
// written meanwhile.
func TestOpenViewsSeeOneStateEach(t *testing.T) {
	c := remembering(t, time.Second)
	write(t, c, 1, "0")
	w := keepWriting(t, c)
	var views sync.WaitGroup
	for i := range 12 {
		views.Go(func() {
			for round := range 3 {
				before := w.ended.Load()
				var r *openReader
				untilInTime(t, c, kv.NodeID(i%3+1), func(view *openReader) error {
					r = view
					return readSlowly(t, w, r, i%len(all), 1+int64(round))
				})
				n, err := strconv.ParseInt(same(t, r.rs), 10, 64)
				if err != nil || n < before {
					t.Errorf("reader %d saw %d, %v, and %d had been written", i, n, err, before)
				}
			}
		})
	}
	views.Wait()
	w.stop()
	quiet(t, c)
}

// readSlowly reads all keys, and lets some writes end after the read of one.
func readSlowly(t *testing.T, w *writers, r *openReader, pauseAt int, writes int64) error {
	for k, op := range gets() {
		if err := r.read(t, op); err != nil {
			return err
		}
		if k == pauseAt {
			// The first write that ends may have begun before the read; the second one has waited until it was pinned.
			w.await(t, writes)
		}
	}
	if end := r.tx.Commit(soon(t)); end.Err != nil {
		return end.Err
	}
	return nil
}

// awaitBlocked waits until views have blocked a write for d, or, since none is blocked for much longer than
// the views' budget, until two more have been written.
func (w *writers) awaitBlocked(t *testing.T, c *embed.Cluster, d time.Duration) {
	t.Helper()
	want := w.ended.Load() + 2
	require.Eventually(t, func() bool {
		for n := kv.NodeID(1); n <= 3; n++ {
			for _, b := range c.Backend(n).Activity(0, 0, 10).Waits {
				if time.Duration(b.Receipt.WaitedNanos) >= d {
					return true
				}
			}
		}
		return w.ended.Load() >= want
	}, waitTimeout, time.Millisecond)
}

// TestViewsThatAreGivenUpLeaveNothing: by their callers, while they are being
// pinned, and after.
func TestViewsThatAreGivenUpLeaveNothing(t *testing.T) {
	c := remembering(t, time.Second)
	write(t, c, 1, "0")
	w := keepWriting(t, c)
	var views sync.WaitGroup
	for i := range 24 {
		views.Go(func() {
			r := openView(t, c, kv.NodeID(i%3+1), gateway.TxOptions{})
			assert.NoError(t, r.read(t, gets()...))
			w.await(t, 1)
			w.awaitBlocked(t, c, time.Duration(i)*kv.DefaultOpenBudget/12)
			if i%2 == 0 {
				r.tx.Rollback()
			} else if err := r.tx.RollbackChecked(soon(t)); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	views.Wait()
	w.await(t, 5)
	w.stop()
	quiet(t, c)
}

// TestLongScanAtSnapshotHoldsNoUpdate: it gets the state of the snapshot, while
// a hot key, and what it has yet to read, is written again and again.
func TestLongScanAtSnapshotHoldsNoUpdate(t *testing.T) {
	c := remembering(t, 5*grain)
	const keys = 3500 // there are a thousand to a page
	for from := 0; from < keys; from += 500 {
		var ops []msg.Op
		for i := from; i < from+500; i++ {
			ops = append(ops, msg.Op{Kind: msg.OpPut, Key: fmt.Appendf(nil, "k%04d", i), Value: []byte("old")})
		}
		require.Nil(t, execute(t, c, 1, ops...).Err)
	}
	require.Nil(t, execute(t, c, 1, msg.Op{Kind: msg.OpPut, Key: []byte("hot"), Value: []byte("old")}).Err)
	p, err := c.Node(1).Gateway().CreateSnapshot(soon(t), "s", time.Hour)
	require.NoError(t, err)
	seen, pages := 0, 0
	err = c.Node(2).Gateway().Scan(soon(t), gateway.ScanOptions{How: txn.TxnOptions{At: txn.SnapshotRef{Name: "s"}},
		Opened: func(o gateway.Opened) error {
			require.Equal(t, p, o.Snapshot)
			return nil
		}}, func(ps []msg.Pair) error {
		for _, x := range ps {
			if string(x.Value) != "old" {
				return fmt.Errorf("%s is %s", x.Key, x.Value)
			}
		}
		seen += len(ps)
		pages++
		return overwrite(c, keys, pages)
	})
	require.NoError(t, err)
	require.Equal(t, keys+1, seen)
	require.Greater(t, pages, 2)
	quiet(t, c)
}

// overwrite writes the hot key and some others, for longer than the history is
// kept, so that what the snapshot alone needs would be collected.
func overwrite(c *embed.Cluster, keys, round int) error {
	for begin, i := time.Now(), 0; i < 100 || time.Since(begin) < 10*grain; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		r := c.Node(kv.NodeID(i%3+1)).Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{
			{Kind: msg.OpPut, Key: []byte("hot"), Value: []byte("new")},
			{Kind: msg.OpPut, Key: fmt.Appendf(nil, "k%04d", (i*37+round)%keys), Value: []byte("new")},
		}})
		cancel()
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}
