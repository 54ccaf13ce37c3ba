package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/load/dist/auction"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Rubis is an auction house (Holt 2016, section 4.5.2). Bids on an item go to
// a top-k, which knows the highest, and to a summary, which counts them all; both
// take any number of bids at the same time. Who bids on what, and when, is a
// season of package auction, which clients go through together: bids rush at
// the end of an auction, while it is being closed.
type Rubis struct {
	// Items, Regions and Categories are as in the paper. Defaults 30,000, 62
	// and 40.
	Items, Regions, Categories int
	// Users is how many there are in the beginning. Default: as many as items.
	Users int
	// Bids is how many an item gets on average. Default 10. When all have been
	// made, the season begins anew, with what is still open.
	Bids float64
	// Skew is the exponent of Zipf's law for bids by item.
	Skew float64
	// Rush is the mean time of a bid before the end, in lengths of an auction.
	// The paper gives no number. Default 0.1.
	Rush float64
	// Mix is of RubisReadHeavy. Default: that.
	Mix Mix
}

// The mixes of table 4.3, whose pairs are halved, but for View/Browse: four of
// five of these are views of an item.
var (
	RubisReadHeavy = Mix{{"view", 65.6}, {"browse", 16.4}, {"bid", 10}, {"open", 2}, {"close", 2}, {"comment", 2},
		{"new-user", 1}, {"view-user", 1}}
	RubisBidHeavy = Mix{{"view", 41.6}, {"browse", 10.4}, {"bid", 45}, {"open", 0.5}, {"close", 0.5}, {"comment", 1},
		{"new-user", 0.5}, {"view-user", 0.5}}
)

const (
	rubisView workload.Kind = iota
	rubisBrowse
	rubisBid
	rubisOpen
	rubisClose
	rubisComment
	rubisNewUser
	rubisViewUser
	rubisTooLate
)

func (o Rubis) withDefaults() Rubis {
	o.Items, o.Regions, o.Categories = orDefault(o.Items, 30_000), orDefault(o.Regions, 62), orDefault(o.Categories, 40)
	o.Users = orDefault(o.Users, o.Items)
	o.Bids, o.Rush = orDefault(o.Bids, 10), orDefault(o.Rush, 0.1)
	if o.Mix == nil {
		o.Mix = RubisReadHeavy
	}
	return o
}

func (o Rubis) validate() error {
	var c check
	c.within("regions", o.Regions, 1, 10_000)
	c.within("categories", o.Categories, 1, 10_000)
	c.within("users", o.Users, 1, 10_000_000)
	return c.err()
}

type rubis struct {
	world
	Rubis
	season *auction.Season
	// bids hands out the season's bids; items and users count those that there
	// are, or may be.
	bids, items, users atomic.Int64

	mu sync.Mutex // guards closing, the next place in season.Closing
	// closing is the place in season.Closing up to which auctions are closed,
	// or being closed.
	closing int
	clients []*rubisClient
}

// rubisClient is a client with its ledger.
type rubisClient struct {
	rand     *rand.Rand
	count    int
	bids     []bid
	opened   []opened
	closed   []closed
	comments []comment
	born     []newUser
	views    finding
}

// bid is one that may have been made. Amounts are in cents.
type bid struct {
	name       string
	item, user int
	amount     int64
	is         certainty
}

type opened struct {
	item int
	is   certainty
}

// closed is a closing, with what the transaction saw and wrote.
type closed struct {
	item  int
	price int64 // 0 for not sold
	best  int64 // highest bid, 0 for none
	by    string
	is    certainty
}

type comment struct {
	user, points int
	text         string
	is           certainty
}

// NewRubis makes the application.
func NewRubis(e Env, o Rubis) (App, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	season, err := auction.New(auction.Options{Items: o.Items, Bids: o.Bids, Skew: o.Skew, Rush: o.Rush, Length: 0.5,
		Seed: e.Seed})
	if err != nil {
		return nil, err
	}
	a := &rubis{world: newWorld(e, "rubis"), Rubis: o, season: season}
	a.items.Store(int64(o.Items))
	a.users.Store(int64(o.Users))
	a.set("%d items in %d regions and %d categories, %d users, %v bids an item in a season, Zipf skew %v, rush %v",
		o.Items, o.Regions, o.Categories, o.Users, o.Bids, o.Skew, o.Rush)
	a.about.Mix = o.Mix.String()
	for i := range e.Clients {
		a.clients = append(a.clients, &rubisClient{rand: a.source(i)})
	}
	return a, nil
}

func (a *rubis) Kinds() []workload.AppKind {
	return []workload.AppKind{{Name: "view", Reads: true}, {Name: "browse", Reads: true}, {Name: "bid"}, {Name: "open"},
		{Name: "close"},
		{Name: "comment"}, {Name: "new-user"}, {Name: "view-user", Reads: true}, {Name: "too late"}}
}

func (a *rubis) item(i int) []byte       { return a.key("item", i) }
func (a *rubis) best(i int) []byte       { return a.key("best", i) }
func (a *rubis) summary(i int) []byte    { return a.key("bids", i) }
func (a *rubis) category(i int) []byte   { return a.key("category", i%a.Categories) }
func (a *rubis) region(i int) []byte     { return a.key("region", i%a.Regions) }
func (a *rubis) user(u int) []byte       { return a.key("user", u) }
func (a *rubis) bidsOf(u int) []byte     { return a.key("bids-of", u) }
func (a *rubis) commentsOn(u int) []byte { return a.key("comments-on", u) }
func (a *rubis) bid(name string) []byte  { return a.named("bid", name) }

// reserve is the price, in cents, below which an item is not sold: none for
// half of the items.
func reserve(item int) int64 {
	if item%2 == 0 {
		return 0
	}
	return 1000 + int64(item*7919%40_000)
}

// offer makes an item, and lists it.
func (a *rubis) offer(item, seller int) []Call {
	name := strconv.Itoa(item)
	return []Call{
		setFields(a.item(item), "name", "item "+name, "seller", strconv.Itoa(seller), "reserve",
			strconv.FormatInt(reserve(item), 10), "state", "open"),
		addToSet(a.category(item), name), addToSet(a.region(item), name),
	}
}

func (a *rubis) register(user int) Call {
	return setFields(a.user(user), "name", fmt.Sprintf("user %d", user), "rating", "0")
}

func (a *rubis) Load(ctx context.Context) error {
	r := rand.New(rand.NewPCG(a.Seed, 1<<42))
	var groups [][]Call
	listed := map[string][]string{}
	var keys []string
	for i := range a.Items {
		calls := a.offer(i, r.IntN(a.Users))
		groups = append(groups, calls[:1])
		for _, c := range calls[1:] { // many at once
			k := string(c.Key)
			if listed[k] == nil {
				keys = append(keys, k)
			}
			listed[k] = append(listed[k], strconv.Itoa(i))
		}
	}
	for _, k := range keys {
		for names := listed[k]; len(names) > 0; {
			n := min(len(names), membersAtOnce)
			groups, names = append(groups, []Call{addToSet([]byte(k), names[:n]...)}), names[n:]
		}
	}
	for u := range a.Users {
		groups = append(groups, []Call{a.register(u)})
	}
	return a.load(ctx, fmt.Sprintf("%d items and %d users", a.Items, a.Users), groups)
}
