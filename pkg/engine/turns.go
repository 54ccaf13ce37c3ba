package engine

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Turns is a ReadRange that is read in turns. Between two turns the disk and the processor are free for
// other reads, and the read can be cancelled. Each turn is a Read at the same CSN, so together they return
// the same rows as one Read, whatever is written in between.
type Turns struct {
	read entry.Read
	res  entry.ReadResult
	size int
	// full: a limit is reached. The remaining turns determine whether another row follows.
	full bool
}

// NewTurns starts a read in turns of the given number of rows.
func NewTurns(r entry.Read, rows int) *Turns {
	t := &Turns{read: r, res: entry.ReadResult{ID: r.ID, Kind: r.Kind}}
	t.read.Turn = rows
	return t
}

// Next returns the read of the next turn.
func (t *Turns) Next() entry.Read {
	r := t.read
	switch {
	case t.full:
		r.Limit, r.LimitBytes = 1, 0
	default:
		if r.Limit > 0 {
			r.Limit -= len(t.res.Rows)
		}
		if r.LimitBytes > 0 {
			r.LimitBytes -= t.size
		}
	}
	return r
}

// Add adds the result of a turn, and reports whether the read is complete.
func (t *Turns) Add(res entry.ReadResult) (complete bool) {
	switch {
	case res.Err != nil:
		t.res = entry.ReadResult{ID: t.res.ID, Kind: t.res.Kind, Err: res.Err}
		return true
	case t.full && len(res.Rows) > 0:
		t.res.Resume = ResumeRange(&t.read, &t.res)
		return true
	}
	t.res.Rows = append(t.res.Rows, res.Rows...)
	for i := range res.Rows {
		t.size += len(res.Rows[i].Key) + len(res.Rows[i].Value)
	}
	if !res.Yielded {
		t.res.Resume = res.Resume
		return true
	}
	t.full = len(t.res.Rows) > 0 &&
		(len(t.res.Rows) == t.read.Limit || t.read.LimitBytes > 0 && t.size >= t.read.LimitBytes)
	if t.read.Reverse {
		t.read.Span = kv.Range(t.read.Span.Start, res.Resume)
	} else {
		end := t.read.Span.End
		if t.read.Span.IsPoint() {
			end = kv.Next(t.read.Span.Start)
		}
		t.read.Span = kv.Range(res.Resume, end)
	}
	return false
}

// Result is the result of all turns, once they are complete.
func (t *Turns) Result() entry.ReadResult { return t.res }

// Partial is the result of the turns so far, with Resume after the last row that was looked at: a shorter
// page of the same range.
func (t *Turns) Partial() entry.ReadResult {
	res := t.res
	switch {
	case t.full:
		res.Resume = ResumeRange(&t.read, &t.res)
	case t.read.Reverse:
		res.Resume = t.read.Span.End
	default:
		res.Resume = t.read.Span.Start
	}
	return res
}
