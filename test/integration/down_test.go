package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestShardsOfDownNodeAreUnavailable: requests for keys of a down node fail in time, with a hint. All other
// requests succeed at every other gateway. When the node is back, all of its data is there.
func TestShardsOfDownNodeAreUnavailable(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(12))
	down := c.Node(2)
	down.Kill()
	for i := range 2 {
		retrying := proc.Open(t, []string{c.Node(i).Addr})
		once := proc.Open(t, []string{c.Node(i).Addr}).With(client.NoRetry())
		waiting := proc.Open(t, []string{c.Node(i).Addr}).With(client.WaitForNodes())
		awaitDown(t, c.Node(i), down, at[2][0])
		ctx := testContext(t)
		for _, k := range append(at[0], at[1]...) { // the other shards
			require.NoError(t, retrying.Put(ctx, k, []byte(k)))
		}
		require.NoError(t, retrying.Execute(ctx, client.PutOp(at[0][0], nil), client.PutOp(at[1][0], nil)))

		downKey := at[2][0]
		begin := time.Now()
		requireUnavailable(t, once.Execute(ctx, client.PutOp(downKey, nil), client.PutOp(at[0][0], nil)))
		require.Less(t, proc.Elapsed(begin), 2*time.Second, "a shard that is down is rejected at once")
		requireUnavailable(t, once.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			_, _, err := tx.Get(ctx, downKey)
			return err
		}))
		errs := 0
		for _, err := range once.Scan(ctx, client.Prefix("key/")) {
			errs++
			requireUnavailable(t, err)
		}
		require.Equal(t, 1, errs, "a scan of a down shard returns an error")
		// By default the error is immediate too. With WaitForNodes the client waits until the deadline.
		_, _, err := retrying.Get(ctx, downKey)
		requireUnavailable(t, err)
		short, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
		begin = time.Now()
		_, _, err = waiting.Get(short, downKey)
		cancel()
		require.Contains(t, []client.Kind{client.KindUnavailable, client.KindDeadlineExceeded}, client.KindOf(err), "%v", err)
		require.Less(t, proc.Elapsed(begin), 3*time.Second)
	}
	down.Start(t)
	c.WaitConnected(t)
	db := c.Open(t)
	for _, k := range at[0][1:] {
		value, _, err := db.Get(testContext(t), k)
		require.NoError(t, err)
		require.Equal(t, k, string(value))
	}
	require.NoError(t, db.Execute(testContext(t), client.PutOp(at[2][0], nil), client.PutOp(at[0][0], nil)))
}

// requireUnavailable requires an error of kind Unavailable with a message and a hint.
func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, client.KindUnavailable, e.Kind, "%v", err)
	require.NotEmpty(t, e.Hint)
	require.NotEmpty(t, e.Message)
}

// TestDeadlinesWhileNodeIsFrozen: a transaction whose deadline passes while a shard does not respond has
// changed nothing, or its outcome is reported as unknown and can be queried later.
func TestDeadlinesWhileNodeIsFrozen(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(12))
	db := proc.Open(t, []string{c.Node(0).Addr})
	frozen := c.Node(2)
	require.NoError(t, frozen.Freeze())
	var tries []*client.Error
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		begin := time.Now()
		err := db.Execute(ctx, client.PutOp(at[0][0], fmt.Append(nil, i)), client.PutOp(at[2][0], fmt.Append(nil, i)))
		cancel()
		require.Error(t, err)
		require.Less(t, proc.Elapsed(begin), 3*time.Second)
		e, ok := errors.AsType[*client.Error](err)
		require.True(t, ok)
		kinds := []client.Kind{client.KindOutcomeUnknown, client.KindDeadlineExceeded, client.KindUnavailable}
		require.Contains(t, kinds, e.Kind, "%v", err)
		require.Equal(t, e.Kind == client.KindOutcomeUnknown, e.Outcome == client.OutcomeUnknown, "%v", err)
		tries = append(tries, e)
	}
	// An expired deadline is rejected without a request.
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	err := db.Put(past, at[0][0], []byte("late"))
	cancel()
	require.ErrorIs(t, err, client.ErrDeadlineExceeded)

	require.NoError(t, frozen.Thaw())
	c.WaitConnected(t)
	want := ""
	for i, e := range tries {
		outcome, err := db.Outcome(testContext(t), e.TxID)
		require.NoError(t, err)
		if outcome == client.Committed {
			require.Equal(t, client.OutcomeUnknown, e.Outcome, "reported as %v, and committed", e)
			want = fmt.Sprint(i)
		}
	}
	values, err := valuesOf(testContext(t), db, at[0][0], at[2][0])
	require.NoError(t, err)
	require.Equal(t, []string{want, want}, values)
}

