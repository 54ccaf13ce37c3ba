// Package programs has five small programs for workloads with hot keys: a sale, a leaderboard, a rate
// limit, a transfer and a job queue.
package programs

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
)

// Buy sells a ticket to a user, one per user. It is one round trip, and buyers do not block each other
// while there are plenty of tickets. The errors are [client.ErrConditionFailed] if the user has one,
// [client.ErrOutOfRange] if the sale is sold out, and [client.ErrNotFound] if there is no sale.
func Buy(ctx context.Context, db *client.DB, user string) error {
	stock := client.NewBoundedCounter("sale/stock") // created by OpenSale
	return db.Execute(ctx, client.PutOp("sale/by/"+user, nil, client.IfAbsent()), stock.SubtractOp(1))
}

// OpenSale creates the sale of a number of tickets. It has no effect if there is one.
func OpenSale(ctx context.Context, w client.Writer, tickets int64) error {
	return client.NewBoundedCounter("sale/stock").Create(ctx, w, 0, tickets, tickets)
}

// Page returns the ten best of the leaderboard and the place of one player, from 1, both from one
// state: the present one, or that of a snapshot.
func Page(ctx context.Context, r client.Reader, me string) (top []client.Scored[string], place int, listed bool,
	err error) {
	board := client.NewSortedSet("board", client.String)
	page, rank := board.RangeByRevRankOp(0, 9), board.RevRankOp(me)
	err = r.Execute(ctx, page, rank)
	return page.Value(), rank.Value() + 1, rank.Found(), err
}

// Score adds points to a player. Points of all players commute.
func Score(ctx context.Context, w client.Writer, player string, points float64) error {
	return client.NewSortedSet("board", client.String).Increment(ctx, w, player, points)
}

// Allow reports whether a user may make another request in this minute, and counts it.
func Allow(ctx context.Context, db *client.DB, user string, limit int64) (bool, error) {
	window := client.NewBoundedCounter("rate/" + user + time.Now().Format("/15:04"))
	ok := window.TryAddOp(1) // CreateOp has no effect if the window exists; ExpireOp takes its write lock
	err := db.Execute(ctx, window.CreateOp(0, limit, 0), ok, client.ExpireOp(window.Key(), 2*time.Minute))
	return ok.Value(), err
}

// OpenAccount creates an account, which holds 0 to 1,000,000,000.00.
func OpenAccount(ctx context.Context, w client.Writer, name string, cents int64) error {
	return client.NewBoundedCounter("acct/"+name).Create(ctx, w, 0, 100_000_000_000, cents)
}

// Transfer moves money between two accounts: as a transaction if w is a *client.DB, as a part of one
// if it is a *client.Tx. The error is [client.ErrOutOfRange] if there is not enough, and
// [client.ErrNotFound] if there is no such account.
func Transfer(ctx context.Context, w client.Writer, from, to string, cents int64) error {
	a, b := client.NewBoundedCounter("acct/"+from), client.NewBoundedCounter("acct/"+to)
	return w.Execute(ctx, a.SubtractOp(cents), b.AddOp(cents))
}

// Enqueue adds a job that is due at a time.
func Enqueue(ctx context.Context, w client.Writer, job string, due time.Time) error {
	return client.NewSortedSet("jobs/due", client.String).Add(ctx, w, job, float64(due.UnixMilli())/1000)
}

// Claim returns the job that is due first, and gives the worker a lease of it for a minute. It returns
// "" if there is none.
func Claim(ctx context.Context, db *client.DB, worker string) (job string, err error) {
	due := client.NewSortedSet("jobs/due", client.String) // by time
	err = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		job = "" // of an earlier attempt
		first, err := due.RangeByRank(ctx, tx, 0, 0)
		if err != nil || len(first) == 0 {
			return err
		}
		job = first[0].Member
		err = due.Remove(ctx, tx, job)
		if err != nil {
			return err
		}
		return tx.Put(ctx, "jobs/lease/"+job, []byte(worker), client.TTL(time.Minute))
	})
	return job, err
}
