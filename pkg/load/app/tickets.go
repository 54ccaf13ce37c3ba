package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Tickets sells the tickets of events, of which some are wanted by all. What is
// left of an event is a bounded counter, which never gets below 0 and lets
// buyers go on at the same time as long as it cannot.
type Tickets struct {
	// Venues have events in turn. Default 50.
	Venues int
	// Events to which there are tickets. Default 200.
	Events int
	// Tickets is how many an event has, give or take a tenth. Default 2,000.
	Tickets int
	// Most is how many a buyer takes at most; each number is as likely.
	// Default 4.
	Most int
	// Skew is the exponent of Zipf's law, by which buyers choose events.
	Skew float64
	// Mix is of TicketMix. Default: that.
	Mix Mix
}

// TicketMix is what clients of Tickets do. An order that is refused counts as
// another kind, "sold out".
var TicketMix = Mix{{"buy", 75}, {"view", 25}}

const (
	ticketsBuy workload.Kind = iota
	ticketsView
	ticketsSoldOut
)

func (o Tickets) withDefaults() Tickets {
	o.Venues, o.Events = orDefault(o.Venues, 50), orDefault(o.Events, 200)
	o.Tickets, o.Most = orDefault(o.Tickets, 2000), orDefault(o.Most, 4)
	if o.Mix == nil {
		o.Mix = TicketMix
	}
	return o
}

func (o Tickets) validate() error {
	var c check
	c.within("venues", o.Venues, 1, 100_000)
	c.within("events", o.Events, 1, 1_000_000)
	c.within("tickets an event", o.Tickets, 1, 1_000_000_000)
	c.within("tickets an order", o.Most, 1, 1000)
	c.skew(o.Skew)
	return c.err()
}

type tickets struct {
	world
	Tickets
	law      *zipf.Picker
	capacity []int64
	clients  []*ticketClient
}

type ticketClient struct {
	rand   *rand.Rand
	count  int
	orders []ticketOrder
	// refused is the least number of tickets that was refused of an event.
	refused map[int]int64
}

// ticketOrder is an order that may have been taken.
type ticketOrder struct {
	client, number, event int
	n                     int64
	sure                  bool
}

// NewTickets makes the application.
func NewTickets(e Env, o Tickets) (App, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	law, err := e.picker(o.Events, o.Skew)
	if err != nil {
		return nil, err
	}
	a := &tickets{world: newWorld(e, "tickets"), Tickets: o, law: law, capacity: make([]int64, o.Events)}
	a.set("%d venues, %d events of about %d tickets, Zipf skew %v, orders of 1 to %d", o.Venues, o.Events, o.Tickets,
		o.Skew, o.Most)
	a.about.Mix = o.Mix.String()
	r := rand.New(rand.NewPCG(e.Seed, 1<<40))
	for i := range a.capacity {
		tenth := o.Tickets / 10
		a.capacity[i] = int64(o.Tickets - tenth + r.IntN(2*tenth+1))
	}
	for i := range e.Clients {
		a.clients = append(a.clients, &ticketClient{rand: a.source(i), refused: map[int]int64{}})
	}
	return a, nil
}

func (a *tickets) Kinds() []workload.AppKind {
	return []workload.AppKind{{Name: "buy"}, {Name: "view", Reads: true}, {Name: "sold out"}}
}

func (a *tickets) left(event int) []byte  { return a.key("event", event, 0) }
func (a *tickets) info(event int) []byte  { return a.key("event", event) }
func (a *tickets) venue(event int) []byte { return a.key("venue", event%a.Venues) }
func (a *tickets) order(o ticketOrder) []byte {
	return a.key("order", o.client, o.number)
}

func (a *tickets) Load(ctx context.Context) error {
	groups := make([][]Call, a.Events)
	for i, n := range a.capacity {
		groups[i] = []Call{
			createBounded(a.left(i), 0, n, n),
			setFields(a.info(i), "name", fmt.Sprintf("event %d", i), "venue", strconv.Itoa(i%a.Venues), "tickets",
				strconv.FormatInt(n, 10)),
		}
	}
	return a.load(ctx, fmt.Sprintf("%d events", a.Events), groups)
}

func (a *tickets) Do(ctx context.Context, client int) workload.Done {
	c := a.clients[client]
	event := int(a.law.Pick(c.rand, 0))
	if workload.Kind(a.Mix.pick(c.rand)) == ticketsView {
		e, err := a.db.Execute(ctx, allFields(a.info(event)), getBounded(a.left(event)))
		return workload.Done{Kind: ticketsView, Reply: e.Reply, Err: err}
	}
	c.count++
	o := ticketOrder{client: client, number: c.count, event: event, n: 1 + c.rand.Int64N(int64(a.Most))}
	e, err := a.db.Execute(ctx, subtractBounded(a.left(event), o.n), addCounter(a.venue(event), o.n),
		putValue(a.order(o), strconv.FormatInt(o.n, 10)))
	if refused(err) {
		if least, known := c.refused[event]; !known || o.n < least {
			c.refused[event] = o.n
		}
		return workload.Done{Kind: ticketsSoldOut, Reply: e.Reply}
	}
	switch e.outcome(0, err) { // the tickets are taken, whatever became of the rest
	case workload.Committed:
		o.sure = true
		c.orders = append(c.orders, o)
	case workload.Unknown:
		c.orders = append(c.orders, o)
	}
	return workload.Done{Kind: ticketsBuy, Reply: e.Reply, Err: err}
}

