package mvcc

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// garbageRow records that the version of key at oldCSN was replaced at replacedAt, by a whole value
// or a tombstone.
type garbageRow struct {
	key                []byte
	oldCSN, replacedAt kv.CSN
	// below are older rows, ascending, that were replaced together with it: the rest of its chain.
	// Each can be seen by reads from its own CSN up to replacedAt.
	below []kv.CSN
	// tombstone: the version at replacedAt is a tombstone, which becomes garbage as well.
	tombstone bool
	// page, if not 0, is a page of the key's value that was referenced from oldCSN up to replacedAt;
	// then the row is about this page and not about a version.
	page uint64
}

// rowCount returns the number of stored rows that n covers.
func (n *garbageRow) rowCount() int { return 1 + len(n.below) }

// Garbage lists replaced versions and dropped pages in the order of replacement, until they can be
// removed. The list has a limit: beyond it the older half is discarded, and only a sweep of the
// shard's rows finds those.
//
//	CSN      3      5        8      9
//	key k    v1     v2 ······v3 ··········      v2 was replaced at 8
//	                   ▲                 ▲
//	                   retained CSN 6    GC safe point
//
// A read at 6 sees v2, so v2 is blocked by the retained CSN 6. v1 is not seen and is removed.
type Garbage struct {
	// fresh are the entries that have not been classified, ascending by replacedAt.
	fresh []garbageRow
	// blocked are the entries that a retained CSN can see, by the newest such CSN.
	blocked  map[kv.CSN][]garbageRow
	rowCount int // rows in fresh and blocked
	limit    int
	// Lost counts the discarded entries, which only a sweep finds. An earlier incarnation of the
	// shard may have left some as well.
	Lost uint64
}

// NewGarbage makes a list of at most limit rows. lost: a restart has lost the list of the previous
// incarnation.
func NewGarbage(limit int, lost bool) *Garbage {
	g := &Garbage{limit: limit, blocked: map[kv.CSN][]garbageRow{}}
	if lost {
		g.Lost = 1
	}
	return g
}

// AddReplaced adds the version of key at old, which was replaced at CSN at, and the rows of its chain
// in below. If old is 0, only below was replaced. It retains key and below, which must not change.
func (g *Garbage) AddReplaced(key []byte, below []kv.CSN, old, at kv.CSN, tombstone bool) {
	if old == 0 && len(below) == 0 && !tombstone {
		return
	}
	g.add(garbageRow{key: key, oldCSN: old, replacedAt: at, below: below, tombstone: tombstone})
}

// AddDroppedPages adds pages that the value of key no longer references from CSN at on. A page can be seen
// by a read of any version that references it. It retains key.
func (g *Garbage) AddDroppedPages(key []byte, pages []entry.PageRef, at kv.CSN) {
	for _, p := range pages {
		g.add(garbageRow{key: key, oldCSN: p.FirstCSN, replacedAt: at, page: p.ID})
	}
}

// AddUnlisted records that there are versions or pages which are in no list.
func (g *Garbage) AddUnlisted() { g.Lost++ }

// add appends an entry to the list and keeps it within its limit.
func (g *Garbage) add(x garbageRow) {
	if g.rowCount >= g.limit {
		g.discardHalf()
	}
	g.rowCount += x.rowCount()
	g.fresh = append(g.fresh, x)
}

// discardHalf discards blocked entries first, since they cannot be removed soon, then the oldest
// fresh ones until half of the limit is left.
//
// A sweep finds what is discarded, at the cost of reading the shard's rows. So the list need not be long enough for
// the longest snapshot.
func (g *Garbage) discardHalf() {
	before, drop := g.rowCount, 0
	// Blocked entries wait for snapshots that may be retained for long; fresh ones can be removed at
	// the next Collect.
	clear(g.blocked)
	g.rowCount = 0
	for i := range g.fresh {
		g.rowCount += g.fresh[i].rowCount()
	}
	for ; g.rowCount > g.limit/2; drop++ {
		g.rowCount -= g.fresh[drop].rowCount()
	}
	g.fresh = append(g.fresh[:0], g.fresh[drop:]...)
	g.Lost += uint64(before - g.rowCount)
}

// Len returns the number of rows in the list.
func (g *Garbage) Len() int { return g.rowCount }

// UnclassifiedCount returns the number of entries not yet classified: at the last Collect they were above the
// safe point.
func (g *Garbage) UnclassifiedCount() int { return len(g.fresh) }

// Collect returns the entries that remove everything no read can see. Reads happen at the CSNs in
// retained (ascending), and at safePoint or above. There is one entry per version, or one per key
// with many versions.
//
// The entries are sorted by key, so that those of one key are combined, and the log appends them in its own order.
func (g *Garbage) Collect(safePoint kv.CSN, retained []kv.CSN) []entry.Entry {
	var ready []garbageRow
	n := 0
	for n < len(g.fresh) && g.fresh[n].replacedAt <= safePoint {
		ready = g.classify(ready, g.fresh[n], retained)
		n++
	}
	if n > 0 {
		// A copy: the removed rows refer to keys and chains, which would stay in memory with the array.
		g.fresh = append([]garbageRow(nil), g.fresh[n:]...)
	}
	ready = g.reclassify(ready, retained)
	slices.SortStableFunc(ready, func(a, b garbageRow) int { return bytes.Compare(a.key, b.key) })
	out := make([]entry.Entry, 0, len(ready))
	for i := 0; i < len(ready); {
		j := i
		for j < len(ready) && bytes.Equal(ready[j].key, ready[i].key) {
			j++
		}
		out = appendRemovals(out, ready[i:j], retained)
		i = j
	}
	return out
}

