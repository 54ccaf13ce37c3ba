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

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestANodeIsDown: what a dead node held is refused, in time, with what to do;
// everything else is served, by every gateway that is left; and when the node
// comes back, all of it.
func TestANodeIsDown(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	keys := keysOf(12)
	at := c.Places(t, keys)
	down := c.Node(2)
	down.Kill()
	for i := range 2 {
		patient := proc.OpenOld(t, []string{c.Node(i).Addr})
		hasty := proc.OpenOld(t, []string{c.Node(i).Addr}, client.WithRetries(false))
		waiting := proc.OpenOld(t, []string{c.Node(i).Addr}, client.WithWaitForShards(true))
		awaitDown(t, c.Node(i), down, at[2][0])
		ctx := soon(t)
		for _, k := range append(at[0], at[1]...) { // the rest works
			_, err := patient.Execute(ctx, client.Put(k, k))
			require.NoError(t, err)
		}
		_, err := patient.Execute(ctx, client.Put(at[0][0], nil), client.Put(at[1][0], nil))
		require.NoError(t, err)

		gone := at[2][0]
		begin := time.Now()
		_, err = hasty.Execute(ctx, client.Put(gone, nil), client.Put(at[0][0], nil))
		unavailable(t, err)
		require.Less(t, proc.Took(begin), 2*time.Second, "a shard that is known to be down is refused at once")
		unavailable(t, hasty.Update(ctx, func(tx *client.Tx) error {
			_, err := tx.Get(gone)
			return err
		}))
		told := 0
		for _, err := range hasty.Scan(ctx, []byte("key/"), []byte("key0"), client.ScanOptions{}) {
			told++
			unavailable(t, err)
		}
		require.Equal(t, 1, told, "a scan of what is down must not be empty")
		// Who does not go without retries is told at once, too, and who waits for it is so
		// until the deadline.
		_, err = patient.Execute(ctx, client.Get(gone))
		unavailable(t, err)
		short, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
		begin = time.Now()
		_, err = waiting.Execute(short, client.Get(gone))
		cancel()
		require.Contains(t, []kv.Kind{kv.KindUnavailable, kv.KindDeadlineExceeded}, kv.KindOf(err), "%v", err)
		require.Less(t, proc.Took(begin), 3*time.Second)
	}
	down.Start(t)
	c.Met(t)
	db := c.OpenOld(t)
	for _, k := range at[0][1:] {
		out, err := db.Execute(soon(t), client.Get(k))
		require.NoError(t, err)
		require.Equal(t, k, out.Results[0].Value)
	}
	_, err := db.Execute(soon(t), client.Put(at[2][0], nil), client.Put(at[0][0], nil))
	require.NoError(t, err)
}

// unavailable requires an error that says so and what to do.
func unavailable(t *testing.T, err error) {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kv.KindUnavailable, e.Kind, "%v", err)
	require.NotEmpty(t, e.Hint)
	require.NotEmpty(t, e.Text)
}

