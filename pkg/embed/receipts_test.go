package embed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// contended is a cluster with a client, whose keys hold counters: a, b, c and hot, which is on the hot
// shard. With the suffix valued they are values, which do not exist. It keeps no history, which blocks
// updates, too.
type contended struct {
	*testing.T
	c  *embed.Cluster
	db *client.DB
}

const valued = "-value"

func contend(t *testing.T) *contended {
	t.Helper()
	// A key with long waits would be moved, and a move precedes its holders.
	o := embed.ClusterOptions{Listen: true, Protocol: embed.Protocol{HistoryEvery: -1, Hot: hotshard.ModeOff},
		HotKeys: [][]byte{[]byte("hot"), []byte("hot" + valued)}}
	x := &contended{T: t, c: start(t, o)}
	x.db = connect(t, x.c.Addrs()[1]).With(client.NoRetry())
	for _, k := range []string{"a", "b", "c", "hot"} {
		require.NoError(t, client.NewCounter(k).Add(soon(t), x.db, 1))
	}
	return x
}

// holding locks what ops need in a transaction of the first node, until the
// returned function is called. It is older than all others: a client that took
// long to connect knows the time less well, and one that seems to be older lets
// the holder go after its idle grace of a second.
func (x *contended) holding(ops ...msg.Op) (client.TxID, func()) {
	x.Helper()
	tx := x.older()
	_, err := tx.Do(soon(x.T), ops)
	require.NoError(x, err)
	return x.id(tx), tx.Rollback
}

// older begins a transaction of the first node that is a minute old.
func (x *contended) older() *gateway.Tx {
	x.Helper()
	id := kv.TxnID{Time: time.Now().Add(-time.Minute).UnixNano()}
	tx, err := x.c.Node(1).Gateway().Begin(soon(x.T), gateway.TxOptions{ID: id})
	require.NoError(x, err)
	return tx
}

func (x *contended) id(tx *gateway.Tx) client.TxID {
	x.Helper()
	id, err := client.ParseTxID(tx.ID().String())
	require.NoError(x, err)
	return id
}

// executes executes operations in another goroutine, and sends the report.
func (x *contended) executes(ops ...client.Op) <-chan client.Report {
	got := make(chan client.Report, 1)
	go func() {
		var report client.Report
		_ = x.db.With(client.ReportTo(&report)).Execute(soon(x.T), ops...) // the report has the error
		got <- report
	}()
	return got
}

// waits returns when some request has waited for a lock for long enough to be reported.
func (x *contended) waits() {
	x.Helper()
	x.waitsFor("")
}

func forUpdate(key string) msg.Op {
	return msg.Op{Kind: msg.OpGet, Key: []byte(key), ForUpdate: true}
}

// adds are increments of keys.
func adds(keys ...string) (ops []client.Op) {
	for _, key := range keys {
		ops = append(ops, client.NewCounter(key).AddOp(1))
	}
	return ops
}

// requireReceipt checks all of a receipt, in fields and in words.
func (x *contended) requireReceipt(
	r client.Receipt, key string, holder client.TxID, mine, theirs string, words ...string,
) {
	x.Helper()
	require.NotNil(x, r.Wait, "%+v", r)
	require.Positive(x, r.Waited)
	require.Equal(x, key, r.Wait.Key)
	require.Equal(x, holder, r.Wait.Holder)
	require.Equal(x, "lock", r.Wait.Cause)
	require.Equal(x, []string{mine}, r.Wait.Operations)
	require.Equal(x, []string{theirs}, r.Wait.HolderOperations)
	for _, w := range append(words, fmt.Sprintf("key %q", key), "transaction "+holder.String()) {
		require.Contains(x, r.String(), w)
	}
}

// TestReceiptNamesTheHolder: a one-shot that locks in the instant of the
// decision, one that locks on three shards, and a step of an interactive
// transaction wait for a get for update. Their responses name it.
func TestReceiptNamesTheHolder(t *testing.T) {
	x := contend(t)
	for _, key := range []string{"a", "b", "c", "hot"} {
		for _, ops := range [][]client.Op{adds(key), adds("a", "b", "c", "hot")} {
			holder, release := x.holding(forUpdate(key))
			got := x.executes(ops...)
			x.waits()
			release()
			out := <-got
			require.NoError(t, out.Err)
			x.requireReceipt(out.Receipt, key, holder, "add", "get-for-update", "Waited ",
				"the add conflicts with a get for update of transaction ",
				"Send that transaction as a one-shot, or replace its get for update with an add if the key is only incremented")
			require.False(t, out.Receipt.Waiting)
		}
		key += valued
		holder, release := x.holding(forUpdate(key))
		var out client.Report
		done := make(chan error, 1)
		go func() {
			db := x.db.With(client.ReportTo(&out))
			done <- db.Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
				_, _, err := tx.GetForUpdate(ctx, key)
				return errors.Join(err, tx.Put(ctx, "other", []byte("x")))
			})
		}()
		x.waits()
		release()
		require.NoError(t, <-done)
		x.requireReceipt(out.Receipt, key, holder, "get-for-update", "get-for-update", "Waited ",
			"Send both transactions as one-shots, or replace both with an add if the key is only incremented")
		require.True(t, out.Receipt.Wait.Interactive && out.Receipt.Wait.HolderInteractive)
	}
}