// reclassify processes the blocked entries whose CSN is no longer retained.
//
// Each is either ready now, or blocked by an older retained CSN that sees it as well.
func (g *Garbage) reclassify(ready []garbageRow, retained []kv.CSN) []garbageRow {
	var released []kv.CSN
	for k := range g.blocked {
		if _, is := slices.BinarySearch(retained, k); !is {
			released = append(released, k)
		}
	}
	slices.Sort(released)
	for _, k := range released {
		rows := g.blocked[k]
		delete(g.blocked, k)
		for _, x := range rows {
			ready = g.classify(ready, x, retained)
		}
	}
	return ready
}

// classify appends an entry to ready, or blocks it under the newest retained CSN that sees it. An
// entry with a chain is split: the rows that this CSN does not see are ready. A tombstone is
// blocked by every retained CSN below it: without the tombstone, a read above it would see the
// older version that this CSN retains.
func (g *Garbage) classify(ready []garbageRow, x garbageRow, retained []kv.CSN) []garbageRow {
	// A read at a retained CSN below replacedAt may see what x names; one at or above sees the newer
	// version.
	i, _ := slices.BinarySearch(retained, x.replacedAt)
	g.rowCount -= x.rowCount()
	if i == 0 {
		return append(ready, x)
	}
	// Only the newest of these CSNs decides: while it is retained, x stays; afterwards x is
	// classified again.
	newest := retained[i-1]
	seen, _ := slices.BinarySearch(x.below, newest+1)
	released := garbageRow{key: x.key, replacedAt: x.replacedAt, below: x.below[seen:], page: x.page}
	if x.oldCSN > newest {
		released.oldCSN, x.oldCSN = x.oldCSN, 0
	}
	if released.oldCSN > 0 || len(released.below) > 0 {
		ready = append(ready, released)
	}
	x.below = x.below[:seen]
	if x.oldCSN == 0 && seen == 0 && !x.tombstone {
		return ready
	}
	g.rowCount += x.rowCount()
	g.blocked[newest] = append(g.blocked[newest], x)
	return ready
}

// singleRemovalsMax is the number of versions of a key that are removed by one entry each. More are
// removed by one range deletion, for which the store must search. The value is not critical.
const singleRemovalsMax = 8

// appendRemovals appends the log entries that remove the versions and pages of one key.
func appendRemovals(out []entry.Entry, rows []garbageRow, retained []kv.CSN) []entry.Entry {
	if !slices.ContainsFunc(rows, func(n garbageRow) bool { return n.page != 0 }) {
		return appendVersionRemovals(out, rows, retained)
	}
	var versions []garbageRow
	for i := range rows {
		// A page has no tombstone and is named by one row, so it is removed by its number.
		if n := &rows[i]; n.page == 0 {
			versions = append(versions, *n)
		} else {
			out = append(out, entry.Entry{Action: entry.Delete, Table: entry.TablePage, Key: entry.PageKey(n.key, n.page)})
		}
	}
	if len(versions) == 0 {
		return out
	}
	return appendVersionRemovals(out, versions, retained)
}

// appendVersionRemovals appends the log entries that remove the versions of one key. A tombstone is
// removed together with all versions below it, listed or not: a version that was discarded from the
// list would otherwise become visible again.
//
//	rows of k                v at 3, v at 5, tombstone at 8; v at 3 was discarded from the list
//	removed one by one       v at 5, tombstone: a read of k now finds v at 3
//	DeleteBelow 9            all of them
func appendVersionRemovals(out []entry.Entry, rows []garbageRow, retained []kv.CSN) []entry.Entry {
	below, removeBelow, last, covered := kv.CSN(0), kv.CSN(0), kv.CSN(0), 0
	for i := range rows {
		n := &rows[i]
		below, last, covered = max(below, n.newestRow()+1), max(last, n.replacedAt), covered+n.rowCount()
		if n.tombstone {
			removeBelow = max(removeBelow, n.replacedAt+1)
		}
	}
	// DeleteBelow removes unlisted rows as well, so it is used only if no retained CSN is below the
	// newest removed row.
	if covered > singleRemovalsMax && (len(retained) == 0 || retained[0] >= last) {
		removeBelow = max(removeBelow, below)
	}
	e := entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: rows[0].key, CSN: removeBelow}
	if removeBelow > 0 {
		out = append(out, e)
	}
	e.Action = entry.Delete
	remove := func(i kv.CSN) {
		e.CSN = i
		if i >= removeBelow && i > 0 {
			out = append(out, e)
		}
	}
	for i := range rows {
		for _, b := range rows[i].below {
			remove(b)
		}
		remove(rows[i].oldCSN)
	}
	return out
}

// newestRow returns the CSN of the newest row that n covers, 0 if it covers none.
func (n *garbageRow) newestRow() kv.CSN {
	if n.oldCSN == 0 && len(n.below) > 0 {
		return n.below[len(n.below)-1]
	}
	return n.oldCSN
}
