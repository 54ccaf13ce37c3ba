package pebblestore

import (
	"bytes"
	"slices"
	"sync"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// A deleted key has rows for as long as its past may be read, ten minutes usually, and pebble's own
// tombstones for a while after that. A scan that begins in front of 300,000 deleted keys would walk
// over all of them, each time. So the store remembers gaps: spans in which a scan has found nothing,
// and over which the next one jumps (docs/decisions/0034-gaps.md).
//
//	gap [start, end) from CSN i: no reader at CSN i, or at a later one, sees a key in it
//
// A gap is true of all that is appended. What could make it false, a row that may be visible, cuts
// the gap before it is applied:
//
//	Append:  begin: cut the gaps, note the keys for the walks in flight
//	         apply
//	         end
//	walk:    register, take the keys of an append that is between begin and end
//	         make the iterator, walk, look up gaps
//	         publish what was walked over, without the keys that were noted
//
// A reader makes its iterator before it looks up a gap: a row that its iterator has was cut out of the
// gap before. Gaps are in memory only: after a restart the first scan finds them again.

// gap is a span of which nothing is visible. An empty end means to the last key.
type gap struct {
	start, end []byte
	from       kv.CSN
	// rows approximates how many rows a scan would walk over.
	rows int
}

func (g *gap) contains(key []byte) bool {
	return bytes.Compare(g.start, key) <= 0 && (len(g.end) == 0 || bytes.Compare(key, g.end) < 0)
}

func (g *gap) bytes() int { return gapOverhead + len(g.start) + len(g.end) }

const (
	// gapRows is the least number of rows for which a gap is remembered: a jump takes as long as a
	// step over some twenty rows. Somewhat arbitrary.
	gapRows = 32
	// gapLag is how many CSNs a gap is behind the newest before it is joined with its neighbours:
	// readers that are not further behind find the older of two gaps still theirs. Somewhat arbitrary.
	gapLag = 1024
	// maxGapBytes bounds the memory for one shard's gaps.
	maxGapBytes = 256 << 10
	gapOverhead = 100
	// maxNoted is how many keys a walk notes before it gives up publishing.
	maxNoted = 1024
)

// gaps are those of all shards.
type gaps struct {
	// least is gapRows, or less in tests.
	least  int
	mu     sync.RWMutex
	shards map[kv.ShardID]*shardGaps
}

func newGaps() *gaps { return &gaps{least: gapRows, shards: map[kv.ShardID]*shardGaps{}} }

func (g *gaps) of(shard kv.ShardID) *shardGaps {
	g.mu.RLock()
	x := g.shards[shard]
	g.mu.RUnlock()
	if x != nil {
		return x
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	x = g.shards[shard]
	if x == nil {
		x = &shardGaps{least: g.least, walks: map[*walk]bool{}}
		g.shards[shard] = x
	}
	return x
}

// end is called when a batch was applied.
func (g *gaps) end(groups []entry.Group) {
	for i := range groups {
		g.of(groups[i].Shard).end()
	}
}

// shardGaps are the gaps of one shard.
type shardGaps struct {
	least int
	mu    sync.Mutex
	// list is in order, and no two overlap; size is its memory.
	list []gap
	size int
	// top is the highest CSN that was appended.
	top   kv.CSN
	walks map[*walk]bool
	// applying are the entries of an append between begin and end.
	applying []entry.Entry
	deleted  sampled
	// swap is held shared by reads of the shard, and alone while its rows are replaced: pebble shows a reader that comes
	// in between the rows of neither before nor after.
	swap sync.RWMutex
}

// walk is a scan that may publish gaps, in span.
type walk struct {
	span kv.Span
	// noted are keys that may have become visible since it began; void: there were too many.
	noted [][]byte
	void  bool
}

// shows reports whether an entry may make a key visible to some reader.
func shows(e *entry.Entry) bool {
	switch {
	case e.Table != entry.TableVersion:
		return false
	case e.Action == entry.Set:
		return !entry.IsTombstone(e.Value) && !entry.IsMoveTombstone(e.Value)
	}
	return e.Action == entry.Delete // of a row that may hide another one
}

// begin cuts what entries make visible out of the gaps, before they are applied. It reports whether
// there is work for a scout.
func (g *shardGaps) begin(entries []entry.Entry) (scout bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.applying = entries
	for i := range entries {
		e := &entries[i]
		if e.Table != entry.TableVersion {
			continue
		}
		if e.Action == entry.Set {
			g.top = max(g.top, e.CSN)
			if entry.IsTombstone(e.Value) {
				scout = g.deleted.delete(e.Key) || scout
			}
		}
		if len(g.list)+len(g.walks) == 0 || !shows(e) {
			continue
		}
		g.cut(e.Key)
		for w := range g.walks {
			w.note(e.Key)
		}
	}
	return scout
}

func (g *shardGaps) end() {
	g.mu.Lock()
	g.applying = nil
	g.mu.Unlock()
}

func (w *walk) note(key []byte) {
	if w.void || !w.span.Contains(key) {
		return
	}
	if len(w.noted) == maxNoted {
		w.void, w.noted = true, nil
		return
	}
	w.noted = append(w.noted, clone(key))
}

// enter registers a walk, before its iterator is made.
func (g *shardGaps) enter(w *walk) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.walks[w] = true
	for i := range g.applying {
		if shows(&g.applying[i]) {
			w.note(g.applying[i].Key)
		}
	}
}

func (g *shardGaps) leave(w *walk) {
	g.mu.Lock()
	delete(g.walks, w)
	g.mu.Unlock()
}

// fresh reports whether a CSN is so new that what is found at it is worth remembering.
func (g *shardGaps) fresh(csn kv.CSN) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return csn >= g.top || g.top-csn <= gapLag
}

