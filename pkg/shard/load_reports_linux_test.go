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

// BenchmarkLoadReports measures what the detection of hot keys adds to the steps of a shard, in a contest with
// a machine without it.
func BenchmarkLoadReports(b *testing.B) {
	for _, load := range []reported{
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

// reported is a load of puts.
type reported struct {
	name  string
	whole bool
	keys  int
	skew  float64
}

func (load reported) seeing(seed uint64) *driven { return load.driven(seed, false) }
func (load reported) blind(seed uint64) *driven  { return load.driven(seed, true) }

func (load reported) driven(seed uint64, blind bool) *driven {
	rng, names := rand.New(rand.NewPCG(1, seed)), manyKeys(load.keys)
	var zipf []float64
	var fill []msg.Op
	sum := 0.0
	for k, name := range names {
		sum += math.Pow(float64(k+1), -load.skew)
		zipf = append(zipf, sum)
		fill = append(fill, putValue(rng, name))
	}
	heat := shard.HeatConfig{Every: kv.DefaultHeatInterval, Hot: 9, Nodes: 3, Disabled: blind}
	return drive(shard.Config{Heat: heat}, load.whole, fill, func() []msg.Op {
		i, _ := slices.BinarySearch(zipf, rng.Float64()*sum)
		return []msg.Op{putValue(rng, names[i])}
	})
}