// TestDeadlinesWhileANodeStandsStill: a transaction that reached its deadline
// while a shard did not answer has changed nothing, or its outcome is told as
// unknown and can be found out. The node is not dead, but stands still.
func TestDeadlinesWhileANodeStandsStill(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	at := c.Places(t, keysOf(12))
	db := proc.OpenOld(t, []string{c.Node(0).Addr})
	frozen := c.Node(2)
	require.NoError(t, frozen.Freeze())
	type try struct {
		id  kv.TxnID
		err error
	}
	var tries []try
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		begin := time.Now()
		_, err := db.Execute(ctx, client.Put(at[0][0], fmt.Append(nil, i)), client.Put(at[2][0], fmt.Append(nil, i)))
		cancel()
		require.Error(t, err)
		require.Less(t, proc.Took(begin), 3*time.Second)
		e, ok := errors.AsType[*client.Error](err)
		require.True(t, ok)
		require.Contains(t, []kv.Kind{kv.KindOutcomeUnknown, kv.KindDeadlineExceeded, kv.KindUnavailable}, e.Kind, "%v", err)
		tries = append(tries, try{e.ID, err})
	}
	// A past deadline is refused without being sent.
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	_, err := db.Execute(past, client.Put(at[0][0], []byte("late")))
	cancel()
	require.Equal(t, kv.KindDeadlineExceeded, kv.KindOf(err), "%v", err)

	require.NoError(t, frozen.Thaw())
	c.Met(t)
	want := ""
	for i, x := range tries {
		committed, _, err := db.Outcome(soon(t), x.id)
		require.NoError(t, err)
		if committed {
			require.Equal(t, kv.KindOutcomeUnknown, kv.KindOf(x.err), "told as %v, and committed", x.err)
			want = fmt.Sprint(i)
		}
	}
	out, err := db.Execute(soon(t), client.Get(at[0][0]), client.Get(at[2][0]))
	require.NoError(t, err)
	require.Equal(t, want, string(out.Results[0].Value))
	require.Equal(t, want, string(out.Results[1].Value))
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
	at := c.Places(t, keysOf(12))
	other := proc.OpenOld(t, []string{c.Node(1).Addr, c.Node(2).Addr})
	told := map[bool]int{}
	for round := range 6 {
		gateway := c.Node(0)
		lost := &atomic.Bool{} // are all answers
		db := proc.OpenOld(t, []string{gateway.Addr}, client.WithRetries(false), client.WithDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			return deaf{conn, lost}, err
		}))
		_, err := db.Execute(soon(t), client.Get(at[1][0])) // it has its stream
		require.NoError(t, err)
		value := fmt.Append(nil, round)
		ctx, cancel := context.WithCancel(soon(t))
		done := make(chan error, 1)
		lost.Store(round%2 == 0)
		go func() {
			_, err := db.Execute(ctx, client.Put(at[1][0], value), client.Put(at[2][0], value))
			done <- err
		}()
		if lost.Load() { // else it is killed about when the request arrives
			proc.Until(t, "the value is there", func(ctx context.Context) bool {
				require.Empty(t, done, "the transaction has ended")
				out, err := other.Execute(ctx, client.Get(at[1][0]))
				return err == nil && string(out.Results[0].Value) == string(value)
			}, func() string { return fmt.Sprintf("round %d is under way", round) })
		}
		gateway.Kill()
		cancel() // it would ask until the node is back
		err = <-done
		gateway.Start(t)
		c.Met(t)
		out, rerr := other.Execute(soon(t), client.Get(at[1][0]), client.Get(at[2][0]))
		require.NoError(t, rerr)
		there := string(out.Results[0].Value) == string(value)
		require.Equal(t, out.Results[0].Value, out.Results[1].Value, "half a transaction")
		if err == nil {
			require.False(t, lost.Load(), "it was answered")
			require.True(t, there, "acknowledged and lost")
			continue
		}
		e, ok := errors.AsType[*client.Error](err)
		require.True(t, ok)
		committed, _, oerr := other.Outcome(soon(t), e.ID)
		require.NoError(t, oerr)
		require.Equal(t, there, committed, "%v", err)
		if kv.KindOf(err) != kv.KindOutcomeUnknown {
			require.False(t, committed, "told as %v, and committed", err)
		}
		told[committed]++
	}
	t.Logf("told of %d commits and %d aborts", told[true], told[false])
	require.GreaterOrEqual(t, told[true], 3, "every other commit was seen before the kill")
	// Nothing of a day ago has been forgotten, since the nodes have not run for as long as
	// outcomes are kept: it can be told that such an id has not committed.
	old := kv.TxnID{Time: time.Now().Add(-24 * time.Hour).UnixNano(), Rand: 1}
	committed, _, err := other.Outcome(soon(t), old)
	require.NoError(t, err)
	require.False(t, committed)
}
