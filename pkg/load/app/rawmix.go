package app

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// RawMix is Claret's raw operation mix (Holt 2016, section 4.5.1): each
// transaction asks for the sizes of sets and adds to sets, which are drawn by
// Zipf's law. Adds commute with adds, and not with sizes.
type RawMix struct {
	// Sets is how many there are. Default 10,000.
	Sets int
	// Skew is the exponent of Zipf's law; the paper has 0 to 1.5.
	Skew float64
	// Ops is how many operations a transaction has. Default 4.
	Ops int
	// Adds is how many per cent of them add.
	Adds float64
	// Members is how many different members clients draw from; the paper
	// does not say. Default 1,000.
	Members int
}

func (o RawMix) withDefaults() RawMix {
	o.Sets, o.Ops, o.Members = orDefault(o.Sets, 10_000), orDefault(o.Ops, 4), orDefault(o.Members, 1000)
	return o
}

func (o RawMix) validate() error {
	var c check
	c.within("sets", o.Sets, 1, 1_000_000)
	c.within("operations a transaction", o.Ops, 1, 1000)
	c.within("members", o.Members, 1, 100_000)
	c.percent("adds", o.Adds)
	c.skew(o.Skew)
	return c.err()
}

// The kinds of its transactions.
const (
	rawSizes workload.Kind = iota
	rawAdds
	rawMixed
)

type rawMix struct {
	world
	RawMix
	law     *zipf.Sampler
	clients []*rawClient
}

type rawClient struct {
	rand *rand.Rand
	// added are members of sets, and whether that is sure.
	added map[rawMember]certainty
	// seen is the greatest size that the client has read of each set.
	seen   map[int]int64
	shrunk finding
}

type rawMember struct{ set, member int }

// NewRawMix makes the application.
func NewRawMix(e Env, o RawMix) (App, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	law, err := zipf.NewSampler(uint64(o.Sets), o.Skew)
	if err != nil {
		return nil, err
	}
	a := &rawMix{world: newWorld(e, "raw-mix"), RawMix: o, law: law}
	a.set("%d sets, Zipf skew %v, %d operations a transaction, members from %d", o.Sets, o.Skew, o.Ops, o.Members)
	a.about.Mix = fmt.Sprintf("%v%% of the operations add, the others read the size", o.Adds)
	for i := range e.Clients {
		a.clients = append(a.clients, &rawClient{rand: a.source(i), added: map[rawMember]certainty{}, seen: map[int]int64{}})
	}
	return a, nil
}

func (a *rawMix) Kinds() []workload.AppKind {
	return []workload.AppKind{{Name: "sizes", Reads: true}, {Name: "adds"}, {Name: "sizes and adds"}}
}

func (a *rawMix) Load(context.Context) error {
	a.about.Loaded = "no members"
	return nil
}

func (a *rawMix) keyOf(i int) []byte { return a.key("set", i) }

func memberName(i int) string { return fmt.Sprintf("m%05d", i) }

func (a *rawMix) Do(ctx context.Context, client int) workload.Done {
	c := a.clients[client]
	calls, about, adds := make([]Call, a.Ops), make([]rawMember, a.Ops), 0
	for i := range calls {
		set := int(a.law.Rank(c.rand))
		about[i] = rawMember{set, -1}
		calls[i] = sizeOfSet(a.keyOf(set))
		if c.rand.Float64()*100 < a.Adds {
			about[i].member = c.rand.IntN(a.Members)
			calls[i] = addToSet(a.keyOf(set), memberName(about[i].member))
			adds++
		}
	}
	e, err := a.db.Execute(ctx, calls...)
	for i, m := range about {
		switch o := e.outcome(i, err); {
		case m.member >= 0:
			c.added[m] = c.added[m].or(o)
		case o == workload.Committed && i < len(e.Answers):
			c.sees(m.set, e.Answers[i].Int(0))
		}
	}
	kind := rawMixed
	switch adds {
	case 0:
		kind = rawSizes
	case a.Ops:
		kind = rawAdds
	}
	return workload.Done{Kind: kind, Reply: e.Reply, Err: err}
}

// sees notes a size. Nothing is ever removed, so what a client reads of one
// set never gets smaller.
func (c *rawClient) sees(set int, size int64) {
	before := c.seen[set]
	c.shrunk.expect(size >= before, "set %d had %d members and later %d", set, before, size)
	c.seen[set] = max(before, size)
}

func (a *rawMix) Verify(ctx context.Context) ([]workload.Invariant, error) {
	added := map[rawMember]certainty{}
	shrunk := finding{name: "no client saw a set shrink"}
	for _, c := range a.clients {
		for m, s := range c.added {
			added[m] = max(added[m], s)
		}
		shrunk.merge(c.shrunk)
	}
	sets := make([]map[string]certainty, a.Sets)
	groups := make([][]Call, a.Sets)
	for i := range sets {
		sets[i] = map[string]certainty{}
		groups[i] = []Call{sizeOfSet(a.keyOf(i)), membersOfSet(a.keyOf(i))}
	}
	for m, s := range added {
		sets[m.set][memberName(m.member)] = s
	}
	size := finding{name: "the size of each set is the number of acknowledged members"}
	whole := finding{name: "each set has the acknowledged members"}
	err := a.readAll(ctx, groups, func(i int, answers []Answer) {
		sure, perhaps := count(sets[i])
		n := int(answers[0].Int(0))
		size.expect(n >= sure && n <= sure+perhaps, "set %d has size %d, and %s were acknowledged", i, n,
			between(sure, perhaps))
		whole.sameMembers(fmt.Sprintf("set %d", i), answers[1].Texts(), sets[i])
	})
	if err != nil {
		return nil, err
	}
	return []workload.Invariant{size.verdict("sets"), whole.verdict("sets"), shrunk.verdict("sizes")}, nil
}
