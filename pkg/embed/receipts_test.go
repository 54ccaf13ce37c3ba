package embed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// contended is a cluster with a client, whose keys hold counters. It keeps no
// history, for which updates have to wait as well.
type contended struct {
	*testing.T
	c  *embed.Cluster
	db *client.DB
}

func contend(t *testing.T) *contended {
	t.Helper()
	// A key for which somebody waits for long would be moved, and a move goes before
	// all who hold it.
	x := &contended{T: t, c: start(t, embed.ClusterOptions{Listen: true, HistoryEvery: -1, HotKeys: [][]byte{[]byte("hot")}, Hot: hotshard.ModeOff})}
	var err error
	x.db, err = client.Open(t.Context(), x.c.Addrs()[1:2], client.WithRetries(false))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.db.Close()) })
	for _, k := range []string{"a", "b", "c", "hot"} {
		_, err := x.db.Execute(soon(t), client.Add([]byte(k), 1))
		require.NoError(t, err)
	}
	return x
}

// holding locks what ops need in a transaction of the first node, until the
// returned function is called. It is older than all others: a client that took
// long to connect knows the time less well, and one that seems to be older lets
// the holder go after its idle grace of a second.
func (x *contended) holding(ops ...msg.Op) (kv.TxnID, func()) {
	x.Helper()
	tx, err := x.c.Node(1).Gateway().Begin(soon(x.T), gateway.TxOptions{ID: kv.TxnID{Time: time.Now().Add(-time.Minute).UnixNano()}})
	require.NoError(x, err)
	_, err = tx.Do(soon(x.T), ops)
	require.NoError(x, err)
	return tx.ID(), tx.Rollback
}

// waits is when some request has waited for a lock for long enough to be told of.
func (x *contended) waits() {
	x.Helper()
	require.Eventually(x, func() bool {
		for n := kv.NodeID(1); n <= 3; n++ {
			for _, s := range x.c.Backend(n).Shards() {
				if s.Waiting > 0 {
					return true
				}
			}
		}
		return false
	}, 10*time.Second, time.Millisecond)
	time.Sleep(2 * detail.LeastWait)
}

func forUpdate(key string) msg.Op {
	return msg.Op{Kind: msg.OpGet, Key: []byte(key), ForUpdate: true}
}

// told is what a receipt has to tell: all of it, in fields and in words.
func (x *contended) told(r client.Receipt, key string, holder kv.TxnID, mine, theirs string, words ...string) {
	x.Helper()
	require.NotNil(x, r.Wait, "%+v", r)
	require.Positive(x, r.Waited)
	require.Equal(x, key, string(r.Key))
	require.Equal(x, holder, r.Holder)
	require.Equal(x, pb.Cause_CAUSE_LOCK, r.Wait.Cause)
	require.Equal(x, []string{mine}, r.Wait.Operations)
	require.Equal(x, []string{theirs}, r.Wait.HolderOperations)
	for _, w := range append(words, fmt.Sprintf("key %q", key), "transaction "+holder.String()) {
		require.Contains(x, r.String(), w)
	}
}

// TestWhoWaitedIsToldForWhom: a one-shot that locks in the instant of the
// decision, one that locks on three shards, and a step of an interactive
// transaction wait for a get for update. Their responses name it.
func TestWhoWaitedIsToldForWhom(t *testing.T) {
	x := contend(t)
	for _, key := range []string{"a", "b", "c", "hot"} {
		for _, ops := range [][]client.Op{
			{client.Add([]byte(key), 1)},
			{client.Add([]byte("a"), 1), client.Add([]byte("b"), 1), client.Add([]byte("c"), 1), client.Add([]byte("hot"), 1)},
		} {
			holder, release := x.holding(forUpdate(key))
			got := make(chan *client.Outcome, 1)
			go func() {
				out, _ := x.db.Execute(soon(t), ops...)
				got <- out
			}()
			x.waits()
			release()
			out := <-got
			require.NotNil(t, out)
			x.told(out.Receipt, key, holder, "add", "get-for-update", "Waited ", "the add conflicts with a get for update of transaction ",
				"Send that transaction as a one-shot, or replace its get for update with an add if the key is only incremented")
			require.False(t, out.Receipt.Waiting)
		}
		holder, release := x.holding(forUpdate(key))
		var out client.Outcome
		done := make(chan error, 1)
		go func() {
			done <- x.db.With(client.Into(&out)).Update(soon(t), func(tx *client.Tx) error {
				_, err := tx.GetForUpdate([]byte(key))
				return errors.Join(err, tx.Put([]byte("other"), []byte("x")))
			})
		}()
		x.waits()
		release()
		require.NoError(t, <-done)
		x.told(out.Receipt, key, holder, "get-for-update", "get-for-update", "Waited ",
			"Send both transactions as one-shots, or replace both with an add if the key is only incremented")
		require.True(t, out.Receipt.Wait.Interactive && out.Receipt.Wait.HolderInteractive)
	}
}

