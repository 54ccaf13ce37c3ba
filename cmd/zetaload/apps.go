package main

import (
	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/load/app"
)

// applications are all applications, in the order of the help.
var applications = []application{rawMixApp, ticketsApp, bankApp, likesApp, retwisApp, rubisApp}

// skewed adds the flag of an exponent.
func skewed(fs *pflag.FlagSet, skew *float64, d float64, of string) {
	fs.Float64Var(skew, "skew", d, "exponent of the Zipf distribution of "+of+", 0 (uniform) or more")
}

var rawMixApp = application{
	name: "raw-mix", short: "adds to sets and their sizes, a microbenchmark",
	long: `Run the raw mix of Claret: each transaction has 4 operations on sets, and each
operation adds a member to a set or reads its size. Adds commute with each
other, but not with reads of the size.

Invariants: each set has the members whose adds were acknowledged, and its size
is their number.`,
	flags: func(fs *pflag.FlagSet, _ *string) func(app.Env) (app.App, error) {
		var o app.RawMix
		fs.IntVar(&o.Sets, "keys", 10_000, "number of sets")
		skewed(fs, &o.Skew, 0.6, "sets")
		fs.Float64Var(&o.Adds, "adds", 50, "percentage of operations that add; the others read the size")
		fs.IntVar(&o.Ops, "ops", 4, "operations of a transaction")
		fs.IntVar(&o.Members, "members", 1000, "number of different members")
		return func(e app.Env) (app.App, error) { return app.NewRawMix(e, o) }
	},
}

var ticketsMixes = []namedMix{{"mostly-buy", app.TicketMix}}

var ticketsApp = application{
	name: "tickets", short: "ticket sales with hot events",
	long: `Run ticket sales: 50 venues, and 200 events with about 2,000 tickets each,
whose number is a bounded counter. An order is one transaction: it subtracts
tickets, adds them to the sales of the venue, and records the order. The report
counts orders that are rejected for lack of tickets as "sold out".

Invariants: no event is oversold; the tickets sold are those acknowledged; an
order is rejected only if too few tickets are left; orders and venues agree
with events.`,
	mixes: ticketsMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Tickets
		fs.IntVar(&o.Venues, "venues", 50, "number of venues")
		fs.IntVar(&o.Events, "events", 200, "number of events")
		fs.IntVar(&o.Tickets, "tickets", 2000, "average number of tickets of an event, within 10 %")
		fs.IntVar(&o.Most, "most", 4, "maximum tickets of an order")
		skewed(fs, &o.Skew, 1, "events")
		return mixed(ticketsMixes, mix, &o.Mix, func(e app.Env) (app.App, error) { return app.NewTickets(e, o) })
	},
}

var bankMixes = []namedMix{{"mostly-transfer", app.BankMix}}

var bankApp = application{
	name: "bank", short: "transfers between hot accounts, and audits",
	long: `Run a bank: transfers between accounts whose balance cannot be negative, and
audits that read all accounts in one transaction. The report counts transfers
that are rejected for lack of money as "refused".

Invariants: each audit and the final state have the same total; balances are
those of the transfers acknowledged.`,
	mixes: bankMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Bank
		fs.IntVar(&o.Accounts, "accounts", 100, "number of accounts, 2 to 5,000")
		fs.IntVar(&o.Start, "start", 1000, "initial balance of an account")
		fs.IntVar(&o.Most, "most", 50, "maximum amount of a transfer")
		skewed(fs, &o.Skew, 0.99, "accounts")
		return mixed(bankMixes, mix, &o.Mix, func(e app.Env) (app.App, error) { return app.NewBank(e, o) })
	},
}

var likesMixes = []namedMix{{"half-views", app.LikesMix}}

