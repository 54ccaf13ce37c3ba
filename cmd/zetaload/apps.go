package main

import (
	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/workload/app"
)

// applications are all that there are, in the order of the help.
var applications = []application{rawMixApp, ticketsApp, bankApp, likesApp, retwisApp, rubisApp}

// skewed adds the flag of an exponent.
func skewed(fs *pflag.FlagSet, skew *float64, d float64, of string) {
	fs.Float64Var(skew, "skew", d, "exponent of the zeta law by which "+of+" are drawn, 0 (uniform) or more")
}

var rawMixApp = application{
	name: "raw-mix", short: "sizes of sets and adds to them, the paper's microbenchmark",
	long: `Claret's raw mix: each transaction has 4 operations on sets that are drawn by
Zipf's law, and each of these adds a member or asks for the size. Adds commute
with each other, and not with sizes.

It promises that each set has the members whose adds were acknowledged, and that
its size is their number.`,
	flags: func(fs *pflag.FlagSet, _ *string) func(app.Env) (app.App, error) {
		var o app.RawMix
		fs.IntVar(&o.Sets, "keys", 10_000, "number of sets")
		skewed(fs, &o.Skew, 0.6, "sets")
		fs.Float64Var(&o.Adds, "adds", 50, "per cent of the operations that add; the others ask for the size")
		fs.IntVar(&o.Ops, "ops", 4, "operations a transaction")
		fs.IntVar(&o.Members, "members", 1000, "different members that are added")
		return func(e app.Env) (app.App, error) { return app.NewRawMix(e, o) }
	},
}

var ticketsMixes = []namedMix{{"mostly-buy", app.TicketMix}}

var ticketsApp = application{
	name: "tickets", short: "ticket sales, of events that all want to see",
	long: `Ticket sales: 50 venues, 200 events and about 2,000 tickets each. What is left of
an event is a bounded counter. An order takes tickets, adds them to what the venue
has sold, and is written down, in one transaction. "sold out" counts the orders
that were refused.

It promises that no event is oversold, that what is gone is what was acknowledged,
that events refuse when too few tickets are left and not before, and that orders
and venues agree with that.`,
	mixes: ticketsMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Tickets
		fs.IntVar(&o.Venues, "venues", 50, "number of venues")
		fs.IntVar(&o.Events, "events", 200, "number of events")
		fs.IntVar(&o.Tickets, "tickets", 2000, "tickets an event, give or take a tenth")
		fs.IntVar(&o.Most, "most", 4, "tickets an order, at most")
		skewed(fs, &o.Skew, 1, "events")
		return func(e app.Env) (_ app.App, err error) {
			o.Mix, err = mixOf(ticketsMixes, *mix)
			if err != nil {
				return nil, err
			}
			return app.NewTickets(e, o)
		}
	},
}

var bankMixes = []namedMix{{"mostly-transfer", app.BankMix}}

var bankApp = application{
	name: "bank", short: "transfers between hot accounts, and audits",
	long: `A bank: transfers between accounts that never get below 0, and audits that read
all accounts at once while that goes on. "refused" counts the transfers for which
there was not enough.

It promises that every audit sees the same total, that it is the same in the end,
and that balances are those of the transfers acknowledged.`,
	mixes: bankMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Bank
		fs.IntVar(&o.Accounts, "accounts", 100, "number of accounts, 2 to 5,000")
		fs.IntVar(&o.Start, "start", 1000, "what is on each in the beginning")
		fs.IntVar(&o.Most, "most", 50, "how much is transferred, at most")
		skewed(fs, &o.Skew, 0.99, "accounts")
		return func(e app.Env) (_ app.App, err error) {
			o.Mix, err = mixOf(bankMixes, *mix)
			if err != nil {
				return nil, err
			}
			return app.NewBank(e, o)
		}
	},
}

var likesMixes = []namedMix{{"half-views", app.LikesMix}}

