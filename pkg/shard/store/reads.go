package store

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// reads are the reads of the log that are in flight.
type reads struct {
	env      *step.Env
	stats    *Stats
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
	r.CSN = s.csn
	return s.ReadAt(r, then)
}

// ReadAt reads the log as of the CSN r.CSN, which may be 0: the empty shard. The versions visible there are
// retained until the result arrives.
//
// The result arrives in a later step; then is called there. It must check whether what it was read for has ended.
func (l *reads) ReadAt(r entry.Read, then func(*entry.ReadResult)) uint64 {
	l.last++
	r.ID = l.last
	// Without reads the bound is reset; otherwise it only rises.
	if len(l.inFlight) == 0 {
		// A bound, not the maximum: computing that at each result would cost more than a few rows that are kept too long.
		l.maxCSN = 0
	}
	l.maxCSN = max(l.maxCSN, r.CSN)
	l.inFlight[r.ID] = pendingRead{r.CSN, then}
	l.env.Out.Reads = append(l.env.Out.Reads, r)
	l.stats.Reads++
	return r.ID
}

// Drop cancels a read whose result is not used any more. The result may have arrived already.
//
// The goroutine that reads may be at it already. Its result is ignored, and the CSN is not retained any more.
func (l *reads) Drop(id uint64) {
	_, ok := l.inFlight[id]
	if ok {
		delete(l.inFlight, id)
		l.env.Out.Dropped = append(l.env.Out.Dropped, id)
	}
}

// Caller is a waiter that knows for which user it waits. A waiter that is not a Caller is a prepared piece.
type Caller interface {
	// Caller returns the user, and whether the waiter is part of a commit.
	Caller() (user kv.Account, commit bool)
}

// callerOf returns the user of a waiter, and whether it is part of a commit.
func callerOf(waiter any) (user kv.Account, commit bool) {
	c, ok := waiter.(Caller)
	if !ok {
		// A prepared piece that waits for its keys after a restart: a commit depends on it.
		return 0, true
	}
	return c.Caller()
}

// OnReadResult delivers the result of a read. The result of a dropped read is ignored.
func (l *reads) OnReadResult(r *entry.ReadResult) {
	p, ok := l.inFlight[r.ID]
	if !ok {
		return
	}
	delete(l.inFlight, r.ID)
	p.then(r)
}

// ReadsInFlight is the number of reads without a result.
func (l *reads) ReadsInFlight() int { return len(l.inFlight) }

// CountReadError counts a failed read whose error is not returned to a caller.
func (l *reads) CountReadError() { l.stats.ReadErrors++ }

// Found decodes the result of reading one key.
func (s *Store) Found(r *entry.ReadResult) (mvcc.Found, error) {
	if r.Err != nil {
		return mvcc.Found{}, r.Err
	}
	// The goroutine that read the log has folded the rows (Fold).
	if f, ok := r.Folded.(mvcc.Found); ok {
		return f, nil
	}
	return mvcc.Fold(s.rowsToFold(r.Rows))
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
		out.Rows[i] = mvcc.RangeRow{Key: row.Key, Value: v, CSN: row.CSN, Partial: partial,
			Paged: entry.IsDirectory(row.Value) || entry.IsPatch(row.Value)}
	}
	return out, nil
}
