package app

import (
	"context"
	"fmt"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

func (a *rubis) Do(ctx context.Context, client int) workload.Done {
	c := a.clients[client]
	c.count++
	switch kind := workload.Kind(a.Mix.pick(c.rand)); kind {
	case rubisBid:
		return a.makeBid(ctx, c, fmt.Sprintf("%d.%d", client, c.count))
	case rubisClose:
		if item, due := a.due(); due {
			return a.close(ctx, c, item)
		}
		return a.open(ctx, c) // so that the house stays full
	case rubisOpen:
		return a.open(ctx, c)
	case rubisComment:
		return a.comment(ctx, c, fmt.Sprintf("%d.%d", client, c.count))
	case rubisNewUser:
		user := int(a.users.Add(1)) - 1
		e, err := a.db.Execute(ctx, a.register(user))
		c.born = append(c.born, newUser{user, no.or(workload.OutcomeOf(err))})
		return workload.Done{Kind: kind, Reply: e.Reply, Err: err}
	case rubisViewUser:
		e, err := a.db.Execute(ctx, allFields(a.user(c.rand.IntN(a.Users))), sizeOfSet(a.bidsOf(c.rand.IntN(a.Users))))
		return workload.Done{Kind: kind, Reply: e.Reply, Err: err}
	case rubisBrowse:
		key := a.category(c.rand.IntN(a.Categories))
		if c.rand.IntN(2) == 0 {
			key = a.region(c.rand.IntN(a.Regions))
		}
		e, err := a.db.Execute(ctx, membersOfSet(key))
		return workload.Done{Kind: kind, Reply: e.Reply, Err: err}
	}
	return a.view(ctx, c)
}

// wanted is an item that bids are being made on: that of the season's next bid.
func (a *rubis) wanted() int {
	return int(a.season.Bids[int(a.bids.Load()%int64(len(a.season.Bids)))].Item)
}

// view looks at an item that is wanted, and at its bids, in one transaction:
// the highest of the list is that of the summary.
func (a *rubis) view(ctx context.Context, c *rubisClient) workload.Done {
	item := a.wanted()
	e, err := a.db.Execute(ctx, allFields(a.item(item)), maxOfTopK(a.best(item)), maxOfSummary(a.summary(item)),
		countOfSummary(a.summary(item)))
	if err == nil && len(e.Answers) == 4 && !a.OneByOne {
		list, unordered := cents(e.Answers[1].at(1)), cents(e.Answers[2].at(0))
		c.views.expect(list == unordered && (unordered > 0) == (e.Answers[3].Int(0) > 0),
			"item %d: the highest bid on the list is %d, in the summary of %d bids %d", item, list, e.Answers[3].Int(0),
			unordered)
	}
	return workload.Done{Kind: rubisView, Reply: e.Reply, Err: err}
}

// makeBid makes the season's next bid, if the auction is open.
func (a *rubis) makeBid(ctx context.Context, c *rubisClient, name string) workload.Done {
	n := a.bids.Add(1) - 1
	all := int64(len(a.season.Bids))
	b := bid{name: name, item: int(a.season.Bids[n%all].Item), user: c.rand.IntN(a.Users), amount: amount(n)}
	late := false
	reply, err := a.db.Transact(ctx, false, func(tx Tx) error {
		late = false
		answers, err := tx.Do(getFields(a.item(b.item), "state"))
		if err != nil {
			return err
		}
		late = answers[0].Text(0) != "open"
		if late {
			return nil
		}
		_, err = tx.Do(addToTopK(a.best(b.item), money(b.amount), b.name), addToSummary(a.summary(b.item), money(b.amount)),
			addToSet(a.bidsOf(b.user), b.name), putValue(a.bid(b.name), b.record()))
		return err
	})
	if late && err == nil {
		return workload.Done{Kind: rubisTooLate, Reply: reply}
	}
	b.is = no.or(workload.OutcomeOf(err))
	if b.is != no {
		c.bids = append(c.bids, b)
	}
	return workload.Done{Kind: rubisBid, Reply: reply, Err: err}
}

// amount is that of bid number n. Prices rise in the course of the season, no
// two are the same, and within each run of 64 bids some come too late to be
// the highest.
func amount(n int64) int64 { return 100 + n&^63 + n*37&63 }

// record is what is written down of a bid.
func (b *bid) record() string { return fmt.Sprintf("%d on %d by %d", b.amount, b.item, b.user) }

// due gives the auction whose end came last in the season's time, and takes it
// out of those to be closed: its last bids may be on their way.
func (a *rubis) due() (item int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, all := a.bids.Load(), int64(len(a.season.Bids))
	now := a.season.Bids[n%all].At
	if n >= all {
		now = 1 // all ends have come
	}
	last := a.closing
	for last < len(a.season.Closing) && a.season.Ends[a.season.Closing[last]] <= now {
		last++
	}
	if last == a.closing {
		return 0, false
	}
	a.closing = last
	return int(a.season.Closing[last-1]), true
}

// close ends an auction: it is sold to the highest bidder, if the reserve is met.
func (a *rubis) close(ctx context.Context, c *rubisClient, item int) workload.Done {
	var d closed
	reply, err := a.db.Transact(ctx, false, func(tx Tx) error {
		answers, err := tx.Do(getFields(a.item(item), "state", "reserve"), maxOfTopK(a.best(item)))
		if err != nil {
			return err
		}
		d = closed{item: item, by: answers[1].Text(0), best: cents(answers[1].at(1))}
		least, _ := strconv.ParseInt(answers[0].Text(1), 10, 64)
		fields := []string{"state", "unsold"}
		if d.best > 0 && d.best >= least {
			d.price = d.best
			fields = []string{"state", "sold", "price", strconv.FormatInt(d.best, 10), "winner", d.by}
		}
		name := strconv.Itoa(item)
		_, err = tx.Do(setFields(a.item(item), fields...), removeFromSet(a.category(item), name),
			removeFromSet(a.region(item), name))
		return err
	})
	d.item, d.is = item, no.or(workload.OutcomeOf(err))
	if d.is != no {
		c.closed = append(c.closed, d)
	}
	return workload.Done{Kind: rubisClose, Reply: reply, Err: err}
}

// open offers something new. It gets no bids, since the season knows nothing
// of it, but fills the lists that people browse.
func (a *rubis) open(ctx context.Context, c *rubisClient) workload.Done {
	item := int(a.items.Add(1)) - 1
	e, err := a.db.Execute(ctx, a.offer(item, c.rand.IntN(a.Users))...)
	if is := no.or(workload.OutcomeOf(err)); is != no {
		c.opened = append(c.opened, opened{item, is})
	}
	return workload.Done{Kind: rubisOpen, Reply: e.Reply, Err: err}
}

// comment says something of a user, with points for the rating.
func (a *rubis) comment(ctx context.Context, c *rubisClient, name string) workload.Done {
	m := comment{user: c.rand.IntN(a.Users), points: c.rand.IntN(11) - 5, text: "comment " + name}
	e, err := a.db.Execute(ctx, Call{a.commentsOn(m.user), "list", "append", []any{m.text}},
		incrementField(a.user(m.user), "rating", int64(m.points)))
	m.is = no.or(workload.OutcomeOf(err))
	if m.is != no {
		c.comments = append(c.comments, m)
	}
	return workload.Done{Kind: rubisComment, Reply: e.Reply, Err: err}
}

// money is cents as it is stored: an exact decimal of two places.
func money(cents int64) float64 { return float64(cents) / 100 }

// cents is money that was answered; 0 if there is none.
func cents(answer any) int64 {
	f, _ := answer.(float64)
	return int64(f*100 + 0.5)
}
