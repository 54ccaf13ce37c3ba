package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

func (a *retwis) Do(ctx context.Context, client int) workload.Done {
	c := a.clients[client]
	user := c.rand.IntN(len(a.graph.Followers))
	switch workload.Kind(a.Mix.pick(c.rand)) {
	case retwisPost:
		p := pushed{user: user, post: int(a.posts.Add(1))}
		p.from = time.Since(a.begun)
		reply, err := a.doPost(ctx, &p)
		p.to, p.is = time.Since(a.begun), no.or(workload.OutcomeOf(err))
		c.posts = append(c.posts, p)
		return workload.Done{Kind: retwisPost, Reply: reply, Err: err}
	case retwisRepost:
		if len(c.ranked) > 0 {
			return a.repost(ctx, c, user, c.ranked[a.law.Within(c.rand, len(c.ranked))])
		}
		// There is nothing that could be reposted until a timeline is seen.
	case retwisFollow:
		return a.follow(ctx, c, user)
	case retwisNewUser:
		return a.newUser(ctx, c)
	}
	return a.look(ctx, c, user)
}

// look reads a timeline, then its posts, each in a transaction of its own, and
// ranks them.
func (a *retwis) look(ctx context.Context, c *retwisClient, user int) workload.Done {
	done := workload.Done{Kind: retwisTimeline}
	e, err := a.db.Execute(ctx, a.newest(user))
	done.Reply, done.Err = e.Reply, err
	if err != nil || len(e.Answers) == 0 {
		return done
	}
	type ranked struct {
		post    int
		reposts int64
	}
	var posts []ranked
	for _, post := range a.postsOf(e.Answers[0]) {
		e, err := a.db.Execute(ctx, allFields(a.post(post)), sizeOfSet(a.reposts(post)))
		add(&done.Reply, e.Reply)
		if err != nil {
			done.Err = err
			return done
		}
		if len(e.Answers) == 2 {
			posts = append(posts, ranked{post, e.Answers[1].Int(0)})
		}
	}
	slices.SortFunc(posts, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(y.reposts, x.reposts),
			cmp.Compare(y.post, x.post))
	})
	c.ranked = c.ranked[:0]
	for _, p := range posts {
		c.ranked = append(c.ranked, p.post)
	}
	return done
}

// doPost makes a post and pushes it.
func (a *retwis) doPost(ctx context.Context, p *pushed) (workload.Reply, error) {
	return a.db.Transact(ctx, false, func(tx Tx) error {
		answers, err := tx.Do(membersOfSet(a.followers(p.user)))
		if err != nil {
			return err
		}
		p.onto = numbers(answers[0])
		_, err = tx.Do(append(a.write(p.user, p.post), a.pushes(p)...)...)
		return err
	})
}

func (a *retwis) pushes(p *pushed) []Call {
	calls := make([]Call, len(p.onto))
	for i, f := range p.onto {
		calls[i] = a.push(f, p.post)
	}
	return calls
}

// repost writes a post of another user to the user's own followers, and counts that.
func (a *retwis) repost(ctx context.Context, c *retwisClient, user, post int) workload.Done {
	p := pushed{user: user, post: post}
	p.from = time.Since(a.begun)
	reply, err := a.db.Transact(ctx, false, func(tx Tx) error {
		p.again, p.onto = false, nil
		name := strconv.Itoa(post)
		answers, err := tx.Do(addNewToSet(a.reposts(post), strconv.Itoa(user)), membersOfSet(a.followers(user)))
		if err != nil {
			return err
		}
		if answers[0].Int(0) == 0 {
			p.again = true
			return nil
		}
		p.onto = numbers(answers[1])
		_, err = tx.Do(append(a.pushes(&p), Call{a.top(post), "sorted-set", "increment", []any{name, 1.0}})...)
		return err
	})
	p.to, p.is = time.Since(a.begun), no.or(workload.OutcomeOf(err))
	c.reposts = append(c.reposts, p)
	return workload.Done{Kind: retwisRepost, Reply: reply, Err: err}
}

// toFollow is a user to follow: one that has followers, the more likely the
// more he has.
func (a *retwis) toFollow(c *retwisClient) int {
	for {
		if f := a.graph.Following[c.rand.IntN(len(a.graph.Following))]; len(f) > 0 {
			return int(f[c.rand.IntN(len(f))])
		}
	}
}

func (a *retwis) follow(ctx context.Context, c *retwisClient, follower int) workload.Done {
	user := a.toFollow(c)
	for user == follower {
		user = a.toFollow(c)
	}
	e, err := a.befriend(ctx, c, follower, user)
	return workload.Done{Kind: retwisFollow, Reply: e.Reply, Err: err}
}

// newUser makes a user with one follow.
func (a *retwis) newUser(ctx context.Context, c *retwisClient) workload.Done {
	user := int(a.users.Add(1)) - 1
	e, err := a.befriend(ctx, c, user, a.toFollow(c), setFields(a.profile(user), "name", fmt.Sprintf("user %d", user)))
	c.born = append(c.born, newUser{user, no.or(workload.OutcomeOf(err))})
	return workload.Done{Kind: retwisNewUser, Reply: e.Reply, Err: err}
}

// befriend has one user follow another, in one transaction with more.
func (a *retwis) befriend(ctx context.Context, c *retwisClient, follower, user int, more ...Call) (Executed, error) {
	f := followed{follower: follower, user: user}
	f.from = time.Since(a.begun)
	e, err := a.db.Execute(ctx, append(more, addToSet(a.following(follower), strconv.Itoa(user)),
		addToSet(a.followers(user), strconv.Itoa(follower)))...)
	f.to, f.is = time.Since(a.begun), no.or(workload.OutcomeOf(err))
	if f.is != no {
		c.follows = append(c.follows, f)
	}
	return e, err
}

// numbers reads an answer of names that are numbers.
func numbers(a Answer) []int {
	out := make([]int, 0, len(a))
	for i := range a {
		if n, err := strconv.Atoi(a.Text(i)); err == nil {
			out = append(out, n)
		}
	}
	return out
}