func (a *tickets) Verify(ctx context.Context) ([]workload.Invariant, error) {
	var orders []ticketOrder
	refused := map[int]int64{}
	for _, c := range a.clients {
		orders = append(orders, c.orders...)
		for event, n := range c.refused {
			if least, known := refused[event]; !known || n < least {
				refused[event] = n
			}
		}
	}
	left, err := a.whatIsLeft(ctx)
	if err != nil {
		return nil, err
	}
	over := finding{name: "no event is oversold"}
	sure, perhaps := make([]int64, a.Events), make([]int64, a.Events)
	for _, o := range orders {
		if o.sure {
			sure[o.event] += o.n
		} else {
			perhaps[o.event] += o.n
		}
	}
	for i, n := range left {
		over.expect(n >= 0 && sure[i] <= a.capacity[i], "event %d has %d tickets, %d are left, and %d were acknowledged", i,
			a.capacity[i], n, sure[i])
	}
	sold := finding{name: "the tickets sold are those acknowledged"}
	for i, n := range left {
		gone := a.capacity[i] - n
		sold.expect(gone >= sure[i] && gone <= sure[i]+perhaps[i],
			"%d tickets of event %d are gone, and %d to %d were acknowledged", gone, i, sure[i], sure[i]+perhaps[i])
	}
	out := finding{name: "orders are rejected exactly if too few tickets are left"}
	for event, n := range refused {
		out.expect(left[event] < n, "event %d rejected an order of %d tickets and has %d left", event, n, left[event])
	}
	if err := a.trySoldOut(ctx, left, &out); err != nil {
		return nil, err
	}
	all := []workload.Invariant{over.verdict("events"), sold.verdict("events"), out.verdict("events")}
	books := "orders and the sales of venues agree with the tickets left"
	if a.OneByOne {
		return append(all, notPromised(books)...), nil
	}
	kept, err := a.verifyBooks(ctx, books, orders, left)
	return append(all, kept), err
}

func (a *tickets) whatIsLeft(ctx context.Context) ([]int64, error) {
	left := make([]int64, a.Events)
	groups := make([][]Call, a.Events)
	for i := range groups {
		groups[i] = []Call{getBounded(a.left(i))}
	}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) { left[i] = answers[0].Int(0) })
	return left, err
}

// trySoldOut tries to buy one more ticket of each event that has none.
func (a *tickets) trySoldOut(ctx context.Context, left []int64, out *finding) error {
	for i, n := range left {
		if n != 0 {
			continue
		}
		_, err := a.DB.Execute(ctx, subtractBounded(a.left(i), 1))
		if err != nil && !refused(err) {
			return err
		}
		out.expect(err != nil, "event %d has no ticket left and sold one more", i)
	}
	return nil
}

// verifyBooks reads all orders that there can be, and adds them up.
func (a *tickets) verifyBooks(ctx context.Context, name string, orders []ticketOrder, left []int64) (workload.Invariant,
	error) {
	books := finding{name: name}
	groups := make([][]Call, len(orders))
	for i, o := range orders {
		groups[i] = []Call{getValue(a.order(o))}
	}
	perEvent, perVenue := make([]int64, a.Events), make([]int64, a.Venues)
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		o := orders[i]
		there := !answers[0].Nil(0)
		books.expect(there || !o.sure, "order %d.%d was acknowledged and is missing", o.client, o.number)
		books.expect(!there || answers[0].Text(0) == strconv.FormatInt(o.n, 10),
			"order %d.%d is of %d tickets and recorded as %q", o.client, o.number, o.n, answers[0].Text(0))
		if there {
			perEvent[o.event] += o.n
			perVenue[o.event%a.Venues] += o.n
		}
	})
	if err != nil {
		return workload.Invariant{}, err
	}
	for i, n := range left {
		books.expect(a.capacity[i]-n == perEvent[i], "%d tickets of event %d are gone, and there are orders for %d",
			a.capacity[i]-n, i, perEvent[i])
	}
	venues := make([][]Call, a.Venues)
	for i := range venues {
		venues[i] = []Call{getCounter(a.venue(i))}
	}
	err = a.readAll(ctx, venues, func(i int, answers []Answer) {
		books.expect(answers[0].Int(0) == perVenue[i], "venue %d has sold %d tickets, and there are orders for %d", i,
			answers[0].Int(0), perVenue[i])
	})
	return books.verdict("orders, events and venues"), err
}
