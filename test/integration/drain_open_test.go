package integration

import (
	"context"
	"fmt"
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

// openLoad runs interactive updates and views through each node, each of which stays open for a while and
// uses keys of all shards.
type openLoad struct {
	think                time.Duration
	done                 atomic.Int64
	all                  sync.WaitGroup
	mu                   sync.Mutex
	longest              time.Duration
	rejected, unexpected map[string]int
}

func startOpenLoad(t *testing.T, c *proc.Cluster, think time.Duration) *openLoad {
	ctx, cancel := context.WithCancel(context.Background())
	o := &openLoad{think: think, rejected: map[string]int{}, unexpected: map[string]int{}}
	t.Cleanup(func() {
		cancel()
		o.all.Wait()
	})
	for i, addr := range c.Addrs() {
		db := proc.Open(t, []string{addr}).With(client.NoRetry())
		for j := range 6 {
			o.all.Go(func() { o.run(ctx, db, 6*i+j) })
		}
	}
	return o
}

func (o *openLoad) run(ctx context.Context, db *client.DB, i int) {
	for n := i; ctx.Err() == nil; n++ {
		deadline, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
		begin := time.Now()
		var err error
		if i%2 == 0 {
			err = db.Update(deadline,
				func(ctx context.Context, tx *client.Tx) error { return o.readAndWrite(ctx, tx, tx, i, n) })
		} else {
			err = db.View(deadline, func(ctx context.Context, v *client.View) error { return o.readAndWrite(ctx, v, nil, i, n) })
		}
		cancel()
		o.record(err, time.Since(begin))
		if err != nil {
			pause(ctx, time.Millisecond)
		}
	}
}

// pause sleeps for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
}

// readAndWrite reads four keys and writes the last one, with pauses of the client in between.
func (o *openLoad) readAndWrite(ctx context.Context, r client.Reader, tx *client.Tx, i, n int) error {
	for k := range 4 {
		key := fmt.Sprintf("open%d/%d", i, (n+k)%16)
		if _, _, err := r.Get(ctx, key); err != nil {
			return err
		}
		pause(context.Background(), o.think/4) // think time of the client
		if tx == nil || k < 3 {
			continue
		}
		if err := tx.Put(ctx, key, []byte("x")); err != nil {
			return err
		}
	}
	return nil
}

func (o *openLoad) record(err error, duration time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch kind := kv.KindOf(err); kind {
	case kv.KindOK:
		o.done.Add(1)
		o.longest = max(o.longest, duration)
	case kv.KindUnavailable, kv.KindAborted:
		o.rejected[err.Error()]++
	default:
		o.unexpected[err.Error()]++
	}
}

func (o *openLoad) await(t *testing.T, more int64) {
	t.Helper()
	at := o.done.Load()
	proc.Until(t, "transactions commit", func(context.Context) bool { return o.done.Load() >= at+more }, func() string {
		o.mu.Lock()
		defer o.mu.Unlock()
		return fmt.Sprint(o.done.Load(), o.rejected, o.unexpected)
	})
}

// TestDrainIsNotDelayedByNewTransactions: clients on all nodes always have interactive transactions and
// views open on all shards. The drain of a node ends at most two seconds after the longest of them.
// Transactions that begin during the drain are rejected where they need the draining node, and none is cut
// off.
func TestDrainIsNotDelayedByNewTransactions(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: hotKeyArgs()})
	o := startOpenLoad(t, c, 400*time.Millisecond)
	for _, n := range c.Nodes() {
		o.await(t, 100)
		begin := time.Now()
		code, out := linchpin(t, "drain", "--addr", n.Addr, "--limit", "30s")
		elapsed := proc.Elapsed(begin)
		require.Equal(t, cli.ExitOK, code, out)
		plain := proc.Linchpin(t, "version").Duration // a command that does nothing, under the same load
		o.mu.Lock()
		longest := o.longest
		o.mu.Unlock()
		require.Less(t, elapsed-plain, 2*time.Second+longest, "%s", out)
		t.Logf("drained in %v, %v of it the command; the longest transaction took %v", elapsed, plain, longest)
		require.Equal(t, cli.ExitOK, n.Wait(t))
		require.False(t, n.HasWritten("is cut off"), n.Output)
		n.Start(t)
		c.WaitConnected(t)
	}
	o.await(t, 100)
	o.mu.Lock()
	defer o.mu.Unlock()
	require.Empty(t, o.unexpected)
	require.NotEmpty(t, o.rejected)
}
