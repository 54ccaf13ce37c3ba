package store

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// reads are the reads of the log that are in flight.
type reads struct {
	inFlight map[uint64]pendingRead
	last     uint64
	// maxCSN is an upper bound of their CSNs.
	maxCSN kv.CSN
}

// pendingRead is a read in flight at a CSN, and the function that receives the result.
type pendingRead struct {
	csn  kv.CSN
	then func(*entry.ReadResult)
}

// Read reads the log as of the current CSN. It returns the number of the read, for Drop.
func (s *Store) Read(r entry.Read, then func(*entry.ReadResult)) uint64 {
	r.Index = s.csn
	return s.ReadAt(r, then)
}

// ReadAt reads the log as of the CSN r.Index, which may be 0: the empty shard. The versions visible there are
// retained until the result arrives.
func (s *Store) ReadAt(r entry.Read, then func(*entry.ReadResult)) uint64 {
	s.reads.last++
	r.ID = s.reads.last
	// Without reads the bound is reset; otherwise it only rises.
	if len(s.reads.inFlight) == 0 {
		s.reads.maxCSN = 0
	}
	s.reads.maxCSN = max(s.reads.maxCSN, r.Index)
	s.reads.inFlight[r.ID] = pendingRead{r.Index, then}
	s.env.Out.Reads = append(s.env.Out.Reads, r)
	s.stats.Reads++
	return r.ID
}

// Drop cancels a read whose result is not used any more. The result may have arrived already.
func (s *Store) Drop(id uint64) {
	_, ok := s.reads.inFlight[id]
	if ok {
		delete(s.reads.inFlight, id)
		s.env.Out.Dropped = append(s.env.Out.Dropped, id)
	}
}

// Caller is a waiter that knows for which user it waits. A waiter that is not a Caller is a prepared piece.
type Caller interface {
	// Caller returns the user, and whether the waiter is part of a commit.
	Caller() (user kv.Account, commit bool)
}

// callerOf returns the user for whom a waiter waits, and whether it is part of a commit.
func callerOf(waiter any) (user kv.Account, commit bool) {
	c, ok := waiter.(Caller)
	if !ok {
		return 0, true
	}
	return c.Caller()
}

// OnReadResult delivers the result of a read. The result of a dropped read is ignored.
func (s *Store) OnReadResult(r *entry.ReadResult) {
	p, ok := s.reads.inFlight[r.ID]
	if !ok {
		return
	}
	delete(s.reads.inFlight, r.ID)
	p.then(r)
}

// ReadsInFlight is the number of reads without a result.
func (s *Store) ReadsInFlight() int { return len(s.reads.inFlight) }

// CountReadError counts a failed read whose error is not returned to a caller.
func (s *Store) CountReadError() { s.stats.ReadErrors++ }

// Found decodes the result of reading one key.
func (s *Store) Found(r *entry.ReadResult) (mvcc.Found, error) {
	if r.Err != nil {
		return mvcc.Found{}, r.Err
	}
	// The goroutine that read the log has folded the rows (Fold).
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

// Fold computes the value of a chain of rows, which takes up to 100 ms if the value is large. The goroutine
// that reads the log may call it before it delivers the result, so that the shard is not blocked for that
// time. If it fails, the shard folds the rows again and returns the error.
func Fold(r *entry.ReadResult) {
	if r.Kind != entry.ReadKey || r.Err != nil {
		return
	}
	f, err := mvcc.Fold(r.Rows)
	if err == nil {
		adt.CacheState(&f.Value)
		r.Folded = f
	}
}

// RangeRows decodes the result of reading a range.
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
		out.Rows[i] = mvcc.RangeRow{Key: row.Key, Value: v, CSN: row.Index, Partial: partial,
			Paged: entry.IsDirectory(row.Value) || entry.IsPatch(row.Value)}
	}
	return out, nil
}