var likesApp = application{
	name: "likes", short: "likes of posts, and their removal",
	long: `Run likes: users like posts, some of which are hot, and remove their likes.
With --likes-as set a like adds the user to the set of the post, without a
read. With --likes-as counter it is an interactive transaction, which
increments the counter of the post if the post is new in the map of the user.

Invariants: the likes of a post are those acknowledged, and a user counts once.`,
	mixes: likesMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Likes
		fs.IntVar(&o.Posts, "posts", 10_000, "number of posts")
		fs.IntVar(&o.Users, "users", 10_000, "number of users, at least one for each client")
		skewed(fs, &o.Skew, 1, "posts")
		fs.StringVar(&o.As, "likes-as", app.LikesAsSet, "type of the likes: set or counter")
		return mixed(likesMixes, mix, &o.Mix, func(e app.Env) (app.App, error) { return app.NewLikes(e, o) })
	},
}

var retwisMixes = []namedMix{{"read-heavy", app.RetwisReadHeavy}, {"post-heavy", app.RetwisPostHeavy}}

var retwisApp = application{
	name: "retwis", short: "a small Twitter with timelines, posts, reposts and followers",
	long: `Run Retwis, a small Twitter, as in the paper: the followers are a graph of the
Graph 500 generator; a transaction writes a post or repost to the timelines of
all followers; a view of a timeline reads each of its newest 10 posts in a
transaction of its own. The mixes are those of table 4.3.

Invariants: both sides of a follow agree; a post is in the timelines of exactly
those users who followed its author; the numbers of reposts are right.`,
	mixes: retwisMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Retwis
		fs.IntVar(&o.Scale, "scale", 16, "binary logarithm of the number of users: 16 is 65,536")
		fs.Float64Var(&o.Followers, "followers", 16, "average number of followers of a user")
		fs.IntVar(&o.MostFollowers, "most-followers", 5000, "maximum followers of a user; a post is one transaction")
		fs.IntVar(&o.Posts, "posts", 0, "initial number of posts (default: 1/16 of the users)")
		fs.StringVar(&o.Timelines, "timelines", app.TimelineSortedSet,
			"type of timelines: sorted-set, top-k (the newest 100 posts) or list")
		fs.Float64Var(&o.Geometric, "geometric", 0.5,
			"probability that a repost picks the most reposted post of a timeline, above 0")
		return mixed(retwisMixes, mix, &o.Mix, func(e app.Env) (app.App, error) { return app.NewRetwis(e, o) })
	},
}

var rubisMixes = []namedMix{{"read-heavy", app.RubisReadHeavy}, {"bid-heavy", app.RubisBidHeavy}}

var rubisApp = application{
	name: "rubis", short: "an auction house, with most bids at the end of auctions",
	long: `Run RUBiS, an auction house, as in the paper: 30,000 items in 62 regions and 40
categories with an average of 10 bids. Bids on items follow a Zipf
distribution, and are more frequent near the end of an auction. The mixes are
those of table 4.3. The report counts bids on closed auctions as "too late".

Invariants: count, sum, maximum and list of the bids of an item agree with each
other, in each view and at the end, and with the acknowledged bids; no item is
sold below its reserve or below the highest bid.`,
	mixes: rubisMixes,
	flags: func(fs *pflag.FlagSet, mix *string) func(app.Env) (app.App, error) {
		var o app.Rubis
		fs.IntVar(&o.Items, "items", 30_000, "number of items")
		fs.IntVar(&o.Regions, "regions", 62, "number of regions")
		fs.IntVar(&o.Categories, "categories", 40, "number of categories")
		fs.IntVar(&o.Users, "users", 0, "number of users (default: as many as items)")
		fs.Float64Var(&o.Bids, "bids", 10, "average number of bids of an item")
		skewed(fs, &o.Skew, 1, "the items that are bid on")
		fs.Float64Var(&o.Rush, "rush", 0.1, "mean time from a bid to the end of the auction, in auction lengths, above 0")
		return mixed(rubisMixes, mix, &o.Mix, func(e app.Env) (app.App, error) { return app.NewRubis(e, o) })
	},
}

// mixed sets the mix of an application, by its name, before it is made.
func mixed(mixes []namedMix, name *string, mix *app.Mix,
	make func(app.Env) (app.App, error)) func(app.Env) (app.App, error) {
	return func(e app.Env) (_ app.App, err error) {
		*mix, err = mixOf(mixes, *name)
		if err != nil {
			return nil, err
		}
		return make(e)
	}
}