// at is the place of the gap that begins last at or before a key, -1 if there is none.
func (g *shardGaps) at(key []byte) int {
	i, ok := slices.BinarySearchFunc(g.list, key, func(x gap, key []byte) int { return bytes.Compare(x.start, key) })
	if ok {
		return i
	}
	return i - 1
}

// jump is the first key from key on that a reader at a CSN may see, as far as the gaps
// say. With last, no key follows.
func (g *shardGaps) jump(key []byte, csn kv.CSN) (to []byte, last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := max(g.at(key), 0); i < len(g.list) && g.list[i].from <= csn && g.list[i].contains(key); i++ {
		key = g.list[i].end
		if len(key) == 0 {
			return nil, true
		}
	}
	return key, false
}

// jumpBack is the key before which a reader at a CSN may see something, as far as the gaps say, of
// what is before key; an empty key is behind the last. jumps: it is another one.
func (g *shardGaps) jumpBack(key []byte, csn kv.CSN) (to []byte, jumps bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := len(g.list) - 1
	if len(key) > 0 {
		i, _ = slices.BinarySearchFunc(g.list, key, func(x gap, key []byte) int { return bytes.Compare(x.start, key) })
		i-- // the last that begins before key
	}
	behind := len(key) == 0
	for ; i >= 0; i-- {
		x := &g.list[i]
		reaches := len(x.end) == 0 || !behind && bytes.Compare(key, x.end) <= 0
		if x.from > csn || !reaches {
			break
		}
		key, jumps, behind = x.start, true, false
	}
	return key, jumps
}

// drop drops all gaps, since other rows are about to become visible. No walk is in flight.
func (g *shardGaps) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list, g.size = nil, 0
}

// publish remembers what a walk has walked over, as far as it is new and is still true.
func (g *shardGaps) publish(w *walk, x gap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.void {
		return
	}
	parts := []gap{x}
	for _, key := range w.noted {
		parts = without(parts, kv.Point(key))
	}
	for _, p := range parts {
		for _, part := range g.uncovered(p) {
			g.insert(part)
		}
	}
	g.shrink()
}

// without cuts a span out of gaps.
func without(parts []gap, span kv.Span) (out []gap) {
	end := span.End
	if span.IsPoint() {
		end = kv.Next(span.Start)
	}
	for _, p := range parts {
		if !kv.Range(p.start, p.end).Overlaps(span) {
			out = append(out, p)
			continue
		}
		if bytes.Compare(p.start, span.Start) < 0 {
			left := p
			left.end = span.Start
			out = append(out, left)
		}
		if len(end) > 0 && (len(p.end) == 0 || bytes.Compare(end, p.end) < 0) {
			right := p
			right.start = end
			out = append(out, right)
		}
	}
	return out
}

// uncovered is what of a gap is not in the list.
func (g *shardGaps) uncovered(x gap) []gap {
	parts := []gap{x}
	for i := max(g.at(x.start), 0); i < len(g.list); i++ {
		old := &g.list[i]
		if len(x.end) > 0 && bytes.Compare(old.start, x.end) >= 0 {
			break
		}
		parts = without(parts, kv.Range(old.start, old.end))
	}
	return parts
}

// insert adds a gap that overlaps with none, and joins those around it for which few readers would be
// too far behind.
func (g *shardGaps) insert(x gap) {
	i := g.at(x.start) + 1
	g.list = slices.Insert(g.list, i, x)
	g.size += x.bytes()
	for i+1 < len(g.list) && g.touches(i) {
		i++
	}
	for i--; i >= 0 && g.touches(i); i-- {
		a, b := &g.list[i], &g.list[i+1]
		if a.from == b.from || max(a.from, b.from)+gapLag <= g.top {
			g.join(i)
		}
	}
}

// touches reports whether the i-th gap ends where the next one begins.
func (g *shardGaps) touches(i int) bool { return bytes.Equal(g.list[i].end, g.list[i+1].start) }

// join makes the i-th gap and the one behind it one.
func (g *shardGaps) join(i int) {
	a, b := &g.list[i], g.list[i+1]
	g.size -= a.bytes() + b.bytes()
	a.end, a.from, a.rows = b.end, max(a.from, b.from), a.rows+b.rows
	g.size += a.bytes()
	g.list = slices.Delete(g.list, i+1, i+2)
}

// shrink keeps the memory within its bound: it joins neighbours, and then forgets the smallest half.
func (g *shardGaps) shrink() {
	if g.size <= maxGapBytes {
		return
	}
	for i := 0; i+1 < len(g.list); {
		if g.touches(i) {
			g.join(i)
		} else {
			i++
		}
	}
	if g.size <= maxGapBytes/2 {
		return
	}
	rows := make([]int, len(g.list))
	for i := range g.list {
		rows[i] = g.list[i].rows
	}
	slices.Sort(rows)
	median := rows[len(rows)/2]
	g.list = slices.DeleteFunc(g.list, func(x gap) bool { return x.rows <= median })
	g.size = 0
	for i := range g.list {
		g.size += g.list[i].bytes()
	}
}

// cut takes a key out of its gap.
func (g *shardGaps) cut(key []byte) {
	i := g.at(key)
	if i < 0 || !g.list[i].contains(key) {
		return
	}
	old := g.list[i]
	g.size -= old.bytes()
	parts := without([]gap{old}, kv.Point(clone(key)))
	if len(parts) == 2 { // what is appended is mostly behind what was deleted
		parts[1].rows /= 2
	}
	parts = slices.DeleteFunc(parts, func(x gap) bool { return x.rows < g.least })
	for _, p := range parts {
		g.size += p.bytes()
	}
	g.list = slices.Replace(g.list, i, i+1, parts...)
}
