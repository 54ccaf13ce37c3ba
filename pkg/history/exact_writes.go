package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// intern numbers keys and writes.
func (x *exact) intern() {
	n := len(x.h.Txns)
	x.g = newGraph(n)
	x.live = make([]bool, n)
	for i, t := range x.h.Txns {
		x.g.start[i], x.g.end[i] = t.Start, t.End
		if t.Outcome == Unknown {
			x.g.end[i] = Never
		}
		x.live[i] = t.Outcome == Committed
		for _, r := range t.Reads {
			x.key(r.Key)
		}
		for _, s := range t.Scans {
			for _, r := range s.Seen {
				x.key(r.Key)
			}
		}
		for _, a := range t.Results {
			x.key(a.Key)
		}
		for _, w := range t.Writes {
			x.addWrite(int32(i), w)
		}
	}
	for _, stored := range [][]string{slices.Sorted(maps.Keys(x.h.Stored)), slices.Sorted(maps.Keys(x.h.Final))} {
		for _, k := range stored {
			x.key(k)
		}
	}
	x.sorted = slices.Sorted(slices.Values(x.names))
}

func (x *exact) addWrite(txn int32, w MadeVersion) {
	k := x.key(w.Key)
	id := versionKey{k, w.Version}
	if w.Version.IsZero() {
		if x.live[txn] {
			x.verdict.add(LostWrite, fmt.Sprintf("%s committed a write of %q that has no version.", x.describe(txn), w.Key))
		}
		return
	}
	if other, twice := x.versions[id]; twice {
		x.verdict.add(DoubleWrite, fmt.Sprintf("Version %v of %q was made by %s and by %s.",
			w.Version, w.Key, x.describe(x.writes[other].txn), x.describe(txn)))
	}
	if x.h.Stored != nil {
		w.Order = 0
	}
	x.versions[id] = int32(len(x.writes))
	x.writes = append(x.writes, exactWrite{MadeVersion: w, txn: txn, key: k})
}

// orderWrites builds the chains.
func (x *exact) orderWrites() {
	for _, name := range slices.Sorted(maps.Keys(x.h.Stored)) {
		x.orderByStore(name, x.h.Stored[name])
	}
	for i := range x.writes {
		w := &x.writes[i]
		if w.Order == 0 {
			continue
		}
		x.chains[w.key] = append(x.chains[w.key], int32(i))
		switch x.h.Txns[w.txn].Outcome {
		case Unknown:
			x.live[w.txn] = true
		case Failed:
			x.verdict.add(AbortedWrite, fmt.Sprintf("%s failed, and its version %v of %q was applied.", x.describe(w.txn),
				w.Version, w.Key))
		}
	}
	for k, chain := range x.chains {
		slices.SortStableFunc(chain, func(a, b int32) int { return cmp.Compare(x.writes[a].Order, x.writes[b].Order) })
		for i, w := range chain {
			x.writes[w].rank = i + 1
			if i > 0 && x.writes[w].Order == x.writes[chain[i-1]].Order {
				x.verdict.add(DoubleWrite, fmt.Sprintf("Versions %v and %v of %q have the same place %d.",
					x.writes[chain[i-1]].Version, x.writes[w].Version, x.names[k], x.writes[w].Order))
			}
		}
	}
}

// orderByStore orders the writes of one key by the store's chain.
func (x *exact) orderByStore(name string, chain []kv.Version) {
	k := x.key(name)
	for i, v := range chain {
		at, ok := x.versions[versionKey{k, v}]
		switch {
		case !ok:
			x.verdict.add(GarbageRead, fmt.Sprintf("The store holds version %v of %q, which no transaction made.", v, name))
		case x.writes[at].Order != 0:
			x.verdict.add(DoubleWrite, fmt.Sprintf("The store holds version %v of %q, made by %s, twice.", v, name,
				x.describe(x.writes[at].txn)))
		default:
			x.writes[at].Order = int64(i + 1)
		}
	}
}

// checkStored compares the committed writes with the visible ones: the last write of each key by each live transaction,
// and no others.
func (x *exact) checkStored() {
	for i := range x.writes {
		w := &x.writes[i]
		if !x.live[w.txn] {
			continue
		}
		last := x.isLast(i)
		switch {
		case last && w.rank == 0 && x.h.Txns[w.txn].Outcome == Unknown:
			x.verdict.add(HalfApplied, fmt.Sprintf("%s was applied, but its version %v of %q is missing.", x.describe(w.txn),
				w.Version, w.Key))
		case last && w.rank == 0:
			x.verdict.add(LostWrite, fmt.Sprintf("%s committed, but its version %v of %q is missing.", x.describe(w.txn),
				w.Version, w.Key))
		case !last && w.rank > 0:
			x.verdict.add(DoubleWrite,
				fmt.Sprintf("%s replaced its own version %v of %q before it ended, and both were applied.", x.describe(w.txn),
					w.Version, w.Key))
		}
	}
	if x.h.Final == nil {
		return
	}
	for k, chain := range x.chains {
		var want kv.Version
		if len(chain) > 0 {
			want = x.writes[chain[len(chain)-1]].Version
		}
		got, ok := x.h.Final[x.names[k]]
		if !ok && len(chain) > 0 && x.writes[chain[len(chain)-1]].Deleted {
			continue // a tombstone may have been collected
		}
		if got != want {
			x.verdict.add(WrongFinalState, fmt.Sprintf("The store ends with version %v of %q; the last write made %v.", got,
				x.names[k], want))
		}
	}
}

// isLast reports whether write i is its transaction's last to its key. The writes of one transaction are adjacent.
func (x *exact) isLast(i int) bool {
	for j := i + 1; j < len(x.writes) && x.writes[j].txn == x.writes[i].txn; j++ {
		if x.writes[j].key == x.writes[i].key {
			return false
		}
	}
	return true
}

func (x *exact) describe(txn int32) string {
	t := &x.h.Txns[txn]
	label := t.Label
	if label == "" {
		label = fmt.Sprintf("T%d", txn)
	}
	return fmt.Sprintf("%s (client %d, %s)", label, t.Client, intervalText(t.Start, x.g.end[txn]))
}
