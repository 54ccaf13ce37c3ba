package shard_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// BenchmarkAbstractLocks measures what abstract locks add to the steps of a shard without contention, in a
// contest with a machine that has read-write locks.
func BenchmarkAbstractLocks(b *testing.B) {
	for _, load := range calledLoads {
		b.Run(load.name, func(b *testing.B) {
			contest{load.with(shard.AbstractLocks), load.with(shard.RWLocks)}.run(b)
		})
	}
}

// BenchmarkAgainstItself shows the error of contests: both machines are the same.
func BenchmarkAgainstItself(b *testing.B) {
	for _, load := range calledLoads {
		b.Run(load.name, func(b *testing.B) {
			contest{load.with(shard.AbstractLocks), load.with(shard.AbstractLocks)}.run(b)
		})
	}
}

// called is a load of calls on uniform keys; fill puts something into each first.
type called struct {
	name  string
	whole bool
	fill  draw
	ops   []draw
}

type draw func(r *rand.Rand, key []byte) msg.Op

var calledLoads = []called{
	{name: "whole transactions, add to sets", whole: true, fill: fillSet, ops: []draw{addOne}},
	{name: "whole transactions, sizes of sets", whole: true, fill: fillSet, ops: []draw{sizeOf}},
	{name: "participant, add to sets", fill: fillSet, ops: []draw{addOne}},
	{name: "participant, two adds and two sizes", fill: fillSet, ops: []draw{addOne, sizeOf, addOne, sizeOf}},
	{name: "participant, fields of maps", fill: fillMap, ops: []draw{incrementField}},
	{name: "participant, puts", fill: putValue, ops: []draw{putValue}},
}

// inEach is how many members, or fields, there are to draw from.
const inEach = 20

func addOne(r *rand.Rand, key []byte) msg.Op {
	return adt.ByName("set").MethodByName("add").Op(key, adt.Bytes(fmt.Appendf(nil, "m%02d", r.IntN(inEach))))
}

func sizeOf(_ *rand.Rand, key []byte) msg.Op {
	return adt.ByName("set").MethodByName("len").Op(key)
}

func incrementField(r *rand.Rand, key []byte) msg.Op {
	return adt.ByName("map").MethodByName("increment").Op(key, adt.Bytes(fmt.Appendf(nil, "f%02d", r.IntN(inEach))),
		adt.Int(1))
}

func putValue(_ *rand.Rand, key []byte) msg.Op {
	return msg.Op{Kind: msg.OpPut, Key: key, Value: []byte("value")}
}

// fillSet adds half of the members.
func fillSet(r *rand.Rand, key []byte) msg.Op {
	var members []msg.Datum
	for _, m := range r.Perm(inEach)[:inEach/2] {
		members = append(members, adt.Bytes(fmt.Appendf(nil, "m%02d", m)))
	}
	return adt.ByName("set").MethodByName("add").Op(key, members...)
}

// fillMap sets half of the fields.
func fillMap(r *rand.Rand, key []byte) msg.Op {
	var fields []msg.Datum
	for _, f := range r.Perm(inEach)[:inEach/2] {
		fields = append(fields, adt.Bytes(fmt.Appendf(nil, "f%02d", f)), adt.Bytes([]byte("7")))
	}
	return adt.ByName("map").MethodByName("set").Op(key, fields...)
}

func (load called) with(locks shard.Locks) func(seed uint64) *driven {
	return func(seed uint64) *driven {
		rng, names := rand.New(rand.NewPCG(1, seed)), manyKeys(10_000)
		var fill []msg.Op
		for _, name := range names {
			fill = append(fill, load.fill(rng, name))
		}
		heat := shard.HeatConfig{Every: kv.DefaultHeatInterval, Hot: 9, Nodes: 3}
		return drive(shard.Config{Sharing: shard.Sharing{Locks: locks}, Heat: heat}, load.whole, fill, func() (ops []msg.Op) {
			for i, draw := range load.ops {
				op := draw(rng, names[rng.IntN(len(names))])
				op.Seq = uint32(i)
				ops = append(ops, op)
			}
			return ops
		})
	}
}
