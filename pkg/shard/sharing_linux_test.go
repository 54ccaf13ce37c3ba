package shard_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"golang.org/x/sys/unix"
)

// BenchmarkAbstractLocks measures what abstract locks add to a shard's steps where
// nobody fights for a key. Two machines take the same messages, by turns of some
// milliseconds; one of them has read-write locks. Each pair of turns gives a ratio;
// told is their median, with the interval that has it with 95 % certainty. Time is
// that of the processor, so that it matters less who else wants it.
func BenchmarkAbstractLocks(b *testing.B) {
	for _, load := range []called{
		{name: "whole transactions, add to sets", whole: true, op: addOne},
		{name: "whole transactions, sizes of sets", whole: true, op: sizeOf},
		{name: "participant, add to sets", op: addOne},
		{name: "participant, two adds and two sizes", op: addOne, more: []func(*rand.Rand, []byte) msg.Op{sizeOf, addOne, sizeOf}},
		{name: "participant, fields of dicts", op: incrementField},
		{name: "participant, puts", op: putValue},
	} {
		b.Run(load.name, func(b *testing.B) {
			runtime.LockOSThread() // its clock is read
			defer runtime.UnlockOSThread()
			pair := [2]*callDriver{newCallDriver(load, shard.AbstractLocks), newCallDriver(load, shard.RWLocks)}
			for range 200 { // until all keys are in memory
				pair[0].turn()
				pair[1].turn()
			}
			pair[0].spent, pair[1].spent, pair[0].steps, pair[1].steps = 0, 0, 0, 0
			var ratios []float64
			for i := range b.N {
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
			b.ReportMetric(float64(pair[0].spent)/float64(pair[0].steps), "ns/Step")
			b.ReportMetric(float64(pair[1].spent)/float64(pair[1].steps), "ns/Step-rw")
		})
	}
}

// called is a load of calls on uniform keys.
type called struct {
	name  string
	whole bool
	op    func(r *rand.Rand, key []byte) msg.Op
	more  []func(r *rand.Rand, key []byte) msg.Op
}

func method(name string) *adt.TypeMethod { return adt.Lookup(adt.Set).MethodByName(name) }

func addOne(r *rand.Rand, key []byte) msg.Op {
	return method("add").Op(key, adt.Bytes(fmt.Appendf(nil, "m%02d", r.IntN(20))))
}

func sizeOf(_ *rand.Rand, key []byte) msg.Op { return method("size").Op(key) }

func incrementField(r *rand.Rand, key []byte) msg.Op {
	return adt.ByName("dict").MethodByName("increment").Op(key, adt.Bytes(fmt.Appendf(nil, "f%02d", r.IntN(20))), adt.Int(1))
}

func putValue(_ *rand.Rand, key []byte) msg.Op {
	return msg.Op{Kind: msg.OpPut, Key: key, Value: []byte("value")}
}

// threadClock is for how long the thread has had a processor.
func threadClock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// callDriver is a machine under a load of calls, as driven is.
type callDriver struct {
	called
	driven
}

func newCallDriver(load called, locks shard.Locks) *callDriver {
	d := &callDriver{called: load, driven: driven{load: noticed{whole: load.whole, keys: 10_000}, rng: rand.New(rand.NewPCG(1, 2)), id: 1, inTurn: 50, clock: threadClock}}
	for k := range d.load.keys {
		d.names = append(d.names, fmt.Appendf(nil, "key-%06d", k))
	}
	d.m, d.room = shard.New(shard.Config{Lease: -1, CacheBytes: 1 << 30, Sharing: shard.Sharing{Locks: locks},
		Heat: shard.HeatConfig{Every: kv.DefaultHeatEvery, Hot: 9, Nodes: 3}}, shard.Recovered{}, d.now, 0)
	d.piece = func() []msg.Op {
		ops := []msg.Op{d.op(d.rng, d.key())}
		for i, f := range d.more {
			o := f(d.rng, d.key())
			o.Seq = uint32(i + 1)
			ops = append(ops, o)
		}
		return ops
	}
	return d
}

func (d *callDriver) key() []byte { return d.names[d.rng.IntN(len(d.names))] }
