package pebblestore

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// rangeWalk is a turn of a read of a range. It jumps over gaps, and leaves behind those that it finds.
type rangeWalk struct {
	*cursor
	gaps *shardGaps
	span kv.Span
	// registered is nil if it publishes nothing: it is of the past, or goes backwards.
	registered *walk
	// start is where the gap begins that it is in: from there on nothing is visible at CSN from, or
	// later. at is what had been looked at when it began.
	// beside: it begins where another gap ends.
	start  []byte
	from   kv.CSN
	at     int
	beside bool
	// dead counts the keys since the gaps were looked up last.
	dead int
}

// lookAgain is after how many keys that are not visible the gaps are looked up again.
const lookAgain = 8

// walk begins a walk over a range.
func (s *Store) walk(shard kv.ShardID, r *entry.Read) (*rangeWalk, error) {
	w := &rangeWalk{gaps: s.gaps.of(shard), span: r.Span}
	if w.span.IsPoint() {
		w.span = kv.Range(w.span.Start, kv.Next(w.span.Start))
	}
	// A filter passes over blocks of which all is too new for the reader. Then nothing would be known of
	// what newer readers see.
	var filters []pebble.BlockPropertyFilter
	if !w.gaps.fresh(r.CSN) {
		filters = append(filters, csnFilter(r.CSN))
	} else if !r.Reverse {
		w.registered = &walk{span: w.span}
		w.gaps.enter(w.registered)
	}
	var err error
	w.cursor, err = s.cursor(shard, r, filters...)
	if err != nil {
		w.end()
		return nil, err
	}
	w.begin(w.span.Start)
	return w, nil
}

// begin begins a gap at a key.
func (w *rangeWalk) begin(key []byte) {
	w.start, w.from, w.at, w.beside = append(w.start[:0], key...), 0, w.pause.rows, false
}

// beginBehind begins a gap behind a key.
func (w *rangeWalk) beginBehind(key []byte) {
	w.begin(key)
	w.start = append(w.start, 0)
}

// publish ends the gap at a key, which is not part of it.
func (w *rangeWalk) publish(end []byte) { w.publishFrom(end, w.gaps.least) }

// publishFrom does so if it has at least so many rows.
func (w *rangeWalk) publishFrom(end []byte, least int) {
	rows := w.pause.rows - w.at
	if w.registered == nil || rows < least || w.err != nil || w.it.Error() != nil || kv.Range(w.start, end).IsEmpty() {
		return
	}
	w.gaps.publish(w.registered, gap{start: clone(w.start), end: clone(end), from: w.from, rows: rows})
}

func (w *rangeWalk) end() {
	if w.registered != nil {
		w.gaps.leave(w.registered)
	}
}

// first goes to the first key that may be visible.
func (w *rangeWalk) first(reverse bool) {
	if !reverse {
		w.jump(w.span.Start)
		return
	}
	to, jumps := w.gaps.jumpBack(w.span.End, w.cursor.at)
	if jumps {
		w.seekBefore(to)
	} else {
		w.last()
	}
}

// next goes to the next key that may be visible; seen: the one that it is at is.
func (w *rangeWalk) next(reverse, seen bool) {
	if seen || w.hidden {
		w.publish(w.user)
		w.beginBehind(w.user)
		w.dead = 0
	} else {
		w.from = max(w.from, w.newest)
		w.dead++
	}
	if w.dead < lookAgain {
		w.step(reverse)
		return
	}
	w.dead = 0
	if !reverse {
		w.jump(w.user)
		return
	}
	to, _ := w.gaps.jumpBack(w.user, w.cursor.at)
	w.seekBefore(to)
}

func (w *rangeWalk) step(reverse bool) {
	if reverse {
		w.cursor.previous()
	} else {
		w.cursor.next()
	}
}

// jump goes over the gaps that a key, at which it is or is to begin, is in.
func (w *rangeWalk) jump(from []byte) {
	to, last := w.gaps.jump(from, w.cursor.at)
	begun := w.valid || w.ok
	switch {
	case last:
		w.publish(from)
		w.ok = false
		w.begin(w.span.End)
	case bytes.Equal(to, from) && begun:
		w.cursor.next()
	default:
		switch {
		case begun && w.beside: // a hole between two gaps
			w.publishFrom(kv.Next(from), 1)
		case begun:
			w.publish(kv.Next(from))
		}
		w.begin(to)
		w.beside = !bytes.Equal(to, from)
		w.seekTo(to)
	}
}

func (s *Store) readRange(shard kv.ShardID, r *entry.Read, res *entry.ReadResult) error {
	w, err := s.walk(shard, r)
	if err != nil {
		return err
	}
	defer w.end()
	defer func() { s.looked.Add(uint64(w.pause.rows)) }()
	size, full, seen := 0, false, false
	for w.first(r.Reverse); w.ok; w.next(r.Reverse, seen) {
		seen = false
		if w.visible {
			value, live, err := w.live()
			if err != nil {
				_ = w.close()
				return err
			}
			seen = live && !entry.IsMoveTombstone(value)
			if seen && full {
				// Another live row follows, so there is something to resume.
				res.Resume = engine.ResumeRange(r, res)
				break
			}
			if seen {
				res.Rows = append(res.Rows, entry.Row{Key: clone(w.user), CSN: w.csn, Value: clone(value)})
				size += len(w.user) + len(value)
				full = len(res.Rows) == r.Limit || (r.LimitBytes > 0 && size >= r.LimitBytes)
				w.pause.copied(len(value))
			}
		}
		if w.pause.over(r.Turn) {
			res.Yielded, res.Resume = true, engine.ResumeTurn(r, clone(w.user))
			break
		}
	}
	switch {
	case !w.ok: // all of the span
		w.publish(w.span.End)
	case seen || w.hidden:
		w.publish(w.user)
	default:
		w.from = max(w.from, w.newest)
		w.publish(kv.Next(w.user))
	}
	return w.close()
}
