package pebblestore

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// cursor walks the keys of a span and, within a key, its versions from the
// newest at or below a CSN.
//
//	c.first()
//	for c.ok {
//	    newest version of c.user at or below the CSN, if c.visible
//	    c.next()
//	}
type cursor struct {
	it    *pebble.Iterator
	shard kv.ShardID
	at    kv.CSN

	// ok: the walk is at a key, c.user. visible: the iterator is at its newest
	// version with a CSN at or below at; else it is behind all its versions.
	ok, visible bool
	user        []byte
	csn         kv.CSN

	// newest is the CSN of the newest version of the key, hidden: that is one above at, and may be
	// visible to others.
	newest kv.CSN
	hidden bool

	// valid: the iterator is at a stored key.
	valid bool
	pause pause
	// scratch for seeks and for the key being left.
	seek, left []byte
	err        error
}

func (s *Store) cursor(shard kv.ShardID, r *entry.Read, filters ...pebble.BlockPropertyFilter) (_ *cursor, err error) {
	lower, upper := enginekey.Bounds(shard, entry.TableVersion, r.Span)
	if enginekey.Compare(lower, upper) >= 0 {
		upper = lower // an empty span, also when its end is before its start
	}
	c := &cursor{shard: shard, at: r.CSN, pause: newPause()}
	c.it, err = s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper, PointKeyFilters: filters,
		SkipPoint: c.pause.row})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// first goes to the first key of the span.
func (c *cursor) first() {
	c.valid = c.it.First()
	c.settle()
}

// seekTo goes to the first key that is not before another one.
func (c *cursor) seekTo(key []byte) {
	c.seek = enginekey.AppendPrefix(c.seek[:0], c.shard, entry.TableVersion, key)
	c.valid = c.it.SeekGE(c.seek)
	c.settle()
}

// next goes to the key after the current one.
func (c *cursor) next() {
	if c.visible {
		c.valid = c.it.NextPrefix()
	}
	// Otherwise the search for a visible version has led to the next key.
	c.settle()
}

// last goes to the last key of the span, and previous to the key before the current
// one: to its oldest version, and then forward to the one that is visible.
func (c *cursor) last() {
	c.valid = c.it.Last()
	c.settleBack()
}

func (c *cursor) previous() { c.seekBefore(c.user) }

// seekBefore goes to the last key before another one.
func (c *cursor) seekBefore(key []byte) {
	c.seek = enginekey.AppendPrefix(c.seek[:0], c.shard, entry.TableVersion, key)
	c.valid = c.it.SeekLT(c.seek)
	c.settleBack()
}

func (c *cursor) settleBack() {
	if c.load() && c.csn <= c.at {
		c.seek = enginekey.AppendVersion(c.seek[:0], c.shard, c.user, c.at)
		c.valid = c.it.SeekGE(c.seek)
		c.ok, c.visible = c.load(), c.valid
		return
	}
	c.ok, c.visible = c.valid, false // its oldest version is too new, or there is no key
}

// settle makes the stored key that the iterator is at the current one and
// looks for its newest visible version.
func (c *cursor) settle() {
	c.ok, c.visible = c.valid, false
	if !c.load() {
		return
	}
	c.newest, c.hidden = c.csn, false
	if c.csn > c.at {
		c.hidden = c.lives()
	}
	// Most keys have their visible version first or second. A hot key can
	// have thousands of newer ones: those are worth a seek.
	for tries := 0; c.csn > c.at; tries++ {
		c.left = append(c.left[:0], c.user...)
		if tries == 0 {
			c.valid = c.it.Next()
		} else {
			c.seek = enginekey.AppendVersion(c.seek[:0], c.shard, c.left, c.at)
			c.valid = c.it.SeekGE(c.seek)
		}
		if !c.load() || string(c.user) != string(c.left) {
			c.user = append(c.user[:0], c.left...)
			return
		}
	}
	c.visible = true
}

// load decodes the stored key that the iterator is at, if any. Failing to
// ends the walk.
func (c *cursor) load() bool {
	if !c.valid {
		return false
	}
	k, err := enginekey.Decode(c.it.Key(), c.user)
	if err != nil {
		c.err, c.ok, c.valid = err, false, false
		return false
	}
	c.user, c.csn = k.User, k.CSN
	return true
}

// lives reports whether the row that the iterator is at may be visible to a reader of a range.
func (c *cursor) lives() bool {
	value, err := c.it.ValueAndErr()
	return err != nil || !entry.IsTombstone(value) && !entry.IsMoveTombstone(value)
}

// live returns the visible version, and whether it is a value.
func (c *cursor) live() (value []byte, live bool, err error) {
	value, err = c.it.ValueAndErr()
	if err != nil {
		return nil, false, err
	}
	live, err = engine.Live(c.user, value)
	return value, live, err
}

func (c *cursor) close() error {
	err := c.err
	if err == nil {
		err = c.it.Error()
	}
	if cerr := c.it.Close(); err == nil {
		err = cerr
	}
	return err
}

// readGarbage does not filter blocks: what a key costs must not depend on
// where its versions happen to be stored.
func (s *Store) readGarbage(shard kv.ShardID, r *entry.Read, res *entry.ReadResult) error {
	c, err := s.cursor(shard, r)
	if err != nil {
		return err
	}
	cost := 0
	var last []byte
	var versions []engine.Version
	for c.first(); c.ok; c.next() {
		if r.Limit > 0 && cost >= r.Limit {
			res.Resume = kv.Next(last)
			break
		}
		last = append(last[:0], c.user...)
		cost++
		if !c.visible {
			continue
		}
		value, _, err := c.live()
		if err != nil {
			_ = c.close()
			return err
		}
		lasts, delta := !entry.IsTombstone(value), entry.IsDelta(value) // before the iterator moves on
		versions = append(versions[:0], engine.Version{CSN: c.csn, Delta: delta})
		for whole := !delta; c.older(); whole = whole || !delta {
			value, err = c.it.ValueAndErr()
			if err != nil {
				_ = c.close()
				return err
			}
			cost++
			delta = entry.IsDelta(value)
			versions = append(versions, engine.Version{CSN: c.csn, Delta: delta})
			if whole && len(r.Retained) == 0 {
				break // that there is one will do
			}
		}
		if g, ok := engine.Garbage(last, versions, lasts, r.Retained); ok {
			g.Key = clone(last)
			res.Garbage = append(res.Garbage, g)
		}
	}
	return c.close()
}

// older steps behind the visible version and reports whether the key has an older one. A following next
// continues as if older had not been called.
func (c *cursor) older() bool {
	c.left = append(c.left[:0], c.user...)
	c.valid = c.it.Next()
	if !c.load() {
		c.visible = false
		return false
	}
	if string(c.user) == string(c.left) {
		return true // next passes over it by its prefix
	}
	c.visible = false // the iterator is at the next key already
	return false
}
