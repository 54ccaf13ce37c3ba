package workload

import (
	"fmt"
	"strings"
)

// Zeta is the name of the default workload, which is from no paper.
const Zeta = "zeta"

// Published gives the options of a workload by its name. Zeta has the defaults
// and a skew of 0.99. The other two are from the papers that linchpin starts
// from; where those give a range, or nothing, a value within it was chosen:
//
// "sss" is from Kishi et al., SSS, section VI, which runs YCSB as
// transactions: an update reads and writes two keys, a read-only transaction
// reads two or more; 5,000 keys (or 10,000), uniform; 10 clients on each node
// in a closed loop; 20, 50 or 80 % read-only, of which the middle was chosen
// here. Its figure 8 raises the keys of a reader from 2 to 16, and one
// experiment has half of the keys local. That the keys of a transaction are
// distinct is not said there, but "two keys" is taken to mean it.
//
// "hot-or-not" is from Lam and Helt, Hot or Not, Evaluation: 10 keys a
// transaction, possibly repeated, 90 % read-only and 10 % write-only, all
// one-shot, from 128 clients. It draws from a Zipf distribution and varies the skew;
// the number of keys is not given. 1.2 and 100,000 are ours.
//
// Nodes is how many nodes have clients, at least 1.
func Published(name string, nodes int) (Options, error) {
	switch name {
	case Zeta:
		return Options{Name: name, Skew: 0.99}.WithDefaults(), nil
	case "sss":
		return Options{Name: name, Keys: 5000, Ops: 2, Readers: Readers{ReadKeys: KeyCount{2, 2}}, Distinct: true,
			Mix: Mix{ReadOnly: 50, ReadModifyWrite: 50}, Clients: 10 * nodes}.WithDefaults(), nil
	case "hot-or-not":
		return Options{Name: name, Keys: 100_000, Skew: 1.2, Ops: 10,
			Mix: Mix{ReadOnly: 90, WriteOnly: 10}, Clients: 128}.WithDefaults(), nil
	}
	return Options{}, fmt.Errorf("there is no workload %q, want one of %s", name, strings.Join(PublishedNames(), ", "))
}

// PublishedNames lists the names that Published knows.
func PublishedNames() []string { return []string{Zeta, "sss", "hot-or-not"} }

// WithReadOnly gives a mix with so many per cent of read-only transactions,
// whose other transactions are in the proportions that they have in m.
func (m Mix) WithReadOnly(percent float64) Mix {
	updates := m.WriteOnly + m.ReadModifyWrite + m.Increment
	part := (100 - percent) / updates
	return Mix{ReadOnly: percent, WriteOnly: m.WriteOnly * part, ReadModifyWrite: m.ReadModifyWrite * part,
		Increment: m.Increment * part}
}
