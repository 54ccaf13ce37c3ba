package embed_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// waitTimeout bounds waiting for what must happen.
const waitTimeout = 20 * time.Second

// grain is how often a state of the history is fixed in these tests.
const grain = 20 * time.Millisecond

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	t.Cleanup(cancel)
	return ctx
}

// remembering starts a cluster with a history. One of its keys is hot.
func remembering(t *testing.T, history time.Duration) *embed.Cluster {
	t.Helper()
	return start(t, embed.ClusterOptions{HotKeys: [][]byte{[]byte("hot")},
		Protocol: embed.Protocol{History: history, HistoryEvery: grain}})
}

// quiet waits until nothing is left of any transaction.
func quiet(t *testing.T, c *embed.Cluster) {
	t.Helper()
	until(t, func() (left string) {
		for n := kv.NodeID(1); n <= 3; n++ {
			if k := c.Node(n).Gateway().InFlight() + c.Node(n).Gateway().OpenCount(); k > 0 {
				left += fmt.Sprintf("%d calls at n%d; ", k, n)
			}
			for _, s := range c.Node(n).ShardStats(0) {
				if s.Readers+s.Held+s.FixedCSNs+s.Waiting+s.Holders+s.Prepared > 0 {
					left += fmt.Sprintf("%v: readers %d, held %d, keeps %d, waiting %d, holders %d, prepared %d; ",
						s.Shard, s.Readers, s.Held, s.FixedCSNs, s.Waiting, s.Holders, s.Prepared)
				}
			}
		}
		return left
	})
}

// until waits until nothing is missing, and fails with what is.
func until(t *testing.T, missing func() string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, missing()) }, waitTimeout, 5*time.Millisecond)
}

// all are keys on most shards, the hot one among them.
var all = [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d"), []byte("e"), []byte("hot")}

func puts(value string) (ops []msg.Op) {
	for _, k := range all {
		ops = append(ops, msg.Op{Kind: msg.OpPut, Key: k, Value: []byte(value)})
	}
	return ops
}

func gets() (ops []msg.Op) {
	for _, k := range all {
		ops = append(ops, msg.Op{Kind: msg.OpGet, Key: k})
	}
	return ops
}

// same holds that all results have one value, and gives it.
func same(t require.TestingT, rs []msg.Result) string {
	require.Len(t, rs, len(all))
	for _, r := range rs {
		require.Equal(t, string(rs[0].Value), string(r.Value), "two states")
	}
	return string(rs[0].Value)
}

func readAs(t *testing.T, c *embed.Cluster, n kv.NodeID, how txn.TxnOptions) gateway.Response {
	t.Helper()
	return c.Node(n).Gateway().Execute(soon(t), gateway.Request{Ops: gets(), How: how})
}

// write gives all keys one value.
func write(t *testing.T, c *embed.Cluster, n kv.NodeID, value string) gateway.Response {
	t.Helper()
	r := execute(t, c, n, puts(value)...)
	require.Nil(t, r.Err, "%v", r.Err)
	return r
}

// writers write all keys through all nodes, a greater number each time, until
// stop is called. begun is the number that was begun last.
type writers struct {
	begun, ended atomic.Int64
	stop         func()
}

func keepWriting(t *testing.T, c *embed.Cluster) *writers {
	t.Helper()
	w := &writers{}
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			default:
			}
			v := w.begun.Add(1)
			ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
			r := c.Node(kv.NodeID(n%3+1)).Gateway().Execute(ctx, gateway.Request{Ops: puts(strconv.FormatInt(v, 10))})
			cancel()
			if r.Err != nil {
				t.Errorf("a writer failed: %v", r.Err)
				return
			}
			w.ended.Store(v)
		}
	})
	w.stop = sync.OnceFunc(func() { close(over); done.Wait() })
	t.Cleanup(w.stop)
	return w
}

// await waits until n more have been written.
func (w *writers) await(t *testing.T, n int64) {
	t.Helper()
	want := w.ended.Load() + n
	require.Eventually(t, func() bool { return w.ended.Load() >= want }, waitTimeout, time.Millisecond)
}

func failsWith(t *testing.T, r gateway.Response, k kv.Kind, text string) {
	t.Helper()
	require.NotNil(t, r.Err)
	require.Equal(t, k, r.Err.Kind, "%v", r.Err)
	require.Contains(t, r.Err.Text, text)
	require.NotEmpty(t, r.Err.Hint)
}

