package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Likes has users like posts, and take that back. Who likes a post twice counts
// once.
type Likes struct {
	// Posts is how many there are. Default 10,000.
	Posts int
	// Users is how many there are, at least one for each client: users are
	// dealt to the clients, so that what one of them did last is known. Default
	// 10,000.
	Users int
	// Skew is the exponent of Zipf's law, by which posts are liked and viewed.
	Skew float64
	// As is how likes are kept, LikesAsSet (default) or LikesAsCounter.
	As string
	// Mix is of LikesMix. Default: that.
	Mix Mix
}

// How likes are kept.
const (
	// LikesAsSet: each post has a set of the users who like it. A like is one
	// blind add.
	LikesAsSet = "set"
	// LikesAsCounter: each user has a map of the posts that he likes, and each
	// post a counter. A like is an interactive transaction: it counts only if
	// the field is new.
	LikesAsCounter = "counter"
)

// LikesMix is what clients of Likes do.
var LikesMix = Mix{{"like", 40}, {"unlike", 10}, {"view", 50}}

const (
	likesLike workload.Kind = iota
	likesUnlike
	likesView
)

func (o Likes) withDefaults() Likes {
	o.Posts, o.Users = orDefault(o.Posts, 10_000), orDefault(o.Users, 10_000)
	if o.As == "" {
		o.As = LikesAsSet
	}
	if o.Mix == nil {
		o.Mix = LikesMix
	}
	return o
}

func (o Likes) validate(clients int) error {
	var c check
	c.within("posts", o.Posts, 1, 10_000_000)
	c.within("users", o.Users, 1, 1_000_000)
	c.bad(o.Users < clients, "%d users, want at least one for each of %d clients", o.Users, clients)
	c.bad(o.As != LikesAsSet && o.As != LikesAsCounter, "likes as a %q, want %s or %s", o.As, LikesAsSet, LikesAsCounter)
	c.skew(o.Skew)
	return c.err()
}

type likes struct {
	world
	Likes
	law     *zipf.Picker
	clients []*likesClient
}

type likesClient struct {
	rand  *rand.Rand
	likes map[like]certainty
	// liked counts the likes that were acknowledged, again those of them by
	// users who liked the post already.
	liked, again int
}

type like struct{ user, post int }

// NewLikes makes the application.
func NewLikes(e Env, o Likes) (App, error) {
	o = o.withDefaults()
	if err := o.validate(e.Clients); err != nil {
		return nil, err
	}
	law, err := e.picker(o.Posts, o.Skew)
	if err != nil {
		return nil, err
	}
	a := &likes{world: newWorld(e, "likes"), Likes: o, law: law}
	a.set("%d posts, Zipf skew %v, %d users, likes as a %s", o.Posts, o.Skew, o.Users, o.As)
	a.about.Mix = o.Mix.String()
	for i := range e.Clients {
		a.clients = append(a.clients, &likesClient{rand: a.source(i), likes: map[like]certainty{}})
	}
	return a, nil
}

func (a *likes) Kinds() []workload.AppKind {
	return []workload.AppKind{{Name: "like"}, {Name: "unlike"}, {Name: "view", Reads: true}}
}

func (a *likes) Load(context.Context) error {
	a.about.Loaded = "no likes"
	return nil
}

func (a *likes) likers(post int) []byte { return a.key("likers", post) }
func (a *likes) count(post int) []byte  { return a.key("count", post) }
func (a *likes) liked(user int) []byte  { return a.key("liked", user) }

func (a *likes) Do(ctx context.Context, client int) workload.Done {
	c := a.clients[client]
	users := (a.Users - client + a.Clients - 1) / a.Clients // those with this client's remainder
	l := like{client + a.Clients*c.rand.IntN(users), int(a.law.Pick(c.rand, 0))}
	kind := workload.Kind(a.Mix.pick(c.rand))
	if kind == likesView {
		call := sizeOfSet(a.likers(l.post))
		if a.As == LikesAsCounter {
			call = getCounter(a.count(l.post))
		}
		e, err := a.db.Execute(ctx, call)
		return workload.Done{Kind: kind, Reply: e.Reply, Err: err}
	}
	var reply workload.Reply
	var err error
	if a.As == LikesAsCounter {
		reply, err = a.change(ctx, l, kind == likesLike)
	} else {
		user := strconv.Itoa(l.user)
		call := addToSet(a.likers(l.post), user)
		if kind == likesUnlike {
			call = removeFromSet(a.likers(l.post), user)
		}
		var e Executed
		e, err = a.db.Execute(ctx, call)
		reply = e.Reply
	}
	c.note(l, kind == likesLike, workload.OutcomeOf(err))
	return workload.Done{Kind: kind, Reply: reply, Err: err}
}

