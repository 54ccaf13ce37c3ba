package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

const (
	// busy is what is added to every bound that the protocol gives, for
	// machines that do other things as well.
	busy = 2 * time.Second
	// leftWithin is how soon nothing may be left when all is quiet: a lease,
	// the time after which shards ask each other, and busy.
	leftWithin = kv.DefaultLease + kv.DefaultLiveness + busy
)

// openReader is a View that has read and waits to be told to go on.
type openReader struct {
	goOn chan struct{}
	done chan error
	// saw are the values of the first reads, later those of the last.
	saw, later []string
}

// openReaders opens n Views that read keys, and at their end more keys. They
// are not tried again. It returns when all have read.
func openReaders(ctx context.Context, t *testing.T, db *client.DB, n int, keys, more []string) (out []*openReader) {
	t.Helper()
	read := make(chan struct{}, n)
	for range n {
		r := &openReader{goOn: make(chan struct{}), done: make(chan error, 1)}
		out = append(out, r)
		go func() { r.done <- r.run(ctx, db, keys, more, read) }()
	}
	for range n {
		select {
		case <-read:
		case <-ctx.Done():
			t.Fatal("the readers do not come to read")
		}
	}
	return out
}

func (r *openReader) run(ctx context.Context, db *client.DB, keys, more []string, read chan<- struct{}) error {
	return db.View(ctx, func(ctx context.Context, v *client.View) (err error) {
		r.saw, err = valuesOf(ctx, v, keys...)
		if err != nil {
			return err
		}
		read <- struct{}{}
		select {
		case <-r.goOn:
		case <-ctx.Done():
			return ctx.Err()
		}
		r.later, err = valuesOf(ctx, v, more...)
		return err
	})
}

// end has a reader go on, and gives how it ended.
func (r *openReader) end(t *testing.T) error {
	t.Helper()
	close(r.goOn)
	select {
	case err := <-r.done:
		return err
	case <-time.After(proc.WaitTimeout):
		t.Fatal("the reader does not end")
		return nil
	}
}

// writer runs an update in a goroutine.
func writer(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// goesOn requires that a writer commits within a time from begin.
func goesOn(t *testing.T, done <-chan error, begin time.Time, within time.Duration, what string) {
	t.Helper()
	select {
	case err := <-done:
		require.NoError(t, err, what)
		took := proc.Elapsed(begin)
		t.Logf("%s: committed after %v", what, took.Round(time.Millisecond))
		require.Less(t, took, within, what)
	case <-time.After(within + proc.WaitTimeout):
		t.Fatalf("%s: it does not go on", what)
	}
}

// putsOf are operations that write a value to keys.
func putsOf(value string, keys ...string) (ops []client.Op) {
	for _, k := range keys {
		ops = append(ops, client.PutOp(k, []byte(value)))
	}
	return ops
}

// fill gives each key the value "before".
func fill(t *testing.T, db *client.DB, keys ...string) {
	t.Helper()
	require.NoError(t, db.Execute(soon(t), putsOf("before", keys...)...))
}

// putAll writes "after" to keys in one transaction.
func putAll(ctx context.Context, db *client.DB, keys ...string) error {
	return db.Execute(ctx, putsOf("after", keys...)...)
}

// TestGatewayDiesWithOpenReaders: the node through which readers came is
// killed while they hold updates. Their leases lapse, and the updates go on.
func TestGatewayDiesWithOpenReaders(t *testing.T) {
	t.Parallel()
	const hot = "hot"
	c := proc.StartCluster(t, proc.Options{Args: []string{"--hot-key", hot}})
	at := c.KeysByNode(t, append(keysOf(20), hot), hot)
	home := 0 // of the hot shard
	for i, keys := range at {
		if keys[len(keys)-1] == hot {
			home = i
		}
	}
	gateway, third := c.Node((home+1)%3), (home+2)%3
	warm := at[third]
	db := proc.Open(t, []string{c.Node(third).Addr})
	fill(t, db, hot, at[home][0], warm[0], warm[1])

	hasty := proc.Open(t, []string{gateway.Addr}).With(client.NoRetry())
	readers := openReaders(soon(t), t, hasty, 4, []string{hot, warm[0], warm[1]}, []string{hot})
	// It stands still first, so that what it has registered can be looked at:
	// from now on it renews nothing.
	require.NoError(t, gateway.Freeze())
	frozen := time.Now()
	ctx := soon(t)
	one := writer(func() error { return putAll(ctx, db, hot) })
	several := writer(func() error { return putAll(ctx, db, warm[0], at[home][0]) })
	interactive := writer(func() error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if _, _, err := tx.GetForUpdate(ctx, warm[1]); err != nil {
				return err
			}
			return tx.Put(ctx, warm[1], []byte("after"))
		})
	})
	for _, n := range []*proc.Node{c.Node(home), c.Node(third)} {
		held(t, n)
	}
	gateway.Kill()
	for what, done := range map[string]<-chan error{"the hot key": one, "two shards": several, "interactive": interactive} {
		goesOn(t, done, frozen, kv.DefaultLease+busy, what)
	}
	for _, r := range readers {
		require.Equal(t, []string{"before", "before", "before"}, r.saw)
		require.ErrorIs(t, r.end(t), client.ErrUnavailable)
	}
	c.RequireQuiescent(t, leftWithin)
	gateway.Start(t)
	c.WaitConnected(t)
	values, err := valuesOf(soon(t), c.Open(t), hot, warm[0], at[home][0], warm[1])
	require.NoError(t, err)
	require.Equal(t, []string{"after", "after", "after", "after"}, values)
	c.RequireQuiescent(t, leftWithin)
}

