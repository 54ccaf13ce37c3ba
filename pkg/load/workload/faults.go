package workload

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// DownNode is a node that was known to be down, with the part of the store on it, and
// how many transactions and scans that needed it failed, or have no known outcome, because
// of it.
type DownNode struct {
	Node    uint32   `json:"node"`
	Address string   `json:"address"`
	Shards  []uint32 `json:"shards"`
	// Hot: the hot shard is one of them.
	Hot bool `json:"hot"`
	// Keyspace is how much of the keyspace has its home there.
	Keyspace     float64 `json:"keyspace_percent"`
	Transactions uint64  `json:"transactions"`
}

// contender is an error that knows whether others wanted the same keys; client.Error is
// one.
type contender interface {
	error
	Contended() bool
}

// contended reports whether a transaction failed because others wanted its keys, or left
// them in a state in which it could not do what it should.
func contended(err error) bool {
	c, ok := errors.AsType[contender](err)
	if ok {
		return c.Contended()
	}
	switch kv.KindOf(err) {
	case kv.KindAborted, kv.KindConditionFailed, kv.KindOutOfRange:
		return true
	}
	return false
}

// faults are the failures that do not come of contention.
type faults struct {
	kinds map[kv.Kind]uint64
	down  map[kv.NodeID]*downCount
}

type downCount struct {
	kv.Down
	transactions uint64
}

func newFaults() faults {
	return faults{kinds: map[kv.Kind]uint64{}, down: map[kv.NodeID]*downCount{}}
}

// add counts the error of a transaction that did not commit.
func (f *faults) add(err error) {
	if contended(err) {
		return
	}
	f.kinds[kv.KindOf(err)]++
	e, ok := errors.AsType[*kv.Error](err)
	if ok && e.Down != nil {
		f.of(*e.Down).transactions++
	}
}

func (f *faults) of(d kv.Down) *downCount {
	if f.down[d.Node] == nil {
		f.down[d.Node] = &downCount{Down: d}
	}
	return f.down[d.Node]
}

func (f *faults) merge(o *faults) {
	for k, n := range o.kinds {
		f.kinds[k] += n
	}
	f.mergeDown(o)
}

func (f *faults) mergeDown(o *faults) {
	for _, d := range o.down {
		f.of(d.Down).transactions += d.transactions
	}
}

// nodes lists those that were down, by number.
func (f *faults) nodes() []DownNode {
	var out []DownNode
	for _, n := range slices.Sorted(maps.Keys(f.down)) {
		d := f.down[n]
		node := DownNode{Node: uint32(n), Address: d.Address, Shards: []uint32{}, Hot: d.Hot, Keyspace: d.Keyspace,
			Transactions: d.transactions}
		for _, s := range d.Shards {
			node.Shards = append(node.Shards, uint32(s))
		}
		out = append(out, node)
	}
	return out
}

// String says which node and what was on it.
func (d *DownNode) String() string {
	down := kv.Down{Node: kv.NodeID(d.Node), Address: d.Address, Hot: d.Hot, Keyspace: d.Keyspace}
	for _, s := range d.Shards {
		down.Shards = append(down.Shards, kv.ShardID(s))
	}
	return down.String()
}

// Fault says which transactions failed, or have no known outcome, and which scans failed,
// for other reasons than that others wanted the same keys, and which nodes were down; "" if
// none did.
func (r *Result) Fault() string {
	const why = "for other reasons than contention"
	var parts []string
	total, kinds := countsOf(r.Faults)
	if total > 0 {
		all := r.All.Committed + r.All.Failed + r.All.Unknown
		parts = append(parts, fmt.Sprintf("%d of %d transactions did not commit %s: %s", total, all, why, kinds))
	}
	total, kinds = countsOf(r.Scans.Faults)
	if total > 0 {
		all := r.Scans.Complete + r.Scans.CutShort + r.Scans.Failed
		parts = append(parts, fmt.Sprintf("%d of %d scans failed %s: %s", total, all, why, kinds))
	}
	for i := range r.Down {
		parts = append(parts, r.Down[i].String())
	}
	return strings.Join(parts, "; ")
}

// countsOf sums counts up, and says what of, the greatest first.
func countsOf(counts map[string]uint64) (total uint64, text string) {
	var parts []string
	for _, k := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b],
			counts[a]), strings.Compare(a, b))
	}) {
		total += counts[k]
		parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
	}
	return total, strings.Join(parts, ", ")
}

// writeDown writes which nodes were down.
func (r *Result) writeDown(b *bytes.Buffer) {
	if len(r.Down) == 0 {
		return
	}
	b.WriteString("\nnodes that were down\n")
	for i := range r.Down {
		d := &r.Down[i]
		fmt.Fprintf(b, "  %s: %d transactions\n", d, d.Transactions)
	}
}
