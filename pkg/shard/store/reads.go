package store

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// reads are the reads of the log that have no answer yet.
type reads struct {
	under map[uint64]pending
	last  uint64
	// top is no less than any index of these.
	top kv.Index
}

// pending is one, at an index, and who takes the answer.
type pending struct {
	index kv.Index
	then  func(*entry.ReadResult)
}

// Read reads the log as of the current index. It returns the number of the read.
func (s *Store) Read(r entry.Read, then func(*entry.ReadResult)) uint64 {
	r.Index = s.index
	return s.ReadAt(r, then)
}

// ReadAt reads the log as of the index that r names, which may be 0: the empty shard.
// What is visible there is kept until the answer comes.
func (s *Store) ReadAt(r entry.Read, then func(*entry.ReadResult)) uint64 {
	s.reads.last++
	r.ID = s.reads.last
	if len(s.reads.under) == 0 {
		s.reads.top = 0
	}
	s.reads.top = max(s.reads.top, r.Index)
	s.reads.under[r.ID] = pending{r.Index, then}
	s.env.Out.Reads = append(s.env.Out.Reads, r)
	s.stats.Reads++
	return r.ID
}

// Drop gives up a read, of which no answer is used any more. Another one may have come already.
func (s *Store) Drop(id uint64) {
	_, ok := s.reads.under[id]
	if ok {
		delete(s.reads.under, id)
		s.env.Out.Dropped = append(s.env.Out.Dropped, id)
	}
}

// Caller is a waiter that knows for whom it waits. Others are promises of commits.
type Caller interface {
	// Caller is a user, and whether a commit waits.
	Caller() (user kv.Account, commit bool)
}

// callerOf is for whom a waiter waits.
func callerOf(waiter any) (user kv.Account, commit bool) {
	c, ok := waiter.(Caller)
	if !ok {
		return 0, true
	}
	return c.Caller()
}

// Answered takes the answer to a read.
func (s *Store) Answered(r *entry.ReadResult) {
	p, ok := s.reads.under[r.ID]
	if !ok {
		return
	}
	delete(s.reads.under, r.ID)
	p.then(r)
}

// Reading is how many reads have no answer yet.
func (s *Store) Reading() int { return len(s.reads.under) }

// Failed counts a read that has failed and is not told to anybody.
func (s *Store) Failed() { s.stats.ReadErrors++ }

// Found decodes the answer about one key.
func (s *Store) Found(r *entry.ReadResult) (mvcc.Found, error) {
	if r.Err != nil {
		return mvcc.Found{}, r.Err
	}
	if f, ok := r.Folded.(mvcc.Found); ok {
		return f, nil
	}
	rows := r.Rows
	switch n := len(rows); {
	case n > 1 && s.env.Mutants.Has(mutant.DeltaTwice):
		rows = append([]entry.Row{rows[0]}, rows...)
	case n > 2 && s.env.Mutants.Has(mutant.DeltaMissed):
		rows = append(append([]entry.Row(nil), rows[:n-2]...), rows[n-1])
	}
	return mvcc.Fold(rows)
}

// Fold makes the value of a chain that has been read, which takes up to a tenth of a second
// if it is large. A reader may call it before it answers, so that the shard does not stand
// still for as long. What cannot be folded is left to the shard, which tells why.
func Fold(r *entry.ReadResult) {
	if r.Kind != entry.ReadKey || r.Err != nil {
		return
	}
	f, err := mvcc.Fold(r.Rows)
	if err == nil {
		adt.Remember(&f.Value)
		r.Folded = f
	}
}

// RangeRows decodes the answer about a range.
func RangeRows(r *entry.ReadResult) (out mvcc.RangeRows, err error) {
	if r.Err != nil {
		return out, r.Err
	}
	out.Resume = r.Resume
	out.Rows = make([]mvcc.RangeRow, len(r.Rows))
	for i, row := range r.Rows {
		v, partial, err := entry.DecodeHead(row.Value)
		if err != nil {
			return out, err
		}
		out.Rows[i] = mvcc.RangeRow{Key: row.Key, Value: v, Index: row.Index, Partial: partial,
			Paged: entry.IsDirectory(row.Value) || entry.IsPatch(row.Value)}
	}
	return out, nil
}
