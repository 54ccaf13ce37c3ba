package app

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Bank transfers money between accounts, of which some are hot: bounded
// counters that never get below 0. Auditors read all accounts at once while
// that goes on.
type Bank struct {
	// Accounts is how many there are, at least 2. Default 100.
	Accounts int
	// Start is what is on each in the beginning. Default 1,000.
	Start int
	// Most is how much is transferred at most; each amount is as likely.
	// Default 50.
	Most int
	// Skew is the exponent of Zipf's law, by which both accounts are drawn.
	Skew float64
	// Mix is of BankMix. Default: that.
	Mix Mix
}

// BankMix is what clients of Bank do. A transfer from an account with too
// little on it counts as another kind, "refused".
var BankMix = Mix{{"transfer", 85}, {"balance", 10}, {"audit", 5}}

const (
	bankTransfer workload.Kind = iota
	bankBalance
	bankAudit
	bankRefused
)

func (o Bank) withDefaults() Bank {
	o.Accounts, o.Start, o.Most = orDefault(o.Accounts, 100), orDefault(o.Start, 1000), orDefault(o.Most, 50)
	if o.Mix == nil {
		o.Mix = BankMix
	}
	return o
}

func (o Bank) validate() error {
	var c check
	c.within("accounts", o.Accounts, 2, 5000) // an audit reads all in one transaction
	c.within("on each account", o.Start, 1, 1_000_000_000)
	c.within("a transfer", o.Most, 1, 1_000_000_000)
	c.skew(o.Skew)
	return c.err()
}

type bank struct {
	world
	Bank
	law     *zipf.Picker
	clients []*bankClient
}

type bankClient struct {
	rand *rand.Rand
	// gained is what transfers that are sure have brought to accounts.
	gained map[int]int64
	// perhaps are transfers of unknown outcome.
	perhaps []transfer
	audits  finding
}

type transfer struct {
	from, to int
	amount   int64
}

// NewBank makes the application.
func NewBank(e Env, o Bank) (App, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	law, err := e.picker(o.Accounts, o.Skew)
	if err != nil {
		return nil, err
	}
	a := &bank{world: newWorld(e, "bank"), Bank: o, law: law}
	a.set("%d accounts with %d each, Zipf skew %v, transfers of 1 to %d", o.Accounts, o.Start, o.Skew, o.Most)
	a.about.Mix = o.Mix.String()
	for i := range e.Clients {
		a.clients = append(a.clients, &bankClient{rand: a.source(i), gained: map[int]int64{}})
	}
	return a, nil
}

func (a *bank) Kinds() []workload.AppKind {
	return []workload.AppKind{{Name: "transfer"}, {Name: "balance", Reads: true}, {Name: "audit", Reads: true},
		{Name: "refused"}}
}

func (a *bank) account(i int) []byte { return a.key("account", i) }

func (a *bank) total() int64 { return int64(a.Accounts) * int64(a.Start) }

func (a *bank) Load(ctx context.Context) error {
	groups := make([][]Call, a.Accounts)
	for i := range groups {
		groups[i] = []Call{createBounded(a.account(i), 0, math.MaxInt64, int64(a.Start))}
	}
	return a.load(ctx, fmt.Sprintf("%d accounts", a.Accounts), groups)
}

func (a *bank) Do(ctx context.Context, client int) workload.Done {
	c := a.clients[client]
	switch workload.Kind(a.Mix.pick(c.rand)) {
	case bankBalance:
		e, err := a.db.Execute(ctx, getBounded(a.account(int(a.law.Pick(c.rand, 0)))))
		return workload.Done{Kind: bankBalance, Reply: e.Reply, Err: err}
	case bankAudit:
		return a.audit(ctx, c)
	}
	t := a.draw(c.rand)
	e, err := a.db.Execute(ctx, subtractBounded(a.account(t.from), t.amount), addBounded(a.account(t.to), t.amount))
	switch {
	case refused(err):
		return workload.Done{Kind: bankRefused, Reply: e.Reply}
	case err == nil:
		c.gained[t.from] -= t.amount
		c.gained[t.to] += t.amount
	case workload.OutcomeOf(err) == workload.Unknown:
		c.perhaps = append(c.perhaps, t)
	}
	return workload.Done{Kind: bankTransfer, Reply: e.Reply, Err: err}
}

// draw draws a transfer between two accounts.
func (a *bank) draw(r *rand.Rand) transfer {
	t := transfer{from: int(a.law.Pick(r, 0)), to: int(a.law.Pick(r, 0)), amount: 1 + r.Int64N(int64(a.Most))}
	if t.to == t.from {
		t.to = (t.from + 1 + r.IntN(a.Accounts-1)) % a.Accounts
	}
	return t
}

// audit reads all accounts in one transaction.
func (a *bank) audit(ctx context.Context, c *bankClient) workload.Done {
	calls := make([]Call, a.Accounts)
	for i := range calls {
		calls[i] = getBounded(a.account(i))
	}
	e, err := a.db.Execute(ctx, calls...)
	if err == nil && len(e.Answers) == len(calls) {
		a.checkTotal(&c.audits, e.Answers)
	}
	return workload.Done{Kind: bankAudit, Reply: e.Reply, Err: err}
}

// checkTotal expects the total, and no debts.
func (a *bank) checkTotal(f *finding, answers []Answer) {
	sum := int64(0)
	var debts []string
	for i, b := range answers {
		sum += b.Int(0)
		if b.Nil(0) || b.Int(0) < 0 {
			debts = append(debts, fmt.Sprintf("account %d has %v", i, b))
		}
	}
	f.expect(sum == a.total() && debts == nil, "the total is %d, want %d; %s", sum, a.total(), strings.Join(debts, ", "))
}

func (a *bank) Verify(ctx context.Context) ([]workload.Invariant, error) {
	audits := finding{name: "each audit saw the same total, and no negative balance"}
	gained := make([]int64, a.Accounts)
	less, more := make([]int64, a.Accounts), make([]int64, a.Accounts)
	for _, c := range a.clients {
		audits.merge(c.audits)
		for i, n := range c.gained {
			gained[i] += n
		}
		for _, t := range c.perhaps {
			less[t.from] += t.amount
			more[t.to] += t.amount
		}
	}
	names := []string{"the final total is the initial one, and no balance is negative",
		"balances are those of the acknowledged transfers"}
	if a.OneByOne {
		return notPromised(audits.name, names[0], names[1]), nil
	}
	calls := make([]Call, a.Accounts)
	for i := range calls {
		calls[i] = getBounded(a.account(i))
	}
	answers, err := a.insist(ctx, calls)
	if err != nil {
		return nil, err
	}
	total, each := finding{name: names[0]}, finding{name: names[1]}
	a.checkTotal(&total, answers)
	for i, b := range answers {
		want := int64(a.Start) + gained[i]
		each.expect(b.Int(0) >= want-less[i] && b.Int(0) <= want+more[i],
			"account %d has %d, want %d (or up to %d less or %d more, for transfers of unknown outcome)",
			i, b.Int(0), want, less[i], more[i])
	}
	return []workload.Invariant{audits.verdict("audits"), total.verdict("totals"), each.verdict("accounts")}, nil
}
