package app

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// retwisBooks is what all ledgers say together.
type retwisBooks struct {
	users   int
	follows []followed
	// posts are by number; pushes are posts and reposts that put something on
	// timelines.
	posts   map[int]pushed
	pushes  []pushed
	reposts map[int]map[string]certainty
	// born are all users.
	born []newUser
}

func (a *retwis) books() *retwisBooks {
	b := &retwisBooks{users: int(a.users.Load()), posts: map[int]pushed{}, reposts: map[int]map[string]certainty{}}
	for u := range a.graph.Followers {
		b.born = append(b.born, newUser{u, sure})
	}
	posts := slices.Clone(a.loaded)
	for _, c := range a.clients {
		b.follows = append(b.follows, c.follows...)
		b.born = append(b.born, c.born...)
		posts = append(posts, c.posts...)
		for _, p := range c.reposts {
			if p.again || p.is == no {
				continue
			}
			b.pushes = append(b.pushes, p)
			if b.reposts[p.post] == nil {
				b.reposts[p.post] = map[string]certainty{}
			}
			name := strconv.Itoa(p.user)
			b.reposts[p.post][name] = max(b.reposts[p.post][name], p.is)
		}
	}
	for _, p := range posts {
		b.posts[p.post] = p
		if p.is != no {
			b.pushes = append(b.pushes, p)
		}
	}
	return b
}

var retwisPromises = []string{
	"both sides of each follow agree, with those acknowledged",
	"posts and reposts went to exactly the followers at that time",
	"timelines have exactly what was written to them",
	"users, posts, and the posts of each user are those acknowledged",
	"the numbers of reposts agree with the acknowledged reposts",
}

func (a *retwis) Verify(ctx context.Context) ([]workload.Invariant, error) {
	if a.OneByOne {
		return notPromised(retwisPromises...), nil
	}
	b := a.books()
	reached := a.verifyReach(b)
	reach := func(context.Context, *retwisBooks) (workload.Invariant, error) { return reached.verdict("pushes"), nil }
	return verdictsOf(ctx, b, a.verifyFollows, reach, a.verifyTimelines, a.verifyPosts, a.verifyReposts)
}

// verifyFollows reads both sides of every edge.
func (a *retwis) verifyFollows(ctx context.Context, b *retwisBooks) (workload.Invariant, error) {
	f := finding{name: retwisPromises[0]}
	followers, following := make([]map[string]certainty, b.users), make([]map[string]certainty, b.users)
	for u := range a.graph.Followers {
		for _, v := range a.graph.Followers[u] {
			note(followers, u, strconv.Itoa(int(v)), sure)
			note(following, int(v), strconv.Itoa(u), sure)
		}
	}
	for _, e := range b.follows {
		follower, user := strconv.Itoa(e.follower), strconv.Itoa(e.user)
		note(followers, e.user, follower, max(e.is, followers[e.user][follower]))
		note(following, e.follower, user, max(e.is, following[e.follower][user]))
	}
	groups := make([][]Call, b.users)
	for u := range groups {
		groups[u] = []Call{membersOfSet(a.followers(u)), membersOfSet(a.following(u))}
	}
	// edges are those of unknown outcome, from either side: with acknowledged
	// ones both sides are held against the ledger.
	edges := map[[2]string]int{}
	err := a.readAll(ctx, groups, func(u int, answers []Answer) {
		name := strconv.Itoa(u)
		f.sameMembers(fmt.Sprintf("followers of %d", u), answers[0].Texts(), followers[u])
		f.sameMembers(fmt.Sprintf("users that %d follows", u), answers[1].Texts(), following[u])
		for _, v := range answers[0].Texts() {
			if followers[u][v] == perhaps {
				edges[[2]string{v, name}]++
			}
		}
		for _, v := range answers[1].Texts() {
			if following[u][v] == perhaps {
				edges[[2]string{name, v}]--
			}
		}
	})
	for e, sides := range edges {
		f.expect(sides == 0, "%s follows %s on one side alone", e[0], e[1])
	}
	return f.verdict("sets"), err
}

// verifyReach holds what each transaction found to be the followers against
// those whose following was acknowledged before, or had begun.
func (a *retwis) verifyReach(b *retwisBooks) finding {
	f := finding{name: retwisPromises[1]}
	later := map[int][]followed{}
	for _, e := range b.follows {
		later[e.user] = append(later[e.user], e)
	}
	for _, p := range b.pushes {
		if p.is != sure {
			continue
		}
		got := make(map[int]bool, len(p.onto))
		for _, u := range p.onto {
			got[u] = true
		}
		want, may := map[int]bool{}, map[int]bool{}
		for _, u := range a.graph.Followers[p.user] {
			want[int(u)] = true
		}
		for _, e := range later[p.user] {
			switch {
			case e.is == sure && e.to < p.from:
				want[e.follower] = true
			case e.from < p.to:
				may[e.follower] = true
			}
		}
		missing, strange := 0, 0
		for u := range want {
			if !got[u] {
				missing++
			}
		}
		for u := range got {
			if !want[u] && !may[u] {
				strange++
			}
		}
		f.expect(missing == 0 && strange == 0 && len(got) == len(p.onto),
			"post %d by or through user %d missed %d followers and went to %d others", p.post, p.user, missing, strange)
	}
	return f
}