// lossyConn is a connection that drops everything it receives while lost is set.
type lossyConn struct {
	net.Conn
	lost *atomic.Bool
}

func (d lossyConn) Read(p []byte) (int, error) {
	for {
		if n, err := d.Conn.Read(p); err != nil || !d.lost.Load() {
			return n, err
		}
	}
}

// TestOutcomeAfterGatewayIsKilled: the gateway is killed after the commit, before its response arrives, or
// at about the time at which the request arrives. The client queries the outcome by the transaction id at
// another node, and the outcome is correct.
func TestOutcomeAfterGatewayIsKilled(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(12))
	other := proc.Open(t, []string{c.Node(1).Addr, c.Node(2).Addr})
	outcomes := map[client.Outcome]int{}
	for round := range 6 {
		gateway := c.Node(0)
		lost := &atomic.Bool{} // drops all responses
		dial := func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			return lossyConn{conn, lost}, err
		}
		db := proc.Open(t, []string{gateway.Addr}, client.WithDialer(dial)).With(client.NoRetry())
		_, _, err := db.Get(testContext(t), at[1][0]) // opens the pipeline
		require.NoError(t, err)
		value := fmt.Append(nil, round)
		ctx, cancel := context.WithCancel(testContext(t))
		done := make(chan error, 1)
		lost.Store(round%2 == 0)
		go func() {
			done <- db.Execute(ctx, client.PutOp(at[1][0], value), client.PutOp(at[2][0], value))
		}()
		if lost.Load() { // in the other rounds it is killed at about the time at which the request arrives
			proc.Until(t, "the value is visible", func(ctx context.Context) bool {
				require.Empty(t, done, "the transaction has ended")
				got, _, err := other.Get(ctx, at[1][0])
				return err == nil && string(got) == string(value)
			}, func() string { return fmt.Sprintf("round %d is in flight", round) })
		}
		gateway.Kill()
		cancel() // it would query the outcome until the node is back
		err = <-done
		gateway.Start(t)
		c.WaitConnected(t)
		values, rerr := valuesOf(testContext(t), other, at[1][0], at[2][0])
		require.NoError(t, rerr)
		there := values[0] == string(value)
		require.Equal(t, values[0], values[1], "a partial transaction")
		if err == nil {
			require.False(t, lost.Load(), "the response was not lost")
			require.True(t, there, "acknowledged and lost")
			continue
		}
		e, ok := errors.AsType[*client.Error](err)
		require.True(t, ok)
		outcome, oerr := other.Outcome(testContext(t), e.TxID)
		require.NoError(t, oerr)
		require.Equal(t, there, outcome == client.Committed, "%v", err)
		if e.Outcome != client.OutcomeUnknown {
			require.Equal(t, e.Outcome, outcome, "%v", err)
		}
		outcomes[outcome]++
	}
	t.Logf("reported %d commits and %d aborts", outcomes[client.Committed], outcomes[client.NotApplied])
	require.GreaterOrEqual(t, outcomes[client.Committed], 3, "the commit of every other round is visible before the kill")
	// The nodes have not run for as long as outcomes are retained, so they have deleted no outcome and can
	// report that an id of yesterday has not committed.
	old := txID(t, kv.TxnID{Time: time.Now().Add(-24 * time.Hour).UnixNano(), Rand: 1})
	outcome, err := other.Outcome(testContext(t), old)
	require.NoError(t, err)
	require.Equal(t, client.NotApplied, outcome)
}
