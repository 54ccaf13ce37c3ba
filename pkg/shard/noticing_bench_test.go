package shard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// BenchmarkNoticing measures what it adds to a shard's steps that hot keys are
// noticed. Two machines take the same messages, by turns of a few milliseconds;
// one of them is told not to notice. Each pair of turns gives a ratio; told is
// their median, with the interval that has it with 95 % certainty.
func BenchmarkNoticing(b *testing.B) {
	for _, load := range []noticed{
		{name: "whole transactions, uniform", whole: true, keys: 10_000},
		{name: "participant, uniform", keys: 10_000},
		{name: "participant, Zipf 1.2", keys: 10_000, skew: 1.2},
		{name: "participant, one key", keys: 1},
	} {
		b.Run(load.name, func(b *testing.B) {
			with, without := newDriven(load, false), newDriven(load, true)
			for range 20 { // until all keys are in memory
				with.turn()
				without.turn()
			}
			var ratios []float64
			for i := range b.N {
				pair := [2]*driven{with, without}
				var took [2]time.Duration
				for j := range pair {
					turn := (i + j) % 2
					took[turn] = pair[turn].turn()
				}
				ratios = append(ratios, float64(took[0])/float64(took[1]))
			}
			slices.Sort(ratios)
			b.ReportMetric(100*(quantile(ratios, 0)-1), "%more")
			b.ReportMetric(100*(quantile(ratios, -1)-1), "%low")
			b.ReportMetric(100*(quantile(ratios, 1)-1), "%high")
			b.ReportMetric(float64(with.spent)/float64(with.steps), "ns/Step")
		})
	}
}

// quantile is the median of sorted numbers, or an end of its interval.
func quantile(sorted []float64, side float64) float64 {
	n := float64(len(sorted))
	at := n/2 + side*1.96*math.Sqrt(n)/2
	return sorted[int(min(max(at, 0), n-1))]
}

// noticed is a load.
type noticed struct {
	name  string
	whole bool
	keys  int
	skew  float64
}

// driven is a machine under a load: in each step come a batch of transactions
// and the decisions on those that have voted some steps ago.
type driven struct {
	load    noticed
	m       *shard.Machine
	rng     *rand.Rand
	zipf    []float64
	names   [][]byte
	now, id int64
	// votes are those of the last steps, the oldest first.
	votes   [][]kv.TxnRef
	waiting int
	reads   []entry.Read
	room    shard.Output
	inTurn  int
	// clock is what steps are timed by.
	clock func() time.Duration
	spent time.Duration
	steps int
	// piece draws the operations of a transaction.
	piece func() []msg.Op
}

const (
	stepsInTurn = 500
	inStep      = 8
	// decidedAfter is how many steps it takes from a vote to its decision.
	decidedAfter = 4
	mostWaiting  = 256
)

func newDriven(load noticed, blind bool) *driven {
	d := &driven{load: load, rng: rand.New(rand.NewPCG(1, 2)), id: 1, inTurn: stepsInTurn, clock: wallClock}
	sum := 0.0
	for k := range load.keys {
		sum += math.Pow(float64(k+1), -load.skew)
		d.zipf = append(d.zipf, sum)
		d.names = append(d.names, fmt.Appendf(nil, "key-%06d", k))
	}
	d.m, d.room = shard.New(shard.Config{Lease: -1, CacheBytes: 1 << 30,
		Heat: shard.HeatConfig{Every: kv.DefaultHeatEvery, Hot: 9, Nodes: 3, Blind: blind}}, shard.Recovered{}, d.now, 0)
	d.piece = func() []msg.Op {
		i, _ := slices.BinarySearch(d.zipf, d.rng.Float64()*d.zipf[len(d.zipf)-1])
		return []msg.Op{{Kind: msg.OpPut, Key: d.names[i], Value: []byte("value")}}
	}
	return d
}

// turn takes some steps and tells how long the machine took for them.
func (d *driven) turn() (took time.Duration) {
	for range d.inTurn {
		d.now += int64(100 * time.Microsecond)
		in := shard.Input{Now: d.now, Wall: d.now, Room: d.room, Messages: d.messages(), Reads: d.answers()}
		begin := d.clock()
		d.room = d.m.Step(in)
		took += d.clock() - begin
		d.take(&d.room)
	}
	d.spent += took
	d.steps += d.inTurn
	return took
}

var began = time.Now()

func wallClock() time.Duration { return time.Since(began) }

func (d *driven) messages() (out []*msg.Envelope) {
	if len(d.votes) > decidedAfter {
		for _, t := range d.votes[0] {
			d.waiting--
			env := msg.ToShard(0)
			env.Decide = &msg.Decide{Txn: t, Last: 9, Commit: true}
			out = append(out, env)
		}
		d.votes = d.votes[1:]
	}
	for range inStep {
		if d.waiting >= mostWaiting {
			break
		}
		env := d.park()
		if !d.load.whole {
			p := env.Park
			env.Park, env.Prepare = nil, &msg.Prepare{Txn: p.Txn, Gateway: 1, Last: 9, LastIncarnation: 1, Piece: p.Piece}
			d.waiting++
		}
		out = append(out, env)
	}
	return out
}

// park is a whole transaction.
func (d *driven) park() *msg.Envelope {
	env := msg.ToShard(0)
	env.Park = &msg.Park{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: d.id}, Attempt: 1}, Gateway: 1, Piece: msg.Piece{Ops: d.piece(), Incarnation: d.m.Incarnation()}}
	d.id++
	return env
}

// answers says of all cold reads that there is nothing yet.
func (d *driven) answers() (out []entry.ReadResult) {
	for _, r := range d.reads {
		out = append(out, entry.ReadResult{ID: r.ID, Kind: r.Kind})
	}
	return out
}

func (d *driven) take(out *shard.Output) {
	d.reads = append(d.reads[:0], out.Reads...)
	var votes []kv.TxnRef
	for _, env := range out.Send {
		if v := env.Vote; v != nil && v.Yes && !v.Repeated {
			votes = append(votes, v.Txn)
		}
	}
	d.votes = append(d.votes, votes)
}
