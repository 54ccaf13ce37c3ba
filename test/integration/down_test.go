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

// TestANodeIsDown: what a dead node held is refused, in time, with what to do;
// everything else is served, by every gateway that is left; and when the node
// comes back, all of it.
func TestANodeIsDown(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(12))
	down := c.Node(2)
	down.Kill()
	for i := range 2 {
		patient := proc.Open(t, []string{c.Node(i).Addr})
		hasty := proc.Open(t, []string{c.Node(i).Addr}).With(client.NoRetry())
		waiting := proc.Open(t, []string{c.Node(i).Addr}).With(client.WaitForNodes())
		awaitDown(t, c.Node(i), down, at[2][0])
		ctx := soon(t)
		for _, k := range append(at[0], at[1]...) { // the rest works
			require.NoError(t, patient.Put(ctx, k, []byte(k)))
		}
		require.NoError(t, patient.Execute(ctx, client.PutOp(at[0][0], nil), client.PutOp(at[1][0], nil)))

		gone := at[2][0]
		begin := time.Now()
		unavailable(t, hasty.Execute(ctx, client.PutOp(gone, nil), client.PutOp(at[0][0], nil)))
		require.Less(t, proc.Elapsed(begin), 2*time.Second, "a shard that is known to be down is refused at once")
		unavailable(t, hasty.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			_, _, err := tx.Get(ctx, gone)
			return err
		}))
		told := 0
		for _, err := range hasty.Scan(ctx, client.Prefix("key/")) {
			told++
			unavailable(t, err)
		}
		require.Equal(t, 1, told, "a scan of what is down must not be empty")
		// Who does not go without retries is told at once, too, and who waits for it is so
		// until the deadline.
		_, _, err := patient.Get(ctx, gone)
		unavailable(t, err)
		short, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
		begin = time.Now()
		_, _, err = waiting.Get(short, gone)
		cancel()
		require.Contains(t, []client.Kind{client.KindUnavailable, client.KindDeadlineExceeded}, client.KindOf(err), "%v", err)
		require.Less(t, proc.Elapsed(begin), 3*time.Second)
	}
	down.Start(t)
	c.WaitConnected(t)
	db := c.Open(t)
	for _, k := range at[0][1:] {
		value, _, err := db.Get(soon(t), k)
		require.NoError(t, err)
		require.Equal(t, k, string(value))
	}
	require.NoError(t, db.Execute(soon(t), client.PutOp(at[2][0], nil), client.PutOp(at[0][0], nil)))
}

// unavailable requires an error that says so and what to do.
func unavailable(t *testing.T, err error) {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, client.KindUnavailable, e.Kind, "%v", err)
	require.NotEmpty(t, e.Hint)
	require.NotEmpty(t, e.Message)
}

// TestDeadlinesWhileANodeStandsStill: a transaction that reached its deadline
// while a shard did not answer has changed nothing, or its outcome is told as
// unknown and can be found out. The node is not dead, but stands still.
func TestDeadlinesWhileANodeStandsStill(t *testing.T) {
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
	// A past deadline is refused without being sent.
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	err := db.Put(past, at[0][0], []byte("late"))
	cancel()
	require.ErrorIs(t, err, client.ErrDeadlineExceeded)

	require.NoError(t, frozen.Thaw())
	c.WaitConnected(t)
	want := ""
	for i, e := range tries {
		outcome, err := db.Outcome(soon(t), e.TxID)
		require.NoError(t, err)
		if outcome == client.Committed {
			require.Equal(t, client.OutcomeUnknown, e.Outcome, "told as %v, and committed", e)
			want = fmt.Sprint(i)
		}
	}
	values, err := valuesOf(soon(t), db, at[0][0], at[2][0])
	require.NoError(t, err)
	require.Equal(t, []string{want, want}, values)
}

// deaf is a connection of which nothing arrives any more once it is told so.
type deaf struct {
	net.Conn
	now *atomic.Bool
}

func (d deaf) Read(p []byte) (int, error) {
	for {
		if n, err := d.Conn.Read(p); err != nil || !d.now.Load() {
			return n, err
		}
	}
}

// TestOutcomeAfterAKill: the gateway is killed when it has committed, and its answer is
// lost, or about when the request arrives. The client asks another node by the id, and
// what it is told is what is so.
func TestOutcomeAfterAKill(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(12))
	other := proc.Open(t, []string{c.Node(1).Addr, c.Node(2).Addr})
	told := map[client.Outcome]int{}
	for round := range 6 {
		gateway := c.Node(0)
		lost := &atomic.Bool{} // are all answers
		dial := func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			return deaf{conn, lost}, err
		}
		db := proc.Open(t, []string{gateway.Addr}, client.WithDialer(dial)).With(client.NoRetry())
		_, _, err := db.Get(soon(t), at[1][0]) // it has its stream
		require.NoError(t, err)
		value := fmt.Append(nil, round)
		ctx, cancel := context.WithCancel(soon(t))
		done := make(chan error, 1)
		lost.Store(round%2 == 0)
		go func() {
			done <- db.Execute(ctx, client.PutOp(at[1][0], value), client.PutOp(at[2][0], value))
		}()
		if lost.Load() { // else it is killed about when the request arrives
			proc.Until(t, "the value is there", func(ctx context.Context) bool {
				require.Empty(t, done, "the transaction has ended")
				got, _, err := other.Get(ctx, at[1][0])
				return err == nil && string(got) == string(value)
			}, func() string { return fmt.Sprintf("round %d is under way", round) })
		}
		gateway.Kill()
		cancel() // it would ask until the node is back
		err = <-done
		gateway.Start(t)
		c.WaitConnected(t)
		values, rerr := valuesOf(soon(t), other, at[1][0], at[2][0])
		require.NoError(t, rerr)
		there := values[0] == string(value)
		require.Equal(t, values[0], values[1], "half a transaction")
		if err == nil {
			require.False(t, lost.Load(), "it was answered")
			require.True(t, there, "acknowledged and lost")
			continue
		}
		e, ok := errors.AsType[*client.Error](err)
		require.True(t, ok)
		outcome, oerr := other.Outcome(soon(t), e.TxID)
		require.NoError(t, oerr)
		require.Equal(t, there, outcome == client.Committed, "%v", err)
		if e.Outcome != client.OutcomeUnknown {
			require.Equal(t, e.Outcome, outcome, "%v", err)
		}
		told[outcome]++
	}
	t.Logf("told of %d commits and %d aborts", told[client.Committed], told[client.NotApplied])
	require.GreaterOrEqual(t, told[client.Committed], 3, "every other commit was seen before the kill")
	// Nothing of a day ago has been forgotten, since the nodes have not run for as long as
	// outcomes are kept: it can be told that such an id has not committed.
	old := txID(t, kv.TxnID{Time: time.Now().Add(-24 * time.Hour).UnixNano(), Rand: 1})
	outcome, err := other.Outcome(soon(t), old)
	require.NoError(t, err)
	require.Equal(t, client.NotApplied, outcome)
}
