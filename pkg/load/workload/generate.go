package workload

import (
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
)

// Txn is a transaction to run.
type Txn struct {
	Kind Kind
	// Client and Number name it within the run; numbers count from 1.
	Client int
	Number uint64
	Ops    []Op
	// Keys is how many keys were drawn for it, and Near how many of them live
	// on the client's node, if the run has locality.
	Keys, Near int
}

// plan is what the clients of a run have in common. It does not change.
type plan struct {
	Options
	// run is the tag of this run in its values.
	run    string
	picker *zipf.Picker
	filler []byte
}

func newPlan(o Options, run string) (*plan, error) {
	p, err := zipf.NewPicker(zipf.Options{Keys: o.Keys, Skew: o.Skew, Shuffle: o.Shuffle, Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	return &plan{Options: o, run: run, picker: p, filler: newFiller(o.Seed, o.ValueBytes)}, nil
}

// generator draws the transactions of one client.
type generator struct {
	*plan
	client       int
	rand         *rand.Rand
	values       *values
	count        uint64
	counterReads float64
	// taken are the keys of the transaction that is drawn; if they are to be
	// distinct.
	taken map[tableKey]bool
	// home is where the client is; nil without locality.
	home *home
}

// tableKey is a register or a counter.
type tableKey struct {
	table  byte
	number uint64
}

func (p *plan) generator(client int) *generator {
	g := &generator{
		plan:         p,
		client:       client,
		rand:         rand.New(rand.NewPCG(p.Seed, uint64(client))),
		values:       newValues(p.run, client, p.ValueBytes, p.filler),
		counterReads: p.Mix.counterReads(),
		taken:        map[tableKey]bool{},
	}
	if p.Locality > 0 {
		_, node := p.Homes.Client(client)
		g.home = &home{p.Homes, node}
	}
	return g
}

// next draws a transaction, with the hot spot moved moves times. The bytes in
// it are its own: a store whose caller gave up may still be sending them.
func (g *generator) next(moves uint64) Txn {
	g.count++
	t := Txn{Kind: g.kind(), Client: g.client, Number: g.count}
	keys, perKey, bytes := g.Ops, 1, len(g.Prefix)+keyTailBytes
	switch t.Kind {
	case ReadOnly, InteractiveRead:
		keys = g.readKeys().draw(g.rand)
	case WriteOnly:
		bytes += g.ValueBytes
	case ReadModifyWrite:
		perKey, bytes = 2, bytes+g.ValueBytes
	}
	clear(g.taken)
	t.Ops = make([]Op, 0, perKey*keys)
	arena := make([]byte, 0, bytes*keys)
	// take cuts off what was added to the arena since from.
	take := func(from int) []byte { return arena[from:len(arena):len(arena)] }
	for range keys {
		from := len(arena)
		arena = g.key(arena, t.Kind, moves)
		key := take(from)
		t.count(g.home, key)
		switch t.Kind {
		case ReadOnly:
			t.Ops = append(t.Ops, Op{Kind: Read, Key: key})
			continue
		case InteractiveRead:
			t.Ops = append(t.Ops, Op{Kind: Read, Key: key, Pause: g.pause(len(t.Ops))})
			continue
		case Increment:
			t.Ops = append(t.Ops, Op{Kind: Add, Key: key, Delta: 1})
			continue
		case ReadModifyWrite:
			t.Ops = append(t.Ops, Op{Kind: ReadForUpdate, Key: key})
		}
		from = len(arena)
		arena = g.values.append(arena, g.count, len(t.Ops), g.rand.Uint64())
		t.Ops = append(t.Ops, Op{Kind: Write, Key: key, Value: take(from)})
	}
	return t
}

// kind draws the kind of a transaction. What is not asked for takes nothing
// from the source of randomness, so that a seed means what it always has.
func (g *generator) kind() Kind {
	k := g.Mix.pick(g.rand.Float64())
	if k == ReadOnly && (g.Interactive || g.InteractiveReads > 0 && g.rand.Float64()*100 < g.InteractiveReads) {
		return InteractiveRead
	}
	return k
}

// pause is how long a reader thinks before read number i, from 0.
func (g *generator) pause(i int) time.Duration {
	if i == 0 {
		return 0
	}
	return g.ThinkTime
}

// maxDraws bounds how often a key is drawn again because the transaction has
// it. After that the ranks below it are tried one by one: where few keys get
// nearly all draws, the law alone would take for ever to find another.
const maxDraws = 64

// key appends a key for a transaction of a kind to b.
func (g *generator) key(b []byte, k Kind, moves uint64) []byte {
	table := byte('r')
	if k == Increment || k.Reads() && g.counterReads > 0 && g.rand.Float64() < g.counterReads {
		table = 'c'
	}
	near := g.home != nil && g.rand.Float64()*100 < g.Locality
	start, number := len(b), g.picker.Pick(g.rand, moves)
	for draws := 1; ; draws++ {
		b = appendKey(b[:start], g.Prefix, table, number)
		taken := g.Distinct && g.taken[tableKey{table, number}]
		far := near && draws < maxNear && !g.home.has(b[start:])
		if !taken && !far {
			break
		}
		if draws < maxDraws || far {
			number = g.picker.Pick(g.rand, moves)
		} else {
			number = g.picker.At((g.picker.Rank(number, moves)+1)%g.Keys, moves)
		}
	}
	if g.Distinct {
		g.taken[tableKey{table, number}] = true
	}
	return b
}

// count counts a key of t; h is nil without locality.
func (t *Txn) count(h *home, key []byte) {
	t.Keys++
	if h != nil && h.has(key) {
		t.Near++
	}
}
