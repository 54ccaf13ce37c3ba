package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

var rubisPromises = []string{
	"count, sum, maximum and list of the bids of each item agree with the acknowledged bids",
	"no item is sold below its reserve, below its highest bid, or to another bidder",
	"categories and regions list the open items",
	"comments, ratings and users are those acknowledged",
}

// rubisViews is what views promise while the run goes on.
const rubisViews = "each view saw the same highest bid in the list and in the summary"

// rubisBooks is what all ledgers say together.
type rubisBooks struct {
	bids     map[int][]bid // by item
	closed   map[int]closed
	opened   map[int]certainty
	comments map[int][]comment // by user
	born     []newUser
	views    finding
}

func (a *rubis) books() *rubisBooks {
	b := &rubisBooks{bids: map[int][]bid{}, closed: map[int]closed{}, opened: map[int]certainty{},
		comments: map[int][]comment{}, views: finding{name: rubisViews}}
	for i := range a.Items {
		b.opened[i] = sure
	}
	for _, c := range a.clients {
		for _, x := range c.bids {
			b.bids[x.item] = append(b.bids[x.item], x)
		}
		for _, x := range c.closed {
			b.closed[x.item] = x
		}
		for _, x := range c.opened {
			b.opened[x.item] = x.is
		}
		for _, x := range c.comments {
			b.comments[x.user] = append(b.comments[x.user], x)
		}
		b.born = append(b.born, c.born...)
		b.views.merge(c.views)
	}
	return b
}

func (a *rubis) Verify(ctx context.Context) ([]workload.Invariant, error) {
	if a.OneByOne {
		return notPromised(append([]string{rubisViews}, rubisPromises...)...), nil
	}
	b := a.books()
	views := func(context.Context, *rubisBooks) (workload.Invariant, error) { return b.views.verdict("views"), nil }
	return verdictsOf(ctx, b, views, a.verifyBids, a.verifySales, a.verifyLists, a.verifyUsers)
}

// verifyBids first finds out which of the bids whose outcome is not known were
// made, by what is written down of them; then the items have to agree.
func (a *rubis) verifyBids(ctx context.Context, b *rubisBooks) (workload.Invariant, error) {
	f := finding{name: rubisPromises[0]}
	var all []bid
	items := make([]int, 0, len(b.bids))
	for item := range b.bids {
		items = append(items, item)
	}
	slices.Sort(items)
	for _, item := range items {
		all = append(all, b.bids[item]...)
	}
	groups := make([][]Call, len(all))
	for i := range all {
		groups[i] = []Call{getValue(a.bid(all[i].name))}
	}
	made, byUser := map[int][]bid{}, map[int]map[string]certainty{}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		x, text := all[i], answers[0].Text(0)
		f.expect(text == x.record() || text == "" && x.is != sure, "bid %s, %s, is recorded as %q", x.name, x.record(), text)
		if text != "" {
			made[x.item] = append(made[x.item], x)
			if byUser[x.user] == nil {
				byUser[x.user] = map[string]certainty{}
			}
			byUser[x.user][x.name] = sure
		}
	})
	if err != nil {
		return workload.Invariant{}, err
	}
	if err := a.verifySummaries(ctx, &f, made); err != nil {
		return workload.Invariant{}, err
	}
	groups = make([][]Call, a.Users)
	for u := range groups {
		groups[u] = []Call{membersOfSet(a.bidsOf(u))}
	}
	err = a.readAll(ctx, groups, func(u int, answers []Answer) {
		f.sameMembers(fmt.Sprintf("the bids of user %d", u), answers[0].Texts(), byUser[u])
	})
	return f.verdict("bids, items and users"), err
}

// verifySummaries holds what items say of their bids against those made.
func (a *rubis) verifySummaries(ctx context.Context, f *finding, made map[int][]bid) error {
	groups := make([][]Call, a.Items)
	for i := range groups {
		groups[i] = []Call{countOfSummary(a.summary(i)), sumOfSummary(a.summary(i)), maxOfSummary(a.summary(i)),
			topOfTopK(a.best(i), topKKeeps)}
	}
	return a.readAll(ctx, groups, func(i int, answers []Answer) {
		bids := made[i]
		slices.SortFunc(bids, func(x, y bid) int {
			return cmp.Or(cmp.Compare(y.amount, x.amount),
				cmp.Compare(x.name, y.name))
		})
		sum, highest := int64(0), int64(0)
		for _, x := range bids {
			sum, highest = sum+x.amount, max(highest, x.amount)
		}
		count := int(answers[0].Int(0))
		f.expect(count == len(bids) && cents(answers[1].at(0)) == sum && cents(answers[2].at(0)) == highest,
			"item %d sums up %d bids of %d together, the highest %d; there are %d of %d, the highest %d", i, count,
			cents(answers[1].at(0)), cents(answers[2].at(0)), len(bids), sum, highest)
		best := answers[3]
		listed := len(best) / 2
		right := listed == min(len(bids), topKKeeps)
		for j := 0; right && j < listed; j++ { // those of the same amount in any order
			name, amount := best.Text(2*j), cents(best.at(2*j+1))
			right = amount == bids[j].amount && slices.ContainsFunc(bids,
				func(x bid) bool { return x.name == name && x.amount == amount })
		}
		f.expect(right, "item %d lists %d bids as the best, which are not the best of the %d that were made", i, listed,
			len(bids))
	})
}

