package programs_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/examples/programs"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/linchpintest"
)

func TestBuy(t *testing.T) {
	db := linchpintest.Start(t)
	require.ErrorIs(t, programs.Buy(t.Context(), db, "ann"), client.ErrNotFound) // there is no such sale
	require.NoError(t, programs.OpenSale(t.Context(), db, 2))
	require.NoError(t, programs.Buy(t.Context(), db, "ann"))
	require.ErrorIs(t, programs.Buy(t.Context(), db, "ann"), client.ErrConditionFailed)
	require.NoError(t, programs.Buy(t.Context(), db, "bob"))
	require.ErrorIs(t, programs.Buy(t.Context(), db, "cid"), client.ErrOutOfRange)
}

// TestASaleSellsExactlyItsTickets while responses are lost and transactions aborted.
func TestASaleSellsExactlyItsTickets(t *testing.T) {
	c := linchpintest.StartCluster(t, 3)
	db := c.DB()
	const tickets = 40
	require.NoError(t, programs.OpenSale(t.Context(), db, tickets))
	var sold atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 5 {
				if j == 2 {
					c.LoseAnswers(1)
					c.AbortNext(2)
				}
				err := programs.Buy(t.Context(), db, fmt.Sprintf("user-%d-%d", i, j))
				switch client.KindOf(err) {
				case "":
					sold.Add(1)
				case client.KindOutOfRange:
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, tickets, sold.Load())
	buyers := 0
	for _, err := range db.Scan(t.Context(), client.Prefix("sale/by/")) {
		require.NoError(t, err)
		buyers++
	}
	require.Equal(t, tickets, buyers)
}

func TestPage(t *testing.T) {
	db := linchpintest.Start(t)
	for i := range 15 {
		require.NoError(t, programs.Score(t.Context(), db, fmt.Sprintf("player%02d", i), float64(i)))
	}
	past, err := db.CreateSnapshot(t.Context(), "before")
	require.NoError(t, err)
	require.NoError(t, programs.Score(t.Context(), db, "player03", 100))
	for _, x := range []struct {
		r     client.Reader
		place int
	}{{db, 1}, {past, 12}} {
		top, place, listed, err := programs.Page(t.Context(), x.r, "player03")
		require.NoError(t, err)
		require.Len(t, top, 10)
		require.True(t, listed)
		require.Equal(t, x.place, place)
	}
	_, _, listed, err := programs.Page(t.Context(), db, "stranger")
	require.NoError(t, err)
	require.False(t, listed)
}

func TestAllow(t *testing.T) {
	db := linchpintest.Start(t)
	allowed := 0
	for range 10 {
		ok, err := programs.Allow(t.Context(), db, "ann", 5)
		require.NoError(t, err)
		if ok {
			allowed++
		}
	}
	// The minute may change once.
	require.GreaterOrEqual(t, allowed, 5)
}

func TestTransfer(t *testing.T) {
	db := linchpintest.Start(t)
	require.NoError(t, programs.OpenAccount(t.Context(), db, "ann", 100))
	require.ErrorIs(t, programs.Transfer(t.Context(), db, "ann", "bob", 10), client.ErrNotFound)
	require.NoError(t, programs.OpenAccount(t.Context(), db, "bob", 0))
	require.NoError(t, programs.Transfer(t.Context(), db, "ann", "bob", 60))
	require.ErrorIs(t, programs.Transfer(t.Context(), db, "ann", "bob", 60), client.ErrOutOfRange)
	// Two transfers as one transaction: all or nothing.
	err := db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
		if err := programs.Transfer(ctx, tx, "ann", "bob", 40); err != nil {
			return err
		}
		return programs.Transfer(ctx, tx, "bob", "ann", 1000)
	})
	require.ErrorIs(t, err, client.ErrOutOfRange)
	for name, want := range map[string]int64{"ann": 40, "bob": 60} {
		n, ok, err := client.NewBoundedCounter("acct/"+name).Get(t.Context(), db)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, n, name)
	}
}

func TestClaim(t *testing.T) {
	c := linchpintest.StartCluster(t, 1)
	db := c.DB()
	now := time.Now()
	for i := range 8 {
		require.NoError(t, programs.Enqueue(t.Context(), db, fmt.Sprintf("job%d", i), now.Add(time.Duration(i)*time.Second)))
	}
	c.AbortNext(3)
	claims := make(chan string, 20)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				job, err := programs.Claim(t.Context(), db, "worker")
				if err != nil {
					t.Error(err)
				}
				if job == "" || err != nil {
					return
				}
				claims <- job
			}
		})
	}
	all.Wait()
	close(claims)
	seen := map[string]bool{}
	for job := range claims {
		require.False(t, seen[job], "%s was claimed twice", job)
		seen[job] = true
	}
	require.Len(t, seen, 8)
	v, ok, err := db.Get(t.Context(), "jobs/lease/job0")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "worker", string(v))
}