func TestASnapshotIsReadThroughEveryNodeWhileWritersGoOn(t *testing.T) {
	c := remembering(t, time.Second)
	write(t, c, 1, "0")
	p, err := c.Node(1).Gateway().CreateSnapshot(soon(t), "s", time.Hour)
	require.NoError(t, err)
	w := keepWriting(t, c)
	for range 5 {
		w.await(t, 5)
		for n := kv.NodeID(1); n <= 3; n++ {
			for _, at := range []txn.SnapshotRef{{Name: "s"}, {Number: p.Number}} {
				r := readAs(t, c, n, txn.TxnOptions{At: at})
				require.Nil(t, r.Err, "%v", r.Err)
				require.Equal(t, "0", same(t, r.Results))
				require.Equal(t, p, r.Snapshot)
				require.Equal(t, txn.PlanSnapshot, r.Plan)
				require.Equal(t, msg.Clock(p.Clock).Encode(), r.Token())
				require.Equal(t, "0", view(t, c, n, at))
				require.Equal(t, "0", scan(t, c, n, txn.TxnOptions{At: at}))
			}
		}
	}
	w.stop()
	l, err := c.Node(2).Gateway().Snapshots(soon(t))
	require.NoError(t, err)
	require.Equal(t, []msg.Snapshot{*p}, l)
	was, err := c.Node(3).Gateway().DropSnapshot(soon(t), txn.SnapshotRef{Number: p.Number})
	require.NoError(t, err)
	require.Equal(t, p, was)
	for n := kv.NodeID(1); n <= 3; n++ {
		failsWith(t, readAs(t, c, n, txn.TxnOptions{At: txn.SnapshotRef{Name: "s"}}), kv.KindNotFound, `snapshot "s"`)
		failsWith(t, readAs(t, c, n, txn.TxnOptions{At: txn.SnapshotRef{Number: p.Number}}), kv.KindTooOld,
			"does not exist: it has expired or was dropped")
	}
	quiet(t, c)
}

// view reads all keys, one after the other, in an interactive transaction.
func view(t *testing.T, c *embed.Cluster, n kv.NodeID, at txn.SnapshotRef) string {
	t.Helper()
	tx, err := c.Node(n).Gateway().Begin(soon(t), gateway.TxOptions{ReadOnly: true, How: txn.TxnOptions{At: at}})
	require.NoError(t, err)
	var rs []msg.Result
	for _, op := range gets() {
		one, err := tx.Do(soon(t), []msg.Op{op})
		require.NoError(t, err)
		rs = append(rs, one...)
	}
	r := tx.Commit(soon(t))
	require.Nil(t, r.Err, "%v", r.Err)
	return same(t, rs)
}

func scan(t *testing.T, c *embed.Cluster, n kv.NodeID, how txn.TxnOptions) string {
	t.Helper()
	var rs []msg.Result
	err := c.Node(n).Gateway().Scan(soon(t), gateway.ScanOptions{How: how}, func(ps []msg.Pair) error {
		for _, p := range ps {
			rs = append(rs, msg.Result{Value: p.Value})
		}
		return nil
	})
	require.NoError(t, err)
	return same(t, rs)
}

func TestASnapshotExpires(t *testing.T) {
	c := remembering(t, -1)
	write(t, c, 1, "0")
	p, err := c.Node(1).Gateway().CreateSnapshot(soon(t), "short", 50*time.Millisecond)
	require.NoError(t, err)
	require.InDelta(t, 50*time.Millisecond, p.Expires-p.Time, float64(time.Second), "it counts from when it is kept")
	var r gateway.Response
	require.Eventually(t, func() bool {
		r = readAs(t, c, 2, txn.TxnOptions{At: txn.SnapshotRef{Number: p.Number}})
		if r.Err == nil {
			same(t, r.Results)
		}
		return r.Err != nil
	}, waitTimeout, 5*time.Millisecond)
	failsWith(t, r, kv.KindTooOld, "does not exist: it has expired or was dropped")
	failsWith(t, readAs(t, c, 3, txn.TxnOptions{At: txn.SnapshotRef{Name: "short"}}), kv.KindNotFound,
		"it may have expired")
	l, err := c.Node(1).Gateway().Snapshots(soon(t))
	require.NoError(t, err)
	require.Empty(t, l)
	_, err = c.Node(2).Gateway().CreateSnapshot(soon(t), "short", time.Hour)
	require.NoError(t, err, "the name is free")
	quiet(t, c)
}