// TestTimeoutReportsTheWait: although nothing has ended the wait,
// wherever it is, on the shard that decides or on one that takes part.
func TestTimeoutReportsTheWait(t *testing.T) {
	t.Parallel()
	x := contend(t)
	for _, key := range []string{"a", "b", "c", "hot"} {
		holder, release := x.holding(forUpdate(key))
		for name, run := range map[string]func(ctx context.Context) error{
			"one key":   func(ctx context.Context) error { return x.db.Execute(ctx, adds(key)...) },
			"four keys": func(ctx context.Context) error { return x.db.Execute(ctx, adds("a", "b", "c", "hot")...) },
			"a step": func(ctx context.Context) error {
				return x.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
					_, err := client.NewCounter(key).AddGet(ctx, tx, 1)
					return err
				})
			},
			"a commit": func(ctx context.Context) error {
				return x.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
					return client.NewCounter(key).Add(ctx, tx, 1)
				})
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			err := run(ctx)
			cancel()
			e, ok := errors.AsType[*client.Error](err)
			require.True(t, ok, "%s of %s: %v", name, key, err)
			require.Equal(t, client.KindDeadlineExceeded, e.Kind, "%s of %s: %v", name, key, err)
			require.True(t, e.Receipt.Waiting)
			mine := "add"
			if name == "a step" {
				mine = "add-get" // although it begins with a get for update
			}
			x.requireReceipt(e.Receipt, key, holder, mine, "get-for-update", "Still waiting after ")
			require.True(t, strings.HasSuffix(e.Error(), e.Receipt.String()), "the error has it: %v", e)
		}
		release()
	}
}

// TestWoundedTransactionReportsTheOlder: two transactions each wait for what the other
// one has, and the older wins.
func TestWoundedTransactionReportsTheOlder(t *testing.T) {
	x := contend(t)
	for _, k := range []string{"a", "b"} {
		require.NoError(t, x.db.Delete(soon(t), k)) // a get for update is for values
	}
	older := x.older()
	defer older.Rollback()
	_, err := older.Do(soon(t), []msg.Op{forUpdate("b")})
	require.NoError(t, err)
	done := make(chan error, 1)
	err = x.db.Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
		if _, _, err := tx.GetForUpdate(ctx, "a"); err != nil {
			return err
		}
		go func() {
			_, err := older.Do(soon(t), []msg.Op{forUpdate("a")})
			done <- err
		}()
		_, _, err := tx.GetForUpdate(ctx, "b")
		return err
	})
	require.NoError(t, <-done)
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, client.KindAborted, e.Kind)
	r := e.Receipt
	require.Equal(t, 1, r.Aborted)
	require.Equal(t, "wounded", r.Reason)
	require.NotNil(t, r.Abort)
	require.Equal(t, "wound", r.Abort.Cause)
	require.Equal(t, "a", r.Abort.Key)
	require.Equal(t, x.id(older), r.Abort.Holder)
	require.Equal(t, []string{"get-for-update"}, r.Abort.HolderOperations)
	require.Contains(t, r.String(), "1 attempt was aborted because transaction "+older.ID().String()+
		`, which is older, needed key "a" for a get for update`)
}

// TestNoWaitNoReceipt: a receipt exists only if there was a wait.
func TestNoWaitNoReceipt(t *testing.T) {
	x := contend(t)
	out := <-x.executes(adds("a")...)
	require.NoError(t, out.Err)
	require.Equal(t, client.Receipt{}, out.Receipt)
}

// TestReceiptOfReadForWriteAdvises: one request, or an add. A View would not help
// it, nor its holder.
func TestReceiptOfReadForWriteAdvises(t *testing.T) {
	x := contend(t)
	hot := client.NewCounter("hot")
	err := x.db.Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
		have, _, err := tx.Entry(ctx, "hot")
		if err != nil {
			return err
		}
		return errors.Join(hot.Add(soon(t), x.db, 1), hot.Add(ctx, tx, have.Number))
	})
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.NotNil(t, e.Receipt.Abort)
	require.Equal(t, "changed", e.Receipt.Abort.Cause)
	require.True(t, e.Receipt.Abort.Interactive)
	require.Contains(t, e.Receipt.String(),
		"Send this transaction as a one-shot, or use an add if the key is only incremented.")

	for _, mine := range []client.Op{client.DeleteOp("a"), client.PutOp("a", nil), client.NewCounter("a").AddGetOp(1)} {
		_, release := x.holding(msg.Op{Kind: msg.OpGet, Key: []byte("a")})
		got := x.executes(mine)
		x.waits()
		release()
		out := <-got
		require.NoError(t, out.Err)
		require.Equal(t, []string{"get"}, out.Receipt.Wait.HolderOperations)
		require.Contains(t, out.Receipt.String(), "Send that transaction as a one-shot")
		require.NotContains(t, out.Receipt.String(), "View")
		require.NoError(t, x.db.Delete(soon(t), "a"))
	}
}