// change likes a post, or no longer, and counts it if that is new.
func (a *likes) change(ctx context.Context, l like, on bool) (workload.Reply, error) {
	post := strconv.Itoa(l.post)
	return a.db.Transact(ctx, false, func(tx Tx) error {
		if on {
			answers, err := tx.Do(setNewField(a.liked(l.user), post, "1"))
			if err != nil || !answers[0].Bool(0) {
				return err
			}
			_, err = tx.Do(addCounter(a.count(l.post), 1))
			return err
		}
		answers, err := tx.Do(hasField(a.liked(l.user), post))
		if err != nil || !answers[0].Bool(0) {
			return err
		}
		_, err = tx.Do(deleteField(a.liked(l.user), post), addCounter(a.count(l.post), -1))
		return err
	})
}

// note remembers what was done last. After an unknown outcome nothing is sure
// any more: it may come to be at any time.
func (c *likesClient) note(l like, on bool, o workload.Outcome) {
	switch was := c.likes[l]; {
	case o == workload.Unknown, was == perhaps:
		c.likes[l] = perhaps
	case o == workload.Committed && on:
		c.liked++
		if was == sure {
			c.again++
		}
		c.likes[l] = sure
	case o == workload.Committed:
		delete(c.likes, l)
	}
}

func (a *likes) Verify(ctx context.Context) ([]workload.Invariant, error) {
	posts, users := make([]map[string]certainty, a.Posts), make([]map[string]certainty, a.Users)
	liked, again := 0, 0
	for _, c := range a.clients {
		liked, again = liked+c.liked, again+c.again
		for l, s := range c.likes {
			note(posts, l.post, strconv.Itoa(l.user), s)
			note(users, l.user, strconv.Itoa(l.post), s)
		}
	}
	names := fmt.Sprintf("each post has the acknowledged likes, each once (%d likes, %d of them repeated)", liked, again)
	if a.As == LikesAsSet {
		return a.verifySets(ctx, names, posts)
	}
	if a.OneByOne {
		return notPromised(names, "each count is the number of users who like the post"), nil
	}
	return a.verifyCounters(ctx, names, users)
}

func note(all []map[string]certainty, i int, name string, s certainty) {
	if all[i] == nil {
		all[i] = map[string]certainty{}
	}
	all[i][name] = s
}

func (a *likes) verifySets(ctx context.Context, name string, posts []map[string]certainty) ([]workload.Invariant,
	error) {
	whole, size := finding{name: name}, finding{name: "the size of each set is the number of its members"}
	groups := make([][]Call, a.Posts)
	for i := range groups {
		groups[i] = []Call{sizeOfSet(a.likers(i)), membersOfSet(a.likers(i))}
	}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		whole.sameMembers(fmt.Sprintf("post %d", i), answers[1].Texts(), posts[i])
		size.expect(int(answers[0].Int(0)) == len(answers[1]), "post %d has size %d and %d members", i, answers[0].Int(0),
			len(answers[1]))
	})
	return []workload.Invariant{whole.verdict("posts"), size.verdict("posts")}, err
}

func (a *likes) verifyCounters(ctx context.Context, name string, users []map[string]certainty) ([]workload.Invariant,
	error) {
	whole, counts := finding{name: name}, finding{name: "each count is the number of users who like the post"}
	found := make([]int64, a.Posts)
	groups := make([][]Call, a.Users)
	for i := range groups {
		groups[i] = []Call{allFields(a.liked(i))}
	}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		var fields []string
		for j := 0; j < len(answers[0]); j += 2 {
			field := answers[0].Text(j)
			fields = append(fields, field)
			if post, err := strconv.Atoi(field); err == nil && post < a.Posts {
				found[post]++
			}
		}
		whole.sameMembers(fmt.Sprintf("user %d", i), fields, users[i])
	})
	if err != nil {
		return nil, err
	}
	groups = make([][]Call, a.Posts)
	for i := range groups {
		groups[i] = []Call{getCounter(a.count(i))}
	}
	err = a.readAll(ctx, groups, func(i int, answers []Answer) {
		counts.expect(answers[0].Int(0) == found[i], "post %d counts %d likes, and %d users like it", i, answers[0].Int(0),
			found[i])
	})
	return []workload.Invariant{whole.verdict("users"), counts.verdict("posts")}, err
}
