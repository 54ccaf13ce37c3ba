package shard_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// BenchmarkNoticing measures what it adds to a shard's steps that hot keys are
// noticed, in a contest with a machine that is told not to.
func BenchmarkNoticing(b *testing.B) {
	for _, load := range []noticed{
		{name: "whole transactions, uniform", whole: true, keys: 10_000},
		{name: "participant, uniform", keys: 10_000},
		{name: "participant, Zipf 1.2", keys: 10_000, skew: 1.2},
		{name: "participant, one key", keys: 1},
	} {
		b.Run(load.name, func(b *testing.B) {
			contest{load.seeing, load.blind}.run(b)
		})
	}
}

// noticed is a load of puts.
type noticed struct {
	name  string
	whole bool
	keys  int
	skew  float64
}

func (load noticed) seeing(seed uint64) *driven { return load.driven(seed, false) }
func (load noticed) blind(seed uint64) *driven  { return load.driven(seed, true) }

func (load noticed) driven(seed uint64, blind bool) *driven {
	rng, names := rand.New(rand.NewPCG(1, seed)), manyKeys(load.keys)
	var zipf []float64
	var fill []msg.Op
	sum := 0.0
	for k, name := range names {
		sum += math.Pow(float64(k+1), -load.skew)
		zipf = append(zipf, sum)
		fill = append(fill, putValue(rng, name))
	}
	heat := shard.HeatConfig{Every: kv.DefaultHeatEvery, Hot: 9, Nodes: 3, Blind: blind}
	return drive(shard.Config{Heat: heat}, load.whole, fill, func() []msg.Op {
		i, _ := slices.BinarySearch(zipf, rng.Float64()*sum)
		return []msg.Op{putValue(rng, names[i])}
	})
}