var likesApp = application{
	name: "likes", short: "users like posts, and take it back",
	long: `Likes: users like posts, of which some are liked by all, and take that back. A
like is one blind add to the post's set of users (--likes-as set), or, with
--likes-as counter, an interactive transaction: the post's counter is added to if
the field in the user's map is new.

It promises that posts are liked by those whose likes were acknowledged, and that
who likes a post twice counts once.`,
	mixes: likesMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Likes
		fs.IntVar(&o.Posts, "posts", 10_000, "number of posts")
		fs.IntVar(&o.Users, "users", 10_000, "number of users, one for each client at least")
		skewed(fs, &o.Skew, 1, "posts")
		fs.StringVar(&o.As, "likes-as", app.LikesAsSet, "how likes are kept: set or counter")
		return func(e app.Env) (_ app.App, err error) {
			o.Mix, err = mixOf(likesMixes, *mix)
			if err != nil {
				return nil, err
			}
			return app.NewLikes(e, o)
		}
	},
}

var retwisMixes = []namedMix{{"read-heavy", app.RetwisReadHeavy}, {"post-heavy", app.RetwisPostHeavy}}

var retwisApp = application{
	name: "retwis", short: "a small Twitter: timelines, posts, reposts, followers",
	long: `Retwis, a small Twitter, as in the paper: who follows whom is a graph by the
generator of Graph 500, posts and reposts are pushed to the timelines of all
followers in one transaction, and who looks at a timeline loads each of its newest
10 posts in a transaction of its own. The mixes are those of table 4.3.

It promises that following is the same from both sides, that posts reached all who
followed, and nobody else, and that reposts are counted right.`,
	mixes: retwisMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Retwis
		fs.IntVar(&o.Scale, "scale", 16, "binary logarithm of the number of users: 16 is 65,536")
		fs.Float64Var(&o.Followers, "followers", 16, "followers a user has on average")
		fs.IntVar(&o.MostFollowers, "most-followers", 5000, "followers a user has at most; a post is one transaction")
		fs.IntVar(&o.Posts, "posts", 0, "posts in the beginning (default: a sixteenth of the users)")
		fs.StringVar(&o.Timelines, "timelines", app.TimelineSortedSet, "what timelines are: sorted-set, top-k (the newest 100 posts) or list")
		fs.Float64Var(&o.Geometric, "geometric", 0.5, "probability that a repost is of the most reposted post of a timeline, above 0")
		return func(e app.Env) (_ app.App, err error) {
			o.Mix, err = mixOf(retwisMixes, *mix)
			if err != nil {
				return nil, err
			}
			return app.NewRetwis(e, o)
		}
	},
}

var rubisMixes = []namedMix{{"read-heavy", app.RubisReadHeavy}, {"bid-heavy", app.RubisBidHeavy}}

var rubisApp = application{
	name: "rubis", short: "an auction house: bids that rush at the end of auctions",
	long: `RUBiS, an auction house, as in the paper: 30,000 items in 62 regions and 40
categories, and 10 bids an item on average, by Zipf's law and the more often the
nearer the end of the auction. The mixes are those of table 4.3. "too late" counts
the bids on what was closed.

It promises that the count, sum, maximum and list of an item's bids agree, also in
every view during the run, and with what was acknowledged, and that nothing is
sold below its reserve or for less than the highest bid.`,
	mixes: rubisMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Rubis
		fs.IntVar(&o.Items, "items", 30_000, "number of items")
		fs.IntVar(&o.Regions, "regions", 62, "number of regions")
		fs.IntVar(&o.Categories, "categories", 40, "number of categories")
		fs.IntVar(&o.Users, "users", 0, "number of users (default: as many as items)")
		fs.Float64Var(&o.Bids, "bids", 10, "bids an item on average, before the season begins anew")
		skewed(fs, &o.Skew, 1, "the items of bids")
		fs.Float64Var(&o.Rush, "rush", 0.1, "mean time of a bid before the end, in lengths of an auction, above 0")
		return func(e app.Env) (_ app.App, err error) {
			o.Mix, err = mixOf(rubisMixes, *mix)
			if err != nil {
				return nil, err
			}
			return app.NewRubis(e, o)
		}
	},
}
