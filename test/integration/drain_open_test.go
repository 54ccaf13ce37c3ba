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

// opens run interactive updates and views without a break through one node each, which
// stay open for a while, on keys of all shards.
type opens struct {
	think        time.Duration
	done         atomic.Int64
	all          sync.WaitGroup
	mu           sync.Mutex
	longest      time.Duration
	refused, bad map[string]int
}

func startOpens(t *testing.T, c *proc.Cluster, think time.Duration) *opens {
	ctx, cancel := context.WithCancel(context.Background())
	o := &opens{think: think, refused: map[string]int{}, bad: map[string]int{}}
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

func (o *opens) run(ctx context.Context, db *client.DB, i int) {
	for n := i; ctx.Err() == nil; n++ {
		deadline, cancel := context.WithTimeout(context.Background(), proc.WaitTimeout)
		begin := time.Now()
		var err error
		if i%2 == 0 {
			err = db.Update(deadline, func(ctx context.Context, tx *client.Tx) error { return o.touch(ctx, tx, tx, i, n) })
		} else {
			err = db.View(deadline, func(ctx context.Context, v *client.View) error { return o.touch(ctx, v, nil, i, n) })
		}
		cancel()
		o.note(err, time.Since(begin))
		if err != nil {
			pause(ctx, time.Millisecond)
		}
	}
}

// pause lasts for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
}

// touch reads some keys, and writes the last, with pauses for thought between.
func (o *opens) touch(ctx context.Context, r client.Reader, tx *client.Tx, i, n int) error {
	for k := range 4 {
		key := fmt.Sprintf("open%d/%d", i, (n+k)%16)
		if _, _, err := r.Get(ctx, key); err != nil {
			return err
		}
		pause(context.Background(), o.think/4) // a client that thinks
		if tx == nil || k < 3 {
			continue
		}
		if err := tx.Put(ctx, key, []byte("x")); err != nil {
			return err
		}
	}
	return nil
}

func (o *opens) note(err error, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch kind := kv.KindOf(err); kind {
	case kv.KindOK:
		o.done.Add(1)
		o.longest = max(o.longest, took)
	case kv.KindUnavailable, kv.KindAborted:
		o.refused[err.Error()]++
	default:
		o.bad[err.Error()]++
	}
}

func (o *opens) await(t *testing.T, more int64) {
	t.Helper()
	at := o.done.Load()
	proc.Until(t, "transactions end well", func(context.Context) bool { return o.done.Load() >= at+more }, func() string {
		o.mu.Lock()
		defer o.mu.Unlock()
		return fmt.Sprint(o.done.Load(), o.refused, o.bad)
	})
}

// TestDrainIsNotKeptByWhatBegins: clients on all nodes keep interactive transactions and
// views open on all shards, one after the other. A drain of any node ends two seconds
// after the longest of them at the latest: those that begin now are refused where they
// need the node that drains, and nothing is cut off.
func TestDrainIsNotKeptByWhatBegins(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: hotKeyArgs()})
	o := startOpens(t, c, 400*time.Millisecond)
	for _, n := range c.Nodes() {
		o.await(t, 100)
		begin := time.Now()
		code, out := linchpin(t, "drain", "--addr", n.Addr, "--limit", "30s")
		took := proc.Elapsed(begin)
		require.Equal(t, cli.ExitOK, code, out)
		plain := proc.Linchpin(t, "version").Duration // a command that does nothing, at the same time
		o.mu.Lock()
		longest := o.longest
		o.mu.Unlock()
		require.Less(t, took-plain, 2*time.Second+longest, "%s", out)
		t.Logf("drained in %v, %v of it the command; the longest transaction took %v", took, plain, longest)
		require.Equal(t, cli.ExitOK, n.Wait(t))
		require.False(t, n.HasWritten("is cut off"), n.Output)
		n.Start(t)
		c.WaitConnected(t)
	}
	o.await(t, 100)
	o.mu.Lock()
	defer o.mu.Unlock()
	require.Empty(t, o.bad)
	require.NotEmpty(t, o.refused)
}
