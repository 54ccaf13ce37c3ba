package workload

import "fmt"

// NamedOptions are options with the name under which a table shows them.
type NamedOptions struct {
	Name string
	Options
	// Brief: it is among the few that stand for all.
	Brief bool
}

// SSSMixes are the mixes of the workload "sss" by which readers are compared:
// those that the paper's figures show, and the same under Zipf's law. Nodes is
// how many nodes have clients.
func SSSMixes(nodes int) (all []NamedOptions) {
	add := func(brief bool, keys uint64, skew, readOnly float64, readKeys int, locality float64) {
		o, err := Published("sss", nodes)
		if err != nil {
			panic(err) // it is published
		}
		o.Keys, o.Skew, o.Mix, o.ReadKeys, o.Locality = keys, skew, o.Mix.WithReadOnly(readOnly),
			KeyCount{readKeys, readKeys}, locality
		name := "uniform"
		if skew > 0 {
			name = fmt.Sprintf("Zipf %v", skew)
		}
		name += fmt.Sprintf(", %dk keys, %v %%", keys/1000, readOnly)
		if readKeys != 2 {
			name += fmt.Sprintf(" of %d keys", readKeys)
		}
		if locality > 0 {
			name += ", half local"
		}
		all = append(all, NamedOptions{Name: name, Options: o, Brief: brief})
	}
	for _, keys := range []uint64{5000, 10_000} {
		for _, readOnly := range []float64{20, 50, 80} {
			add(keys == 5000, keys, 0, readOnly, 2, 0)
		}
	}
	add(false, 5000, 0, 80, 2, 50)
	add(true, 5000, 0, 80, 16, 0)
	for _, readOnly := range []float64{20, 50, 80} {
		add(readOnly == 50, 5000, 1.2, readOnly, 2, 0)
	}
	add(true, 5000, 1.2, 80, 16, 0)
	return all
}
