package raftlog

import (
	"slices"
	"sort"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
)

// terms are the terms of all entries, in little memory: the first entry of each term, in order. The first element is
// the beginning of the log, if it is not the empty one of a new group.
type terms []entryID

// add adds an entry at the end.
func (t *terms) add(m entryID) {
	if n := len(*t); n == 0 || (*t)[n-1].term != m.term {
		*t = append(*t, m)
	}
}

// at returns the term of an entry, zero before all entries.
func (t terms) at(p consensus.Position) consensus.Term {
	n := t.count(p)
	if n == 0 {
		return 0
	}
	return t[n-1].term
}

// count is the number of elements up to a position.
func (t terms) count(p consensus.Position) int {
	return sort.Search(len(t), func(i int) bool { return t[i].position > p })
}

func (t *terms) cutFrom(p consensus.Position) { *t = (*t)[:t.count(p-1)] }

// cutTo makes the terms begin with an entry.
func (t *terms) cutTo(m entryID) {
	*t = slices.Clone((*t)[t.count(m.position):])
	if len(*t) == 0 || (*t)[0].term != m.term {
		*t = slices.Insert(*t, 0, m)
	} else {
		(*t)[0] = m
	}
}

// sizes are the sums of the sizes of entries, in bytes, up to some positions, in order. The first is the beginning of
// the log.
type sizes []sizeAt

type sizeAt struct {
	position consensus.Position
	bytes    uint64
}

// sizeStep is the precision of sizes, in bytes.
const sizeStep = 64 << 10

// add adds an entry at the end. Between the last two elements are up to sizeStep bytes.
func (s *sizes) add(p consensus.Position, size int) {
	n := len(*s)
	if n == 0 {
		*s = append(*s, sizeAt{p, uint64(size)})
		return
	}
	total := (*s)[n-1].bytes + uint64(size)
	if n > 1 && total-(*s)[n-2].bytes <= sizeStep {
		(*s)[n-1] = sizeAt{p, total}
		return
	}
	*s = append(*s, sizeAt{p, total})
}

// count is the number of elements up to a position.
func (s sizes) count(p consensus.Position) int {
	return sort.Search(len(s), func(i int) bool { return s[i].position > p })
}

func (s *sizes) cutFrom(p consensus.Position) { *s = (*s)[:s.count(p-1)] }

// cutTo makes the sizes begin with the last element up to a position.
func (s *sizes) cutTo(p consensus.Position) { *s = slices.Clone((*s)[max(0, s.count(p)-1):]) }

// upTo is the size of the entries up to a position, less up to sizeStep.
func (s sizes) upTo(p consensus.Position) uint64 {
	n := s.count(p)
	if n == 0 {
		return 0
	}
	return s[n-1].bytes - s[0].bytes
}

// before returns the first known position that at most so many bytes follow.
func (s sizes) before(limit uint64) consensus.Position {
	if len(s) == 0 {
		return 0
	}
	total := s[len(s)-1].bytes
	i := sort.Search(len(s), func(i int) bool { return total-s[i].bytes <= limit })
	return s[i].position
}

// tail is the newest entries: those that replicas apply, and send to followers that are not behind.
type tail struct {
	entries []raftpb.Entry
	// bytes is their size, at most limit unless there is one.
	bytes, limit int
}

// first is the position of the first entry, and beyond all positions if there is none.
func (t *tail) first() consensus.Position {
	if len(t.entries) == 0 {
		return ^consensus.Position(0)
	}
	return consensus.Position(t.entries[0].Index)
}

func (t *tail) add(e *raftpb.Entry) {
	t.entries = append(t.entries, *e)
	t.bytes += e.Size()
	for t.bytes > t.limit && len(t.entries) > 1 {
		t.cutTo(t.first())
	}
}

// cutFrom drops the entries from a position on.
func (t *tail) cutFrom(p consensus.Position) {
	for n := len(t.entries); n > 0 && consensus.Position(t.entries[n-1].Index) >= p; n-- {
		t.bytes -= t.entries[n-1].Size()
		t.entries[n-1] = raftpb.Entry{}
		t.entries = t.entries[:n-1]
	}
}

// cutTo drops the entries up to a position.
func (t *tail) cutTo(p consensus.Position) {
	for len(t.entries) > 0 && t.first() <= p {
		t.bytes -= t.entries[0].Size()
		t.entries[0] = raftpb.Entry{}
		t.entries = t.entries[1:]
	}
}
