package shard

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// collect removes versions that nobody can read any more.
func (m *Machine) collect() {
	m.collected, m.collectedTo = m.now, m.floorIndex()
	m.out.Entries = append(m.out.Entries, m.garbage.Collect(m.floorIndex(), m.keptIndexes())...)
}

// sweeps walk all versions of the shard, a piece at a time, and remove what the
// notes of garbage have forgotten, as far as it is below every kept index.
type sweeps struct {
	// lost is how many notes had been forgotten when the last sweep began, and
	// upTo the index above which none of their versions is.
	lost uint64
	upTo kv.Index
	// seen is how many had been when the shard last looked: then it set upTo.
	seen uint64
	// under way: from is where the next piece begins, at horizon. reading: a
	// piece is being read. ended is when the last sweep ended, with its horizon.
	active, reading bool
	from            []byte
	horizon         kv.Index
	ended           int64
	// left is how many pieces may follow at once.
	left int
}

const (
	// sweepRows is how many versions one piece of a sweep looks at.
	sweepRows = 2000
	// sweepAgain is the least time between two sweeps when what was lost is
	// still seen at some pin.
	sweepAgain = 2 * time.Minute
	// sweepAhead is how many rows are swept for each lost note, sweepMost how
	// many pieces at most a second. Somewhat arbitrary: of the rows of a store
	// that is written evenly, and keeps a history, a third may be garbage.
	sweepAhead, sweepMost = 4, 50
)

// tickSweeps begins a sweep, or goes on with it; once a second.
func (m *Machine) tickSweeps() {
	s := &m.sweeps
	if m.garbage.Lost != s.seen {
		s.left = min(int(m.garbage.Lost-s.seen)*sweepAhead/sweepRows, sweepMost)
		s.seen, s.upTo = m.garbage.Lost, m.index
	}
	if !s.active {
		h := m.horizon()
		waits := h < s.upTo && s.ended != 0 && m.now < s.ended+int64(sweepAgain)
		if s.lost == m.garbage.Lost && s.upTo == 0 || h <= s.horizon || waits {
			return
		}
		s.active, s.from, s.horizon, s.lost = true, nil, h, m.garbage.Lost
	}
	if !s.reading {
		m.sweep()
	}
}

// sweepsLeft reports whether there is, or will be, something to sweep.
func (m *Machine) sweepsLeft() bool {
	return m.sweeps.active || m.garbage.Lost != m.sweeps.lost || m.sweeps.upTo != 0
}

// sweep looks at a piece of the shard's rows.
func (m *Machine) sweep() {
	s := &m.sweeps
	s.reading = true
	m.askAt(entry.Read{Kind: entry.ReadGarbage, Table: entry.TableVersion, Span: kv.Range(s.from, nil), Index: s.horizon, Limit: sweepRows},
		&coldRead{then: m.swept})
}

func (m *Machine) swept(r *entry.ReadResult) {
	s := &m.sweeps
	s.reading = false
	if r.Err != nil {
		m.stats.ReadErrors++
		return
	}
	for _, g := range r.Garbage {
		m.write(entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: g.Key, Index: g.Below})
	}
	m.stats.Swept += uint64(len(r.Garbage))
	s.from = slices.Clone(r.Resume)
	if r.Resume != nil {
		if s.left > 0 {
			s.left--
			m.sweep()
		}
		return
	}
	s.active, s.ended = false, m.now
	if s.lost == m.garbage.Lost && s.horizon >= s.upTo {
		s.upTo = 0
	}
}
