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
	// machineSlack is added to every time bound of the protocol, for busy test machines.
	machineSlack = 2 * time.Second
	// quiescentWithin bounds the time until nothing is left in flight: a lease, the interval after which
	// shards query each other, and machineSlack.
	quiescentWithin = kv.DefaultLease + kv.DefaultLiveness + machineSlack
)

// openReader is a View that has read and waits for resume.
type openReader struct {
	resume chan struct{}
	done   chan error
	// first are the values of the first reads, later those of the last ones.
	first, later []string
}

// openReaders opens n Views that read keys, and more keys when they are resumed. It returns when all have
// read the first keys. Whether they are retried depends on db.
func openReaders(ctx context.Context, t *testing.T, db *client.DB, n int, keys, more []string) (out []*openReader) {
	t.Helper()
	read := make(chan struct{}, n)
	for range n {
		r := &openReader{resume: make(chan struct{}), done: make(chan error, 1)}
		out = append(out, r)
		go func() { r.done <- r.run(ctx, db, keys, more, read) }()
	}
	for range n {
		select {
		case <-read:
		case <-ctx.Done():
			t.Fatal("the readers have not read")
		}
	}
	return out
}

func (r *openReader) run(ctx context.Context, db *client.DB, keys, more []string, read chan<- struct{}) error {
	return db.View(ctx, func(ctx context.Context, v *client.View) (err error) {
		r.first, err = valuesOf(ctx, v, keys...)
		if err != nil {
			return err
		}
		read <- struct{}{}
		select {
		case <-r.resume:
		case <-ctx.Done():
			return ctx.Err()
		}
		r.later, err = valuesOf(ctx, v, more...)
		return err
	})
}

// finish resumes a reader and returns how it ended.
func (r *openReader) finish(t *testing.T) error {
	t.Helper()
	close(r.resume)
	select {
	case err := <-r.done:
		return err
	case <-time.After(proc.WaitTimeout):
		t.Fatal("the reader does not end")
		return nil
	}
}

// runAsync runs a function in a goroutine.
func runAsync(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// requireCommits requires that an update commits within a time from begin.
func requireCommits(t *testing.T, done <-chan error, begin time.Time, within time.Duration, what string) {
	t.Helper()
	select {
	case err := <-done:
		require.NoError(t, err, what)
		elapsed := proc.Elapsed(begin)
		t.Logf("%s: committed after %v", what, elapsed.Round(time.Millisecond))
		require.Less(t, elapsed, within, what)
	case <-time.After(within + proc.WaitTimeout):
		t.Fatalf("%s: does not commit", what)
	}
}

// putsOf returns operations that write a value to keys.
func putsOf(value string, keys ...string) (ops []client.Op) {
	for _, k := range keys {
		ops = append(ops, client.PutOp(k, []byte(value)))
	}
	return ops
}

// fill writes "before" to each key.
func fill(t *testing.T, db *client.DB, keys ...string) {
	t.Helper()
	require.NoError(t, db.Execute(proc.Context(t), putsOf("before", keys...)...))
}

// putAll writes "after" to keys in one transaction.
func putAll(ctx context.Context, db *client.DB, keys ...string) error {
	return db.Execute(ctx, putsOf("after", keys...)...)
}

// TestUpdatesProceedAfterReadersGatewayIsKilled: the gateway of readers is killed while they block updates.
// Their leases expire, and the updates commit.
func TestUpdatesProceedAfterReadersGatewayIsKilled(t *testing.T) {
	t.Parallel()
	const hot = "hot"
	c := proc.StartCluster(t, proc.Options{Replicas: 1, Args: []string{"--hot-key", hot}})
	at := c.KeysByNode(t, append(proc.Keys(20), hot), hot)
	hotNode := 0 // the position of the node of the hot shard
	for i, keys := range at {
		if keys[len(keys)-1] == hot {
			hotNode = i
		}
	}
	gateway, third := c.Node((hotNode+1)%3), (hotNode+2)%3
	local := at[third]
	db := proc.Open(t, []string{c.Node(third).Addr})
	fill(t, db, hot, at[hotNode][0], local[0], local[1])

	noRetry := proc.Open(t, []string{gateway.Addr}).With(client.NoRetry())
	readers := openReaders(proc.Context(t), t, noRetry, 4, []string{hot, local[0], local[1]}, []string{hot})
	// The gateway is frozen first, so that its registrations can be checked; it renews no lease from now on.
	require.NoError(t, gateway.Freeze())
	frozen := time.Now()
	ctx := proc.Context(t)
	one := runAsync(func() error { return putAll(ctx, db, hot) })
	several := runAsync(func() error { return putAll(ctx, db, local[0], at[hotNode][0]) })
	interactive := runAsync(func() error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if _, _, err := tx.GetForUpdate(ctx, local[1]); err != nil {
				return err
			}
			return tx.Put(ctx, local[1], []byte("after"))
		})
	})
	for _, n := range []*proc.Node{c.Node(hotNode), c.Node(third)} {
		awaitHeldUpdate(t, n)
	}
	gateway.Kill()
	for what, done := range map[string]<-chan error{"the hot key": one, "two shards": several,
		"interactive": interactive} {
		requireCommits(t, done, frozen, kv.DefaultLease+machineSlack, what)
	}
	for _, r := range readers {
		require.Equal(t, []string{"before", "before", "before"}, r.first)
		require.ErrorIs(t, r.finish(t), client.ErrUnavailable)
	}
	c.RequireQuiescent(t, quiescentWithin)
	gateway.Start(t)
	c.WaitConnected(t)
	values, err := valuesOf(proc.Context(t), c.Open(t), hot, local[0], at[hotNode][0], local[1])
	require.NoError(t, err)
	require.Equal(t, []string{"after", "after", "after", "after"}, values)
	c.RequireQuiescent(t, quiescentWithin)
}

