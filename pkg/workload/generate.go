package workload

import (
	"math/rand/v2"

	"github.com/linchpindb/linchpin/pkg/workload/zipf"
)

// Txn is a transaction to run.
type Txn struct {
	Kind Kind
	// Client and Number name it within the run; numbers count from 1.
	Client int
	Number uint64
	Ops    []Op
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
}

func (p *plan) generator(client int) *generator {
	return &generator{
		plan:         p,
		client:       client,
		rand:         rand.New(rand.NewPCG(p.Seed, uint64(client))),
		values:       newValues(p.run, client, p.ValueBytes, p.filler),
		counterReads: p.Mix.counterReads(),
	}
}

// next draws a transaction, with the hot spot moved moves times. The bytes in
// it are its own: a store whose caller gave up may still be sending them.
func (g *generator) next(moves uint64) Txn {
	g.count++
	kind := g.Mix.pick(g.rand.Float64())
	perKey, bytes := 1, len(g.Prefix)+keyTailBytes
	switch kind {
	case WriteOnly:
		bytes += g.ValueBytes
	case ReadModifyWrite:
		perKey, bytes = 2, bytes+g.ValueBytes
	}
	t := Txn{Kind: kind, Client: g.client, Number: g.count, Ops: make([]Op, 0, perKey*g.Ops)}
	arena := make([]byte, 0, bytes*g.Ops)
	// take cuts off what was added to the arena since from.
	take := func(from int) []byte { return arena[from:len(arena):len(arena)] }
	for range g.Ops {
		table := byte('r')
		if kind == Increment || kind == ReadOnly && g.counterReads > 0 && g.rand.Float64() < g.counterReads {
			table = 'c'
		}
		from := len(arena)
		arena = appendKey(arena, g.Prefix, table, g.picker.Pick(g.rand, moves))
		key := take(from)
		switch kind {
		case ReadOnly:
			t.Ops = append(t.Ops, Op{Kind: Read, Key: key})
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
