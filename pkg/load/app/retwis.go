package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/dist/geometric"
	"github.com/linchpindb/linchpin/pkg/load/dist/kronecker"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Retwis is a small Twitter (Holt 2016, section 4.5.3). The relation of followers is a
// graph with a power law. A post is pushed to the timelines of all followers in
// the transaction that makes it, and so is a repost. Who looks at a timeline
// loads each of its newest posts in a transaction of its own, ranks them by
// their reposts, and may repost one of them: the first most likely, by a
// geometric law.
//
// The most reposted of each thousand posts are a list of their own, which
// all users add to (the paper has none).
type Retwis struct {
	// Scale is the binary logarithm of the number of users. Default 16: 65,536
	// as in the paper.
	Scale int
	// Followers is how many a user has on average. Default 16.
	Followers float64
	// MostFollowers bounds those of one user. Default 5,000: a post is one
	// transaction, and kv.MaxTxnOps bounds that.
	MostFollowers int
	// Posts is how many are there in the beginning. Default a sixteenth of the
	// users.
	Posts int
	// Timelines is what timelines are: TimelineSortedSet (default, as in the
	// paper), TimelineTopK or TimelineList.
	Timelines string
	// Geometric is the probability that it is the most reposted post of a
	// timeline that is reposted. The paper gives no number. Default 0.5.
	Geometric float64
	// Mix is of RetwisReadHeavy. Default: that.
	Mix Mix
}

// What timelines are.
const (
	TimelineSortedSet = "sorted-set"
	// TimelineTopK keeps the newest hundred posts alone.
	TimelineTopK = "top-k"
	// TimelineList has a post once for each user who pushed it.
	TimelineList = "list"
)

// The mixes of table 4.3.
var (
	RetwisReadHeavy = Mix{{"timeline", 91}, {"repost", 5}, {"post", 2}, {"follow", 1}, {"new-user", 1}}
	RetwisPostHeavy = Mix{{"timeline", 82}, {"repost", 8}, {"post", 6}, {"follow", 3}, {"new-user", 1}}
)

const (
	retwisTimeline workload.Kind = iota
	retwisRepost
	retwisPost
	retwisFollow
	retwisNewUser
)

const (
	// newestPosts is how many posts of a timeline are looked at.
	newestPosts = 10
	// topPosts is how many posts share a list of the most reposted.
	topPosts = 1000
	// topKKeeps is how many members a top-k keeps.
	topKKeeps = 100
)

func (o Retwis) withDefaults() Retwis {
	o.Scale, o.Followers, o.MostFollowers = orDefault(o.Scale, 16), orDefault(o.Followers, 16),
		orDefault(o.MostFollowers, 5000)
	// A scale below 0 cannot be shifted by, and is refused with the graph.
	o.Posts, o.Geometric = orDefault(o.Posts, max(1, (1<<max(o.Scale, 0))/16)), orDefault(o.Geometric, 0.5)
	if o.Timelines == "" {
		o.Timelines = TimelineSortedSet
	}
	if o.Mix == nil {
		o.Mix = RetwisReadHeavy
	}
	return o
}

func (o Retwis) validate() error {
	var c check
	c.within("followers of one user", o.MostFollowers, 1, 9000)
	c.within("posts in the beginning", o.Posts, 1, 10_000_000)
	c.bad(o.Timelines != TimelineSortedSet && o.Timelines != TimelineTopK && o.Timelines != TimelineList,
		"timelines as a %q, want %s, %s or %s", o.Timelines, TimelineSortedSet, TimelineTopK, TimelineList)
	return c.err()
}

type retwis struct {
	world
	Retwis
	graph *kronecker.Graph
	law   geometric.Law
	// users and posts count those that there are, or may be.
	users, posts atomic.Int64
	begun        time.Time
	// loaded are the posts of the beginning.
	loaded  []pushed
	clients []*retwisClient
}

// retwisClient is a client with its ledger.
type retwisClient struct {
	rand *rand.Rand
	// ranked are the posts of the timeline that was looked at last.
	ranked []int
	// follows, posts and reposts are those that were done, or may have been.
	follows []followed
	posts   []pushed
	reposts []pushed
	born    []newUser
}

type newUser struct {
	user int
	is   certainty
}

// span is when something was asked for and answered, since the run began.
type span struct{ from, to time.Duration }

type followed struct {
	follower, user int
	is             certainty
	span
}

// pushed is a post, or a repost, that was put on timelines.
type pushed struct {
	// user posted, or reposted, post; onto are those on whose timelines it was
	// put.
	user, post int
	onto       []int
	is         certainty
	// again: the user had reposted it before, so nothing was done.
	again bool
	span
}

