package history

import (
	"cmp"
	"slices"
	"strings"
)

// obsKind is what a transaction observed of a key before its own effect.
type obsKind uint8

const (
	obsNone   obsKind = iota
	obsAbsent         // the key was absent
	obsValue          // a register with a value
	obsNumber         // a counter with a number
	obsBase           // a counter with a number, or absent if the number is 0
	obsExists         // not absent
)

// effKind is the final effect of a transaction on a key.
type effKind uint8

const (
	effNone effKind = iota
	effPut          // a register with a value
	effDel          // absence
	effAdd          // the counter plus delta
	effSet          // a counter at delta, whatever its state before
)

// access combines all operations of one transaction on one key: at most one observation of other transactions' effects,
// and one effect. Observations of its own effects have been checked already and are dropped.
type access struct {
	node, key int32
	obs       obsKind
	eff       effKind
	ranged    bool // the observation is absence from a range
	// from is the node whose effect was observed, once it is known.
	from  int32
	saw   string
	num   int64
	put   string
	delta int64
}

// Values of access.from that are not nodes.
const (
	fromInitial = -1 - iota // the state before the history
	fromOpen                // several effects match so far
	fromNone                // the observation implies nothing
)

// countObs is the number of some keys that existed before a transaction.
type countObs struct {
	keys []int32
	n    int64
}

// model is a history in numbers. A node is a transaction that has committed, or may have.
type model struct {
	h       *History
	verdict *Verdict

	nodes   []*Txn
	first   []int32 // accesses of node i are acc[first[i]:first[i+1]]
	acc     []access
	counts  map[int32][]countObs
	certain []bool              // committed, or observed by a certain node
	held    map[int32][]Problem // of nodes that are not certain

	keyIndex map[string]int32
	names    []string
	sorted   []int32 // keys in order of their names
	written  []bool  // some node or failed transaction may write the key
	byKey    [][]int32

	// values finds the effPut accesses by value; dups holds all of them if there are several.
	values map[valueKey]int32
	dups   map[valueKey][]int32
	// intermediate and failed find the writer of a value that never became visible.
	intermediate, failed map[valueKey]*Txn
	initial              map[int32]string // with InitialUnknown: values observed there
}

type valueKey struct {
	key   int32
	value string
}

func newModel(h *History, v *Verdict) *model {
	m := &model{
		h: h, verdict: v, counts: map[int32][]countObs{}, held: map[int32][]Problem{}, keyIndex: map[string]int32{},
		values: map[valueKey]int32{}, dups: map[valueKey][]int32{},
		intermediate: map[valueKey]*Txn{}, failed: map[valueKey]*Txn{}, initial: map[int32]string{},
	}
	m.internKeys()
	for i := range h.Txns {
		if t := &h.Txns[i]; t.Outcome != Failed {
			m.nodes = append(m.nodes, t)
		}
	}
	// The order of starts gives memory locality: concurrent transactions are adjacent.
	slices.SortStableFunc(m.nodes, func(a, b *Txn) int { return cmp.Compare(a.Start, b.Start) })
	m.certain = make([]bool, len(m.nodes))
	m.first = make([]int32, 1, len(m.nodes)+1)
	w := walker{m: m, at: map[int32]int{}}
	for i, t := range m.nodes {
		m.certain[i] = t.Outcome == Committed
		w.walk(int32(i), t)
		m.first = append(m.first, int32(len(m.acc)))
	}
	m.indexFailed()
	m.indexKeys()
	return m
}

func (m *model) accesses(node int32) []access { return m.acc[m.first[node]:m.first[node+1]] }

func (m *model) intern(name string) int32 {
	k, ok := m.keyIndex[name]
	if !ok {
		k = int32(len(m.names))
		m.keyIndex[name] = k
		m.names = append(m.names, name)
		m.written = append(m.written, false)
	}
	return k
}

func (m *model) internKeys() {
	for i := range m.h.Txns {
		for j := range m.h.Txns[i].Ops {
			op := &m.h.Txns[i].Ops[j]
			switch op.Kind {
			case Scan:
				for _, p := range op.Pairs {
					m.intern(p.Key)
				}
			case DeleteRange:
			default:
				k := m.intern(op.Key)
				m.written[k] = m.written[k] || op.Kind != Read
			}
		}
	}
	m.sorted = make([]int32, len(m.names))
	for i := range m.sorted {
		m.sorted[i] = int32(i)
	}
	slices.SortFunc(m.sorted, func(a, b int32) int { return strings.Compare(m.names[a], m.names[b]) })
}

// between returns the keys of [start, end) in order; an empty end is no bound.
func (m *model) between(start, end string) []int32 {
	find := func(name string) int {
		i, _ := slices.BinarySearchFunc(m.sorted, name, func(k int32, s string) int { return strings.Compare(m.names[k], s) })
		return i
	}
	from, to := find(start), len(m.sorted)
	if end != "" {
		to = find(end)
	}
	return m.sorted[from:max(from, to)]
}

// indexFailed records the values that failed transactions wrote.
func (m *model) indexFailed() {
	for i := range m.h.Txns {
		t := &m.h.Txns[i]
		if t.Outcome != Failed {
			continue
		}
		for _, op := range t.Ops {
			if op.Kind == Write {
				m.failed[valueKey{m.keyIndex[op.Key], op.Value}] = t
			}
		}
	}
}

// indexKeys groups the accesses by key and the written values.
func (m *model) indexKeys() {
	count := make([]int32, len(m.names))
	for i := range m.acc {
		count[m.acc[i].key]++
	}
	all := make([]int32, len(m.acc))
	m.byKey = make([][]int32, len(m.names))
	for k, n := range count {
		m.byKey[k], all = all[:0:n], all[n:]
	}
	for i := range m.acc {
		a := &m.acc[i]
		m.byKey[a.key] = append(m.byKey[a.key], int32(i))
		if a.eff != effPut {
			continue
		}
		id := valueKey{a.key, a.put}
		if other, taken := m.values[id]; !taken {
			m.values[id] = int32(i)
		} else {
			if m.dups[id] == nil {
				m.dups[id] = []int32{other}
			}
			m.dups[id] = append(m.dups[id], int32(i))
		}
	}
}
