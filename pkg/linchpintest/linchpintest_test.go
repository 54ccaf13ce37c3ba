package linchpintest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/linchpintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStart(t *testing.T) {
	db := linchpintest.Start(t)
	require.NoError(t, db.Put(t.Context(), "k", []byte("v")))
	v, ok, err := db.Get(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "v", string(v))
}

func TestAbortNext(t *testing.T) {
	c := linchpintest.StartCluster(t, 1)
	n := client.NewCounter("n")
	c.AbortNext(2)
	var report client.Report
	db := c.DB().With(client.ReportTo(&report))
	require.NoError(t, n.Add(t.Context(), db, 1))
	require.Equal(t, 3, report.Attempts)
	c.AbortNext(1)
	runs := 0
	require.NoError(t, db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
		runs++
		_, err := n.AddGet(ctx, tx, 1)
		return err
	}))
	require.Equal(t, 2, runs)
	c.AbortNext(1)
	require.ErrorIs(t, n.Add(t.Context(), db.With(client.NoRetry()), 1), client.ErrAborted)
	sum, err := n.Get(t.Context(), db)
	require.NoError(t, err)
	require.EqualValues(t, 2, sum)
}

func TestLoseAnswers(t *testing.T) {
	c := linchpintest.StartCluster(t, 3)
	n := client.NewCounter("n")
	for range 5 {
		c.LoseAnswers(1)
		sum := n.AddGetOp(1)
		require.NoError(t, c.DB().Execute(t.Context(), sum))
		require.NotZero(t, sum.Value(), "the store has kept the result")
		c.LoseAnswers(1)
		require.NoError(t, c.DB().Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
			return n.Add(ctx, tx, 1)
		}))
	}
	sum, err := n.Get(t.Context(), c.DB())
	require.NoError(t, err)
	require.EqualValues(t, 10, sum)
}

func TestStopNode(t *testing.T) {
	c := linchpintest.StartCluster(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	db := c.DB()
	for i := range 30 {
		require.NoError(t, client.NewCounter(fmt.Sprint(i)).Add(ctx, db, 1))
	}
	c.StopNode(1)
	down := 0
	for i := range 30 {
		_, err := client.NewCounter(fmt.Sprint(i)).Get(ctx, db)
		if err == nil {
			continue
		}
		require.ErrorIs(t, err, client.ErrUnavailable)
		down++
	}
	require.NotZero(t, down, "keys on the node are unavailable")
	require.Less(t, down, 30, "others are not")
	waits := make(chan error, 1)
	go func() { waits <- db.With(client.WaitForNodes()).View(ctx, readAll) }()
	c.StartNode(1)
	require.NoError(t, <-waits)
	for i := range 30 {
		require.NoError(t, client.NewCounter(fmt.Sprint(i)).Add(ctx, db.With(client.WaitForNodes()), 1))
	}
}

// readAll reads what TestStopNode has written.
func readAll(ctx context.Context, v *client.View) error {
	for i := range 30 {
		n, err := client.NewCounter(fmt.Sprint(i)).Get(ctx, v)
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("%d is %d", i, n)
		}
	}
	return nil
}

func TestAdvance(t *testing.T) {
	c := linchpintest.StartCluster(t, 2)
	db := c.DB()
	require.NoError(t, db.Put(t.Context(), "hour", nil, client.TTL(time.Hour)))
	require.NoError(t, db.Put(t.Context(), "day", nil, client.TTL(24*time.Hour)))
	c.Advance(2 * time.Hour)
	require.Eventually(t, func() bool {
		_, ok, err := db.Get(t.Context(), "hour")
		require.NoError(t, err)
		return !ok
	}, 20*time.Second, 10*time.Millisecond)
	_, ok, err := db.Get(t.Context(), "day")
	require.NoError(t, err)
	require.True(t, ok)
}
