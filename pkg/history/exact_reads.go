package history

import (
	"fmt"
	"slices"
)

// bindReads binds every read of a live transaction to a position in its key's chain.
func (x *exact) bindReads() {
	x.includeObserved()
	for i, t := range x.h.Txns {
		if !x.live[i] {
			continue
		}
		for _, r := range t.Reads {
			x.bind(int32(i), r, false)
		}
		for _, s := range t.Scans {
			x.bindScan(int32(i), s)
		}
		for _, a := range t.Results {
			x.bindAnswer(int32(i), a)
		}
	}
	for i, t := range x.h.Txns {
		if t.Outcome == Unknown && !x.live[i] {
			x.verdict.Dropped++
		}
	}
}

// includeObserved makes transactions of unknown outcome live if a live one read their writes, until nothing changes.
func (x *exact) includeObserved() {
	for changed := true; changed; {
		changed = false
		see := func(r SeenVersion) {
			if w, ok := x.versions[versionKey{x.keys[r.Key], r.Version}]; ok {
				t := x.writes[w].txn
				if x.h.Txns[t].Outcome == Unknown && !x.live[t] {
					x.live[t], changed = true, true
				}
			}
		}
		for i, t := range x.h.Txns {
			if !x.live[i] {
				continue
			}
			for _, r := range t.Reads {
				see(r)
			}
			for _, s := range t.Scans {
				for _, r := range s.Seen {
					see(r)
				}
			}
		}
	}
}

func (x *exact) bindScan(txn int32, s SeenRange) {
	seen := make(map[string]bool, len(s.Seen))
	for _, r := range s.Seen {
		if seen[r.Key] || r.Key < s.Start || s.End != "" && r.Key >= s.End {
			x.verdict.add(BadScan, fmt.Sprintf("%s scanned from %q to %q and got %q out of place.", x.describe(txn), s.Start,
				s.End, r.Key))
		}
		seen[r.Key] = true
		x.bind(txn, r, false)
	}
	at, _ := slices.BinarySearch(x.sorted, s.Start)
	for ; at < len(x.sorted) && (s.End == "" || x.sorted[at] < s.End); at++ {
		if name := x.sorted[at]; !seen[name] {
			x.bind(txn, SeenVersion{Key: name}, true)
		}
	}
}

func (x *exact) bind(txn int32, r SeenVersion, ranged bool) {
	k := x.keys[r.Key]
	read := exactRead{txn: txn, key: k, ranged: ranged}
	if r.Version.IsZero() {
		x.bindAbsence(read)
		return
	}
	at, ok := x.versions[versionKey{k, r.Version}]
	if !ok {
		x.verdict.add(GarbageRead, fmt.Sprintf("%s saw version %v of %q, which no transaction made.", x.describe(txn),
			r.Version, r.Key))
		return
	}
	w := &x.writes[at]
	switch {
	case w.txn == txn: // its own write: no dependency
	case w.rank > 0:
		read.rank = w.rank
		x.reads = append(x.reads, read)
	case x.h.Txns[w.txn].Outcome == Failed:
		x.verdict.add(DirtyRead, fmt.Sprintf("%s saw version %v of %q, written by %s, which failed.", x.describe(txn),
			r.Version, r.Key, x.describe(w.txn)))
	case !x.isLast(int(at)):
		x.verdict.add(IntermediateRead, fmt.Sprintf("%s saw version %v of %q, which its writer %s replaced before it ended.",
			x.describe(txn), r.Version, r.Key, x.describe(w.txn)))
	default:
		x.verdict.add(LostWrite, fmt.Sprintf("%s saw version %v of %q, written by %s, "+
			"and it is not among the key's versions.", x.describe(txn), r.Version, r.Key, x.describe(w.txn)))
	}
}

// bindAbsence finds the positions of the chain at which the key is absent. If the transaction deletes the key itself,
// the absence implies nothing.
func (x *exact) bindAbsence(read exactRead) {
	for _, w := range x.h.Txns[read.txn].Writes {
		if w.Deleted && w.Key == x.names[read.key] {
			return
		}
	}
	read.gaps = []int{0}
	for i, w := range x.chains[read.key] {
		if x.writes[w].Deleted {
			read.gaps = append(read.gaps, i+1)
		}
	}
	if len(read.gaps) == 1 {
		read.gaps = nil
	}
	x.reads = append(x.reads, read)
}

// bindAnswer binds a result to its possible positions.
func (x *exact) bindAnswer(txn int32, a SeenResult) {
	read := exactRead{txn: txn, key: x.keys[a.Key], positions: a.Positions}
	switch len(a.Positions) {
	case 0:
		x.verdict.add(GarbageRead, fmt.Sprintf("%s read a result of %q that no version of it gives.", x.describe(txn), a.Key))
		return
	case 1:
	default:
		for i := range a.Positions {
			read.gaps = append(read.gaps, i)
		}
	}
	x.reads = append(x.reads, read)
}