// awaitHeldUpdate waits until readers are registered on a node and block an update.
func awaitHeldUpdate(t *testing.T, n *proc.Node) {
	t.Helper()
	var last map[string]float64
	proc.Until(t, "a reader blocks an update", func(ctx context.Context) bool {
		m, err := n.Metrics(ctx)
		last = m
		return err == nil && m["linchpin_shard_readers"] > 0 && m["linchpin_shard_held_updates"] > 0
	}, func() string {
		return fmt.Sprintf("readers %v, held %v", last["linchpin_shard_readers"], last["linchpin_shard_held_updates"])
	})
}

// holdBound bounds the time for which an open reader blocks an update: the budget, plus 1 s for the
// snapshot round and the update on a busy machine.
const holdBound = kv.DefaultOpenBudget + time.Second

// TestOpenReaderDoesNotBlockUpdates: a view stays open. Updates of the keys that it has read commit soon,
// the view keeps reading one state and does not abort, and nothing is left of it when it ends, also if its
// connection ends.
func TestOpenReaderDoesNotBlockUpdates(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, proc.Keys(20))
	key, other := at[1][0], at[2][0]
	db, noRetry := proc.Open(t, []string{c.Node(2).Addr}), proc.Open(t, []string{c.Node(0).Addr}).With(client.NoRetry())
	t.Run("the view ends", func(t *testing.T) {
		fill(t, db, key, other)
		r := openReaders(proc.Context(t), t, noRetry, 1, []string{key}, []string{other, key})[0]
		done := runAsync(func() error { return putAll(proc.Context(t), db, key, other) })
		require.NoError(t, r.finish(t))
		require.Equal(t, []string{"before"}, r.first)
		require.Equal(t, []string{"before", "before"}, r.later)
		requireCommits(t, done, time.Now(), holdBound, "after the end of the view")
	})
	t.Run("the connection ends", func(t *testing.T) {
		fill(t, db, key, other)
		proxied, link := openThroughProxy(t, c.Node(0))
		r := openReaders(proc.Context(t), t, proxied.With(client.NoRetry()), 1, []string{key}, []string{key})[0]
		done := runAsync(func() error { return putAll(proc.Context(t), db, key, other) })
		link.Cut()
		requireCommits(t, done, time.Now(), holdBound, "after the end of the connection")
		require.ErrorIs(t, r.finish(t), client.ErrUnavailable)
	})
	t.Run("the view stays open", func(t *testing.T) {
		fill(t, db, key, other)
		r := openReaders(proc.Context(t), t, noRetry, 1, []string{key}, []string{other, key})[0]
		begin := time.Now()
		// Longer than a lease.
		for n := 0; time.Since(begin) < kv.DefaultLease+kv.DefaultLease/4; n++ {
			at := time.Now()
			require.NoError(t, putAll(proc.Context(t), db, key, other))
			require.Less(t, proc.Elapsed(at), holdBound, "update %d, while the view is open", n)
		}
		require.NoError(t, r.finish(t))
		require.Equal(t, []string{"before"}, r.first)
		require.Equal(t, []string{"before", "before"}, r.later)
	})
	c.RequireQuiescent(t, quiescentWithin)
}