// verifyTimelines reads all timelines.
func (a *retwis) verifyTimelines(ctx context.Context, b *retwisBooks) (workload.Invariant, error) {
	f := finding{name: retwisPromises[2]}
	type times struct{ sure, perhaps int }
	want := make([]map[int]times, b.users)
	for _, p := range b.pushes {
		for _, u := range p.onto {
			if want[u] == nil {
				want[u] = map[int]times{}
			}
			t := want[u][p.post]
			if p.is == sure {
				t.sure++
			} else {
				t.perhaps++
			}
			want[u][p.post] = t
		}
	}
	groups := make([][]Call, b.users)
	for u := range groups {
		groups[u] = []Call{a.all(u)}
	}
	err := a.readAll(ctx, groups, func(u int, answers []Answer) {
		found := map[int]int{}
		for _, p := range a.postsOf(answers[0]) {
			found[p]++
		}
		// A top-k has forgotten those before its oldest, if it is full.
		oldest := 0
		if a.Timelines == TimelineTopK && len(found) >= topKKeeps {
			oldest = slices.Min(a.postsOf(answers[0]))
		}
		for p, t := range want[u] {
			low, high := t.sure, t.sure+t.perhaps
			if a.Timelines != TimelineList {
				low, high = min(low, 1), min(high, 1)
			}
			if p < oldest {
				low = 0
			}
			f.expect(found[p] >= low && found[p] <= high, "post %d is %d times on the timeline of user %d, want %d to %d", p,
				found[p], u, low, high)
			delete(found, p)
		}
		for p, n := range found {
			f.expect(false, "post %d is %d times on the timeline of user %d, and was never pushed there", p, n, u)
		}
	})
	return f.verdict("places on timelines"), err
}

// verifyPosts reads all posts, the lists of users' own, and the users.
func (a *retwis) verifyPosts(ctx context.Context, b *retwisBooks) (workload.Invariant, error) {
	f := finding{name: retwisPromises[3]}
	numbers := make([]int, 0, len(b.posts))
	own := make([]map[string]certainty, b.users)
	for n, p := range b.posts {
		numbers = append(numbers, n)
		note(own, p.user, strconv.Itoa(n), p.is)
	}
	slices.Sort(numbers)
	groups := make([][]Call, len(numbers))
	for i, n := range numbers {
		groups[i] = []Call{getFields(a.post(n), "author")}
	}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		p := b.posts[numbers[i]]
		there := !answers[0].Nil(0)
		f.expect(there || p.is != sure, "post %d was acknowledged and is missing", p.post)
		f.expect(!there || p.is != no, "post %d failed and exists", p.post)
		f.expect(!there || answers[0].Text(0) == strconv.Itoa(p.user), "post %d is by %q, and was made by %d", p.post,
			answers[0].Text(0), p.user)
	})
	if err != nil {
		return workload.Invariant{}, err
	}
	groups = make([][]Call, b.users)
	for u := range groups {
		groups[u] = []Call{{a.own(u), "list", "range", []any{0, -1}}}
	}
	err = a.readAll(ctx, groups, func(u int, answers []Answer) {
		f.sameMembers(fmt.Sprintf("the list of user %d", u), answers[0].Texts(), own[u])
	})
	if err != nil {
		return workload.Invariant{}, err
	}
	born := b.born
	groups = nil
	for _, u := range born {
		groups = append(groups, []Call{getFields(a.profile(u.user), "name")})
	}
	err = a.readAll(ctx, groups, func(i int, answers []Answer) {
		there := !answers[0].Nil(0)
		f.expect((there || born[i].is != sure) && (!there || born[i].is != no),
			"user %d exists: %v, which is not what was acknowledged", born[i].user, there)
	})
	return f.verdict("users, posts and lists"), err
}

// verifyReposts reads who reposted each post, and how the lists count them.
func (a *retwis) verifyReposts(ctx context.Context, b *retwisBooks) (workload.Invariant, error) {
	f := finding{name: retwisPromises[4]}
	numbers := make([]int, 0, len(b.posts))
	for n := range b.posts {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	groups := make([][]Call, len(numbers))
	for i, n := range numbers {
		groups[i] = []Call{membersOfSet(a.reposts(n)), {a.top(n), "sorted-set", "score", []any{strconv.Itoa(n)}}}
	}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		n := numbers[i]
		f.sameMembers(fmt.Sprintf("reposts of %d", n), answers[0].Texts(), b.reposts[n])
		f.expect(answers[1].Float(0) == float64(len(answers[0])),
			"post %d counts %v reposts on the list, and %d users reposted it", n, answers[1].Float(0), len(answers[0]))
	})
	return f.verdict("posts"), err
}
