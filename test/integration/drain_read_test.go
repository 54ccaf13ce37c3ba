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

// bystanders read and write keys that a node which drains has nothing to do with, through
// other nodes, and try nothing again: views that stay open for a while and have a call
// under way nearly all the time, one-shot reads, and puts that those keep waiting.
type bystanders struct {
	keys              []string
	wanted            string // by all of them
	live              []string
	views, gets, puts atomic.Int64
	missed            atomic.Int64 // views that missed a shard which was late
	stop              context.CancelFunc
	all               sync.WaitGroup
	mu                sync.Mutex
	bad               map[string]int
}

func startBystanders(t *testing.T, addrs, keys []string) *bystanders {
	ctx, cancel := context.WithCancel(context.Background())
	b := &bystanders{keys: keys[1:], wanted: keys[0], stop: cancel, bad: map[string]int{}}
	t.Cleanup(b.finish)
	b.live = addrs
	for i, addr := range addrs {
		db := proc.Open(t, []string{addr}).With(client.NoRetry())
		for j := range 2 {
			b.run(ctx, "view", &b.views, func(deadline context.Context, n int) error {
				return b.view(deadline, db, 31*(2*i+j)+n)
			})
		}
		b.run(ctx, "gets", &b.gets, func(deadline context.Context, n int) error {
			err := db.Execute(deadline, client.GetOp(b.wanted), client.GetOp(b.keys[n%len(b.keys)]))
			pause(ctx, time.Millisecond)
			return err
		})
		b.run(ctx, "put", &b.puts, func(deadline context.Context, n int) error {
			err := db.Put(deadline, b.wanted, fmt.Append(nil, n))
			pause(ctx, 5*time.Millisecond)
			return err
		})
	}
	return b
}

// run does something one time after the other.
func (b *bystanders) run(ctx context.Context, what string, done *atomic.Int64,
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
			stood := proc.StallTime(time.Now().Add(-2*downAfter), time.Now())
			if e != nil && e.Down != nil && slices.Contains(b.live, e.Down.Address) && stood >= downAfter/2 {
				continue // a node that got no processor is taken for down
			}
			if what == "view" && kv.KindOf(err) == kv.KindAborted && strings.Contains(err.Error(), toldLeftOut) {
				b.missed.Add(1) // so is a shard that was late by 30 ms for slow, whoever drains
				continue
			}
			b.mu.Lock()
			b.bad[what+": "+kv.KindOf(err).String()+": "+err.Error()]++
			b.mu.Unlock()
		}
	})
}

// view reads with its first call what others want to write, and something of each shard;
// then one key after the other, for longer than a view stays registered.
func (b *bystanders) view(ctx context.Context, db *client.DB, n int) error {
	return db.View(ctx, func(ctx context.Context, v *client.View) error {
		_, ops := getsOf(append([]string{b.wanted}, b.keys[:24]...)...)
		err := v.Execute(ctx, ops...)
		begin := time.Now()
		for i := 0; err == nil && time.Since(begin) < 2*kv.DefaultOpenBudget; i++ {
			_, _, err = v.Get(ctx, b.keys[(n+i)%len(b.keys)])
		}
		return err
	})
}

func (b *bystanders) finish() {
	b.stop()
	b.all.Wait()
}

// await waits until each kind of them has got some more done.
func (b *bystanders) await(t *testing.T) {
	t.Helper()
	views, gets, puts := b.views.Load()+20, b.gets.Load()+50, b.puts.Load()+5
	proc.Until(t, "the others go on", func(context.Context) bool {
		return b.views.Load() >= views && b.gets.Load() >= gets && b.puts.Load() >= puts
	}, func() string {
		b.mu.Lock()
		defer b.mu.Unlock()
		return fmt.Sprint(b.views.Load(), b.gets.Load(), b.puts.Load(), b.bad)
	})
}

// TestDrainIsNothingToOtherNodesReaders: while a node drains, and when it has stopped, no
// view and no read fails that needs nothing of it, also none that writers wait for.
func TestDrainIsNothingToOtherNodesReaders(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	code, out := linchpin(t, "hot", "mode", "off", "--addr", c.Node(0).Addr) // each key stays where it is
	require.Equal(t, cli.ExitOK, code, out)
	at := c.KeysByNode(t, keysOf(900))
	for i, n := range c.Nodes() {
		var others, addrs []string
		for j, o := range c.Nodes() {
			if j != i {
				others = append(others, at[j]...)
				addrs = append(addrs, o.Addr)
			}
		}
		b := startBystanders(t, addrs, others)
		b.await(t)
		release, drained := drainHeldOpen(t, n, at[i][0])
		for _, addr := range addrs {
			awaitRefusal(t, proc.Open(t, []string{addr}).With(client.NoRetry()), at[i][1])
		}
		b.await(t)
		release()
		require.NoError(t, <-drained)
		require.Equal(t, cli.ExitOK, n.Wait(t))
		b.await(t)
		b.finish()
		require.Empty(t, b.bad, "%s drained", n.Addr)
		t.Logf("%d views, %d more missed a shard that was late", b.views.Load(), b.missed.Load())
		n.Start(t)
		c.WaitConnected(t)
	}
}

// drainHeldOpen has a node drain, with a transaction open there that keeps it from the
// end until release.
func drainHeldOpen(t *testing.T, n *proc.Node, key string) (release func(), drained <-chan error) {
	t.Helper()
	db := proc.Open(t, []string{n.Addr})
	held, end, over := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	hold := sync.OnceFunc(func() { close(held) })
	release = sync.OnceFunc(func() { close(end) })
	t.Cleanup(release)
	ctx := soon(t)
	updated := make(chan error, 1)
	go func() {
		updated <- db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			_, _, err := tx.GetForUpdate(ctx, key)
			if err == nil {
				hold()
				<-end
			}
			return err
		})
	}()
	select {
	case <-held:
	case err := <-updated:
		require.NoError(t, err)
	}
	go func() {
		code, out := linchpin(t, "drain", "--addr", n.Addr, "--limit", "30s")
		err := <-updated
		if code != cli.ExitOK {
			err = fmt.Errorf("exit %d: %s", code, out)
		}
		over <- err
	}()
	return release, over
}

// awaitRefusal waits until a gateway has heard that the node of a key drains.
func awaitRefusal(t *testing.T, db *client.DB, key string) {
	t.Helper()
	var err error
	ctx := soon(t)
	proc.Until(t, "a gateway has heard of the drain", func(context.Context) bool {
		_, _, err = db.Get(ctx, key)
		return kv.KindOf(err) == kv.KindUnavailable
	}, func() string { return fmt.Sprint(err) })
}