// held waits until readers are registered on a node and hold an update.
func held(t *testing.T, n *proc.Node) {
	t.Helper()
	var last map[string]float64
	proc.Until(t, "a reader holds an update", func(ctx context.Context) bool {
		m, err := n.Metrics(ctx)
		last = m
		return err == nil && m["linchpin_shard_readers"] > 0 && m["linchpin_shard_held_updates"] > 0
	}, func() string {
		return fmt.Sprintf("readers %v, held %v", last["linchpin_shard_readers"], last["linchpin_shard_held_updates"])
	})
}

// readerMayHold bounds how long an update is held by a reader that does not
// end: the time after which it is pinned, and a second for pinning it, and for
// the update, on a machine that does other things as well.
const readerMayHold = kv.DefaultOpenBudget + time.Second

// TestReaderThatNeverEnds: a client reads and then just stays. Whoever writes
// what it has read goes on soon; the reader goes on seeing one state and is not
// aborted; and nothing is left of it when it ends, by itself or because its
// connection does.
func TestReaderThatNeverEnds(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(20))
	key, other := at[1][0], at[2][0]
	db, hasty := proc.Open(t, []string{c.Node(2).Addr}), proc.Open(t, []string{c.Node(0).Addr}).With(client.NoRetry())
	t.Run("it ends", func(t *testing.T) {
		fill(t, db, key, other)
		r := openReaders(soon(t), t, hasty, 1, []string{key}, []string{other, key})[0]
		done := writer(func() error { return putAll(soon(t), db, key, other) })
		require.NoError(t, r.end(t))
		require.Equal(t, []string{"before"}, r.saw)
		require.Equal(t, []string{"before", "before"}, r.later)
		goesOn(t, done, time.Now(), readerMayHold, "after its end")
	})
	t.Run("its connection ends", func(t *testing.T) {
		fill(t, db, key, other)
		gone, link := linked(t, c.Node(0))
		r := openReaders(soon(t), t, gone.With(client.NoRetry()), 1, []string{key}, []string{key})[0]
		done := writer(func() error { return putAll(soon(t), db, key, other) })
		link.Cut()
		goesOn(t, done, time.Now(), readerMayHold, "after its connection's end")
		require.ErrorIs(t, r.end(t), client.ErrUnavailable)
	})
	t.Run("it stays", func(t *testing.T) {
		fill(t, db, key, other)
		r := openReaders(soon(t), t, hasty, 1, []string{key}, []string{other, key})[0]
		begin := time.Now()
		// Longer than a lease.
		for n := 0; time.Since(begin) < kv.DefaultLease+kv.DefaultLease/4; n++ {
			at := time.Now()
			require.NoError(t, putAll(soon(t), db, key, other))
			require.Less(t, proc.Elapsed(at), readerMayHold, "update %d, while it stays", n)
		}
		require.NoError(t, r.end(t))
		require.Equal(t, []string{"before"}, r.saw)
		require.Equal(t, []string{"before", "before"}, r.later)
	})
	c.RequireQuiescent(t, leftWithin)
}