// NewRetwis makes the application.
func NewRetwis(e Env, o Retwis) (App, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	law, err := geometric.New(o.Geometric)
	if err != nil {
		return nil, err
	}
	g, err := kronecker.New(kronecker.Options{Scale: o.Scale, Followers: o.Followers, MostFollowers: o.MostFollowers,
		Seed: e.Seed})
	if err != nil {
		return nil, err
	}
	a := &retwis{world: newWorld(e, "retwis"), Retwis: o, graph: g, law: law, begun: time.Now()}
	a.users.Store(int64(len(g.Followers)))
	a.set("%d users with %v followers on average and %d at most, timelines as a %s", len(g.Followers), o.Followers,
		o.MostFollowers, o.Timelines)
	if g.Left > 0 {
		a.set("%d followers beyond that left out", g.Left)
	}
	a.about.Mix = o.Mix.String()
	for i := range e.Clients {
		a.clients = append(a.clients, &retwisClient{rand: a.source(i)})
	}
	return a, nil
}

func (a *retwis) Kinds() []workload.AppKind {
	return []workload.AppKind{{Name: "timeline", Reads: true}, {Name: "repost"}, {Name: "post"}, {Name: "follow"},
		{Name: "new-user"}}
}

func (a *retwis) profile(user int) []byte   { return a.key("user", user) }
func (a *retwis) followers(user int) []byte { return a.key("followers", user) }
func (a *retwis) following(user int) []byte { return a.key("following", user) }
func (a *retwis) timeline(user int) []byte  { return a.key("timeline", user) }
func (a *retwis) own(user int) []byte       { return a.key("posts", user) }
func (a *retwis) post(post int) []byte      { return a.key("post", post) }
func (a *retwis) reposts(post int) []byte   { return a.key("reposts", post) }
func (a *retwis) top(post int) []byte       { return a.key("top", post/topPosts) }

// push puts a post on a timeline.
func (a *retwis) push(user, post int) Call {
	name := strconv.Itoa(post)
	if a.Timelines == TimelineList {
		return Call{a.timeline(user), a.Timelines, "append", []any{name}}
	}
	// The newest post has the highest number.
	return Call{a.timeline(user), a.Timelines, "add", []any{float64(post), name}}
}

// newest asks for the newest posts of a timeline, all asks for all.
func (a *retwis) newest(user int) Call { return a.part(user, newestPosts) }

func (a *retwis) all(user int) Call {
	if a.Timelines == TimelineTopK {
		return a.part(user, topKKeeps)
	}
	return a.part(user, 0)
}

// part asks for the newest n posts, 0 for all.
func (a *retwis) part(user, n int) Call {
	switch a.Timelines {
	case TimelineList:
		return Call{a.timeline(user), a.Timelines, "range", []any{-n, -1}}
	case TimelineTopK:
		return Call{a.timeline(user), a.Timelines, "top", []any{n}}
	}
	return Call{a.timeline(user), a.Timelines, "range-by-rev-rank", []any{0, n - 1}}
}

// postsOf reads what newest and all have answered.
func (a *retwis) postsOf(answer Answer) (posts []int) {
	step := 2 // member, score
	if a.Timelines == TimelineList {
		step = 1
	}
	for i := 0; i < len(answer); i += step {
		if n, err := strconv.Atoi(answer.Text(i)); err == nil {
			posts = append(posts, n)
		}
	}
	return posts
}

// write makes a post.
func (a *retwis) write(user, post int) []Call {
	return []Call{
		setFields(a.post(post), "author", strconv.Itoa(user), "text",
			fmt.Sprintf("This is post %d, and it is what user %d has to say today.", post, user)),
		{a.own(user), "list", "append", []any{strconv.Itoa(post)}},
	}
}

// membersAtOnce is how many members of a set one call of the load adds.
const membersAtOnce = 500

func (a *retwis) Load(ctx context.Context) error {
	var groups [][]Call
	adding := func(key []byte, users []uint32) {
		names := make([]string, len(users))
		for i, u := range users {
			names[i] = strconv.FormatUint(uint64(u), 10)
		}
		for from := 0; from < len(names); from += membersAtOnce {
			groups = append(groups, []Call{addToSet(key, names[from:min(from+membersAtOnce, len(names))]...)})
		}
	}
	for u := range a.graph.Followers {
		groups = append(groups, []Call{setFields(a.profile(u), "name", fmt.Sprintf("user %d", u))})
		adding(a.followers(u), a.graph.Followers[u])
		adding(a.following(u), a.graph.Following[u])
	}
	r := rand.New(rand.NewPCG(a.Seed, 1<<41))
	for range a.Posts {
		p := pushed{user: r.IntN(len(a.graph.Followers)), post: int(a.posts.Add(1)), is: sure}
		calls := a.write(p.user, p.post)
		for _, f := range a.graph.Followers[p.user] {
			p.onto = append(p.onto, int(f))
			calls = append(calls, a.push(int(f), p.post))
		}
		groups = append(groups, calls)
		a.loaded = append(a.loaded, p)
	}
	return a.load(ctx, fmt.Sprintf("%d users, %d edges, %d posts", len(a.graph.Followers), a.graph.Edges(), a.Posts),
		groups)
}
