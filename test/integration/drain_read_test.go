package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// lateShardText is part of the error of a view that reads on a shard which was late for its snapshot round.
const lateShardText = "did not respond to the snapshot round in time"

// pause sleeps for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
}

// unrelatedLoad reads and writes keys of other nodes than the draining one, through other nodes, without
// retries: views that stay open and have a call in flight nearly all the time, one-shot reads, and puts
// that conflict with the views.
type unrelatedLoad struct {
	keys              []string
	contended         string // read by all views and gets, and written by all puts
	addrs             []string
	views, gets, puts atomic.Int64
	lateShards        atomic.Int64 // views that failed because a shard was late
	stop              context.CancelFunc
	all               sync.WaitGroup
	mu                sync.Mutex
	unexpected        map[string]int
}

func startUnrelatedLoad(t *testing.T, addrs, keys []string) *unrelatedLoad {
	ctx, cancel := context.WithCancel(context.Background())
	b := &unrelatedLoad{keys: keys[1:], contended: keys[0], stop: cancel, unexpected: map[string]int{}}
	t.Cleanup(b.finish)
	b.addrs = addrs
	for i, addr := range addrs {
		db := proc.Open(t, []string{addr}).With(client.NoRetry())
		for j := range 2 {
			b.run(ctx, "view", &b.views, func(deadline context.Context, n int) error {
				return b.view(deadline, db, 31*(2*i+j)+n)
			})
		}
		b.run(ctx, "gets", &b.gets, func(deadline context.Context, n int) error {
			err := db.Execute(deadline, client.GetOp(b.contended), client.GetOp(b.keys[n%len(b.keys)]))
			pause(ctx, time.Millisecond)
			return err
		})
		b.run(ctx, "put", &b.puts, func(deadline context.Context, n int) error {
			err := db.Put(deadline, b.contended, fmt.Append(nil, n))
			pause(ctx, 5*time.Millisecond)
			return err
		})
	}
	return b
}

// run repeats a call and counts its results.
func (b *unrelatedLoad) run(ctx context.Context, what string, done *atomic.Int64,
	do func(deadline context.Context, n int) error) {
	b.all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			deadline, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
			err := do(deadline, n)
			cancel()
			if err == nil {
				done.Add(1)
				continue
			}
			e, _ := errors.AsType[*client.Error](err)
			stalled := proc.StallTime(time.Now().Add(-2*downAfter), time.Now())
			if e != nil && e.Down != nil && slices.Contains(b.addrs, e.Down.Address) && stalled >= downAfter/2 {
				continue // a node that got no processor is considered down
			}
			if what == "view" && kv.KindOf(err) == kv.KindAborted && strings.Contains(err.Error(), lateShardText) {
				b.lateShards.Add(1) // a shard that is late by 30 ms is left out of the snapshot round, with or without a drain
				continue
			}
			b.mu.Lock()
			b.unexpected[what+": "+kv.KindOf(err).String()+": "+err.Error()]++
			b.mu.Unlock()
		}
	})
}

// view reads with its first call the contended key and keys of each shard, then one key after the other for
// longer than a view stays registered.
func (b *unrelatedLoad) view(ctx context.Context, db *client.DB, n int) error {
	return db.View(ctx, func(ctx context.Context, v *client.View) error {
		_, ops := getsOf(append([]string{b.contended}, b.keys[:24]...)...)
		err := v.Execute(ctx, ops...)
		begin := time.Now()
		for i := 0; err == nil && time.Since(begin) < 2*kv.DefaultOpenBudget; i++ {
			_, _, err = v.Get(ctx, b.keys[(n+i)%len(b.keys)])
		}
		return err
	})
}

func (b *unrelatedLoad) finish() {
	b.stop()
	b.all.Wait()
}

// await waits until each kind of load has progressed.
func (b *unrelatedLoad) await(t *testing.T) {
	t.Helper()
	views, gets, puts := b.views.Load()+20, b.gets.Load()+50, b.puts.Load()+5
	proc.Until(t, "the load progresses", func(context.Context) bool {
		return b.views.Load() >= views && b.gets.Load() >= gets && b.puts.Load() >= puts
	}, func() string {
		b.mu.Lock()
		defer b.mu.Unlock()
		return fmt.Sprint(b.views.Load(), b.gets.Load(), b.puts.Load(), b.unexpected)
	})
}

// TestDrainDoesNotFailReadersOfOtherNodes: while a node drains, and after it has stopped, no view and no
// read fails that needs nothing of it, also not if writers wait for it.
func TestDrainDoesNotFailReadersOfOtherNodes(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Replicas: 1})
	code, out := proc.Exec(t, "hot", "mode", "off", "--addr", c.Node(0).Addr) // keys stay on their home shards
	require.Equal(t, cli.ExitOK, code, out)
	at := c.KeysByNode(t, proc.Keys(900))
	for i, n := range c.Nodes() {
		var otherKeys, addrs []string
		for j, o := range c.Nodes() {
			if j != i {
				otherKeys = append(otherKeys, at[j]...)
				addrs = append(addrs, o.Addr)
			}
		}
		b := startUnrelatedLoad(t, addrs, otherKeys)
		b.await(t)
		finish := drainWithOpenTx(t, n, at[i][0])
		for _, addr := range addrs {
			awaitDrainKnown(t, proc.Open(t, []string{addr}).With(client.NoRetry()), at[i][1])
		}
		b.await(t)
		require.NoError(t, finish())
		require.Equal(t, cli.ExitOK, n.Wait(t))
		b.await(t)
		b.finish()
		require.Empty(t, b.unexpected, "%s drains", n.Addr)
		t.Logf("%d views, %d more failed because a shard was late", b.views.Load(), b.lateShards.Load())
		n.Start(t)
		c.WaitConnected(t)
	}
}

// drainWithOpenTx drains a node on which an open transaction keeps the drain from ending. The returned function
// ends the transaction and waits for the drain.
func drainWithOpenTx(t *testing.T, n *proc.Node, key string) (finish func() error) {
	t.Helper()
	_, commit := proc.Hold(t, proc.Open(t, []string{n.Addr}), func(ctx context.Context, tx *client.Tx) error {
		_, _, err := tx.GetForUpdate(ctx, key)
		return err
	})
	drained := runAsync(func() error {
		code, out := proc.Exec(t, "drain", "--addr", n.Addr, "--limit", "30s")
		if code != cli.ExitOK {
			return fmt.Errorf("exit %d: %s", code, out)
		}
		return nil
	})
	return func() error { return errors.Join(commit(), <-drained) }
}

// awaitDrainKnown waits until a gateway rejects requests for a key of the draining node.
func awaitDrainKnown(t *testing.T, db *client.DB, key string) {
	t.Helper()
	var err error
	ctx := proc.Context(t)
	proc.Until(t, "the gateway knows of the drain", func(context.Context) bool {
		_, _, err = db.Get(ctx, key)
		return kv.KindOf(err) == kv.KindUnavailable
	}, func() string { return fmt.Sprint(err) })
}