// verifySales looks at every item that was closed. No bid came later, so the
// highest of all is that of the sale.
func (a *rubis) verifySales(ctx context.Context, b *rubisBooks) (workload.Invariant, error) {
	f := finding{name: rubisPromises[1]}
	groups := make([][]Call, a.Items)
	for i := range groups {
		groups[i] = []Call{getFields(a.item(i), "state", "price", "winner", "reserve"), maxOfTopK(a.best(i))}
	}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		state, best := answers[0].Text(0), cents(answers[1].at(1))
		d, asked := b.closed[i]
		switch state {
		case "open":
			f.expect(!asked || d.is != sure, "item %d was closed, and is open", i)
		case "sold":
			price, _ := strconv.ParseInt(answers[0].Text(1), 10, 64)
			f.expect(asked && price > 0 && price == best && price >= reserve(i) && answers[0].Text(2) == answers[1].Text(0),
				"item %d, reserve %d, is sold for %d to bid %s; the highest is %d, bid %s", i, reserve(i), price,
				answers[0].Text(2), best, answers[1].Text(0))
			f.expect(d.is != sure || d.price == price, "item %d is sold for %d, and was closed at %d", i, price, d.price)
		case "unsold":
			f.expect(asked && (best == 0 || best < reserve(i)), "item %d, reserve %d, is not sold, and there is a bid of %d", i,
				reserve(i), best)
		default:
			f.expect(false, "item %d is %q", i, state)
		}
	})
	return f.verdict("items"), err
}

// verifyLists reads the lists, and which items are open.
func (a *rubis) verifyLists(ctx context.Context, b *rubisBooks) (workload.Invariant, error) {
	f := finding{name: rubisPromises[2]}
	categories, regions := make([]map[string]certainty, a.Categories), make([]map[string]certainty, a.Regions)
	groups := make([][]Call, int(a.items.Load()))
	for i := range groups {
		groups[i] = []Call{getFields(a.item(i), "state")}
	}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		f.expect(!answers[0].Nil(0) || b.opened[i] != sure, "item %d was opened and is missing", i)
		f.expect(answers[0].Nil(0) || b.opened[i] != no, "item %d failed and exists", i)
		if answers[0].Text(0) == "open" {
			note(categories, i%a.Categories, strconv.Itoa(i), sure)
			note(regions, i%a.Regions, strconv.Itoa(i), sure)
		}
	})
	if err != nil {
		return workload.Invariant{}, err
	}
	groups = nil
	for i := range categories {
		groups = append(groups, []Call{membersOfSet(a.category(i))})
	}
	for i := range regions {
		groups = append(groups, []Call{membersOfSet(a.region(i))})
	}
	err = a.readAll(ctx, groups, func(i int, answers []Answer) {
		if i < a.Categories {
			f.sameMembers(fmt.Sprintf("category %d", i), answers[0].Texts(), categories[i])
			return
		}
		f.sameMembers(fmt.Sprintf("region %d", i-a.Categories), answers[0].Texts(), regions[i-a.Categories])
	})
	return f.verdict("items and lists"), err
}

// verifyUsers reads the comments on all users, and their ratings.
func (a *rubis) verifyUsers(ctx context.Context, b *rubisBooks) (workload.Invariant, error) {
	f := finding{name: rubisPromises[3]}
	groups := make([][]Call, a.Users)
	for u := range groups {
		groups[u] = []Call{{a.commentsOn(u), "list", "range", []any{0, -1}}, getFields(a.user(u), "rating")}
	}
	err := a.readAll(ctx, groups, func(u int, answers []Answer) {
		want, points := map[string]certainty{}, int64(0)
		for _, m := range b.comments[u] {
			want[m.text] = m.is
			if slices.Contains(answers[0].Texts(), m.text) {
				points += int64(m.points)
			}
		}
		f.sameMembers(fmt.Sprintf("comments on user %d", u), answers[0].Texts(), want)
		f.expect(answers[1].Text(0) == strconv.FormatInt(points, 10), "user %d has rating %q, and comments of %d points", u,
			answers[1].Text(0), points)
	})
	if err != nil {
		return workload.Invariant{}, err
	}
	groups = nil
	for _, u := range b.born {
		groups = append(groups, []Call{getFields(a.user(u.user), "name")})
	}
	err = a.readAll(ctx, groups, func(i int, answers []Answer) {
		u, there := b.born[i], !answers[0].Nil(0)
		f.expect((there || u.is != sure) && (!there || u.is != no), "user %d exists: %v, which is not what was acknowledged",
			u.user, there)
	})
	return f.verdict("users"), err
}