// TestWhoseTimeIsOverIsToldWhatItWaitedFor: although nothing has ended the wait,
// wherever it is, on the shard that decides or on one that takes part.
func TestWhoseTimeIsOverIsToldWhatItWaitedFor(t *testing.T) {
	x := contend(t)
	for _, key := range []string{"a", "b", "c", "hot"} {
		holder, release := x.holding(forUpdate(key))
		for name, run := range map[string]func(ctx context.Context) error{
			"one key": func(ctx context.Context) error {
				_, err := x.db.Execute(ctx, client.Add([]byte(key), 1))
				return err
			},
			"four keys": func(ctx context.Context) error {
				_, err := x.db.Execute(ctx, client.Add([]byte("a"), 1), client.Add([]byte("b"), 1), client.Add([]byte("c"), 1), client.Add([]byte("hot"), 1))
				return err
			},
			"a step": func(ctx context.Context) error {
				return x.db.Update(ctx, func(tx *client.Tx) error {
					_, err := tx.AddGet([]byte(key), 1)
					return err
				})
			},
			"a commit": func(ctx context.Context) error {
				return x.db.Update(ctx, func(tx *client.Tx) error { return tx.Add([]byte(key), 1) })
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			err := run(ctx)
			cancel()
			e, ok := errors.AsType[*client.Error](err)
			require.True(t, ok, "%s of %s: %v", name, key, err)
			require.Equal(t, kv.KindDeadlineExceeded, e.Kind, "%s of %s: %v", name, key, err)
			require.True(t, e.Receipt.Waiting)
			mine := "add"
			if name == "a step" {
				mine = "add-get" // although it begins with a get for update
			}
			x.told(e.Receipt, key, holder, mine, "get-for-update", "Still waiting after ")
			require.True(t, strings.HasSuffix(e.Error(), e.Receipt.String()), "the error has it: %v", e)
		}
		release()
	}
}

// TestWhoHadToGiveWayIsToldForWhom: two transactions each wait for what the other
// one has, and the older wins.
func TestWhoHadToGiveWayIsToldForWhom(t *testing.T) {
	x := contend(t)
	older, err := x.c.Node(1).Gateway().Begin(soon(t), gateway.TxOptions{ID: kv.TxnID{Time: time.Now().Add(-time.Minute).UnixNano()}})
	require.NoError(t, err)
	defer older.Rollback()
	_, err = older.Do(soon(t), []msg.Op{forUpdate("b")})
	require.NoError(t, err)
	done := make(chan error, 1)
	err = x.db.Update(soon(t), func(tx *client.Tx) error {
		if _, err := tx.GetForUpdate([]byte("a")); err != nil {
			return err
		}
		go func() {
			_, err := older.Do(soon(t), []msg.Op{forUpdate("a")})
			done <- err
		}()
		_, err := tx.GetForUpdate([]byte("b"))
		return err
	})
	require.NoError(t, <-done)
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, kv.KindAborted, e.Kind)
	r := e.Receipt
	require.Equal(t, 1, r.Aborted)
	require.Equal(t, "wounded", r.Reason)
	require.NotNil(t, r.Abort)
	require.Equal(t, pb.Cause_CAUSE_WOUND, r.Abort.Cause)
	require.Equal(t, "a", string(r.Abort.Key))
	require.Equal(t, older.ID(), r.Abort.Holder)
	require.Equal(t, []string{"get-for-update"}, r.Abort.HolderOperations)
	require.Contains(t, r.String(), fmt.Sprintf("1 attempt was aborted because transaction %v, which is older, needed key \"a\" for a get for update", older.ID()))
}

// TestWhoNeedNotWaitHasNoReceipt: it is there when there is something to tell.
func TestWhoNeedNotWaitHasNoReceipt(t *testing.T) {
	x := contend(t)
	out, err := x.db.Execute(soon(t), client.Add([]byte("a"), 1))
	require.NoError(t, err)
	require.Equal(t, client.Receipt{}, out.Receipt)
}

// TestWhoReadsInOrderToWriteIsToldWhatHelps: one request, or an add. A View is of no help to
// it, nor to whom it waits for.
func TestWhoReadsInOrderToWriteIsToldWhatHelps(t *testing.T) {
	x := contend(t)
	err := x.db.Update(soon(t), func(tx *client.Tx) error {
		have, err := tx.Get([]byte("hot"))
		if err != nil {
			return err
		}
		_, err = x.db.Execute(soon(t), client.Add([]byte("hot"), 1))
		return errors.Join(err, tx.Add([]byte("hot"), have.Number))
	})
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.NotNil(t, e.Receipt.Abort)
	require.Equal(t, pb.Cause_CAUSE_CHANGED, e.Receipt.Abort.Cause)
	require.True(t, e.Receipt.Abort.Interactive)
	require.Contains(t, e.Receipt.String(), "Send this transaction as a one-shot, or use an add if the key is only incremented.")

	for _, mine := range []client.Op{client.Delete([]byte("a")), client.Put([]byte("a"), nil), client.AddGet([]byte("a"), 1)} {
		_, release := x.holding(msg.Op{Kind: msg.OpGet, Key: []byte("a")})
		got := make(chan *client.Outcome, 1)
		go func() {
			out, _ := x.db.Execute(soon(t), mine)
			got <- out
		}()
		x.waits()
		release()
		out := <-got
		require.NotNil(t, out)
		require.Equal(t, []string{"get"}, out.Receipt.Wait.HolderOperations)
		require.Contains(t, out.Receipt.String(), "Send that transaction as a one-shot")
		require.NotContains(t, out.Receipt.String(), "View")
		_, err := x.db.Execute(soon(t), client.Delete([]byte("a")))
		require.NoError(t, err)
	}
}