func TestTheSameNameIsRefused(t *testing.T) {
	c := remembering(t, -1)
	var made, refused atomic.Int64
	var all sync.WaitGroup
	for n := range 9 {
		all.Go(func() {
			_, err := c.Node(kv.NodeID(n%3+1)).Gateway().CreateSnapshot(soon(t), "s", time.Hour)
			switch kv.KindOf(err) {
			case kv.KindOK:
				made.Add(1)
			case kv.KindConditionFailed:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(1), made.Load())
	require.Equal(t, int64(8), refused.Load())
	quiet(t, c)
}

func TestThePastCannotBeWritten(t *testing.T) {
	c := remembering(t, time.Second)
	write(t, c, 1, "0")
	_, err := c.Node(1).Gateway().CreateSnapshot(soon(t), "s", time.Hour)
	require.NoError(t, err)
	for _, at := range []txn.SnapshotRef{{Name: "s"}, {AsOf: time.Now().UnixNano()}} {
		r := c.Node(2).Gateway().Execute(soon(t), gateway.Request{Ops: puts("1"), How: txn.TxnOptions{At: at}})
		failsWith(t, r, kv.KindInvalid, "cannot read at a snapshot or in the past")
		_, err := c.Node(2).Gateway().Begin(soon(t), gateway.TxOptions{How: txn.TxnOptions{At: at}})
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
		require.ErrorContains(t, err, "cannot read at a snapshot or in the past")
		tx, err := c.Node(2).Gateway().Begin(soon(t), gateway.TxOptions{ReadOnly: true, How: txn.TxnOptions{At: at}})
		require.NoError(t, err)
		_, err = tx.Do(soon(t), puts("1"))
		require.ErrorContains(t, err, "the transaction is read-only")
		tx.Rollback()
	}
	require.Equal(t, "0", same(t, readAs(t, c, 3, txn.TxnOptions{}).Results))
	quiet(t, c)
}

func TestTokenIsValidAtEveryNode(t *testing.T) {
	c := remembering(t, time.Second)
	for i := range 20 {
		from, to := kv.NodeID(i%3+1), kv.NodeID((i+1)%3+1)
		value := strconv.Itoa(i)
		r := write(t, c, from, value)
		seen, err := vclock.Decode(r.Token())
		require.NoError(t, err)
		got := readAs(t, c, to, txn.TxnOptions{After: seen})
		require.Nil(t, got.Err, "%v", got.Err)
		require.Equal(t, value, same(t, got.Results))
		require.True(t, msg.Clock(got.At).Covers(seen), "%v, after %v", got.At, seen)
		require.Equal(t, value, scan(t, c, to, txn.TxnOptions{After: seen}))
	}
	quiet(t, c)
}

func TestTokenOfAnotherStateIsRejected(t *testing.T) {
	c := remembering(t, time.Second)
	write(t, c, 1, "0")
	p, err := c.Node(1).Gateway().CreateSnapshot(soon(t), "s", time.Hour)
	require.NoError(t, err)
	later := write(t, c, 1, "1")
	after, err := vclock.Decode(later.Token())
	require.NoError(t, err)
	_, err = c.Node(2).Gateway().CreateSnapshot(soon(t), "new", time.Hour)
	require.NoError(t, err)
	require.Equal(t, "1", same(t, readAs(t, c, 3, txn.TxnOptions{At: txn.SnapshotRef{Name: "new"}, After: after}).Results))
	ahead, absent := &vclock.Clock{}, &vclock.Clock{}
	for s := range c.Router().Shards() {
		ahead.Raise(kv.ShardID(s), 1<<40)
	}
	absent.Raise(kv.ShardID(c.Router().Shards()), 1)
	for text, how := range map[string]txn.TxnOptions{
		"names a state that this cluster has not reached": {After: ahead},
		"names shard s9, which this cluster does not":     {After: absent},
		fmt.Sprintf("snapshot %d is older than the causality token", p.Number): {After: after,
			At: txn.SnapshotRef{Name: "s"}},
	} {
		failsWith(t, readAs(t, c, 2, how), kv.KindInvalid, text)
		err := c.Node(2).Gateway().Scan(soon(t), gateway.ScanOptions{How: how}, func([]msg.Pair) error { return nil })
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
		require.ErrorContains(t, err, text)
		tx, err := c.Node(2).Gateway().Begin(soon(t), gateway.TxOptions{ReadOnly: true, How: how})
		if err == nil {
			_, err = tx.Do(soon(t), gets())
			if r := tx.Commit(soon(t)); err == nil && r.Err != nil {
				err = r.Err
			}
		}
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), text)
		require.ErrorContains(t, err, text)
	}
	quiet(t, c)
}
