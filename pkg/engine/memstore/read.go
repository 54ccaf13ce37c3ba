package memstore

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Read implements engine.Engine.
func (s *Store) Read(shard kv.ShardID, r entry.Read) entry.ReadResult {
	res := entry.ReadResult{ID: r.ID, Kind: r.Kind}
	res.Err = engine.CheckRead(&r)
	if res.Err != nil {
		return res
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		res.Err = errClosed
		return res
	}
	rs := s.shards[shard]
	if rs == nil {
		return res
	}
	switch r.Kind {
	case entry.ReadKey:
		rs.readKey(&r, &res)
	case entry.ReadRow:
		rs.readRow(&r, &res)
	case entry.ReadRange:
		rs.readRange(&r, &res)
	case entry.ReadGarbage:
		rs.readGarbage(&r, &res)
	case entry.ReadPages:
		rs.readPages(&r, &res)
	case entry.ReadRows:
		rs.readRows(&r, &res)
	}
	if res.Err != nil {
		res.Rows, res.Garbage, res.Resume = nil, nil, nil
	}
	return res
}

func clone(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

func (rs *rows) readKey(r *entry.Read, res *entry.ReadResult) {
	c, ok := rs.versions.Get(string(r.Key))
	if !ok {
		return
	}
	visible := c.positionAbove(r.CSN)
	for _, v := range slices.Backward(c.versions[:visible]) {
		_, res.Err = engine.Live(r.Key, v.value)
		if res.Err != nil {
			return
		}
		res.Rows = append(res.Rows, entry.Row{Key: clone(r.Key), CSN: v.csn, Value: clone(v.value)})
		if !entry.IsDelta(v.value) {
			return
		}
	}
	if visible > 0 {
		res.Err = engine.NoBaseError(r.Key)
	}
}

func (rs *rows) readRow(r *entry.Read, res *entry.ReadResult) {
	if v, ok := rs.other[r.Table].Get(string(r.Key)); ok {
		res.Rows = []entry.Row{{Key: clone(r.Key), Value: clone(v)}}
	}
}

func (rs *rows) readRows(r *entry.Read, res *entry.ReadResult) {
	span := r.Span
	if span.IsPoint() {
		span.End = kv.Next(span.Start)
	}
	rs.other[r.Table].Ascend(string(span.Start), func(key string, v []byte) bool {
		switch n := len(res.Rows); {
		case len(span.End) > 0 && key >= string(span.End):
			return false
		case r.Limit > 0 && n == r.Limit:
			res.Resume = kv.Next(res.Rows[n-1].Key)
			return false
		}
		res.Rows = append(res.Rows, entry.Row{Key: []byte(key), Value: clone(v)})
		return true
	})
}

// ascend visits the chains of the keys in span in order.
func (rs *rows) ascend(span kv.Span, visit func(key string, c *chain) bool) {
	if span.IsPoint() {
		span.End = kv.Next(span.Start)
	}
	end := string(span.End)
	rs.versions.Ascend(string(span.Start), func(key string, c *chain) bool {
		return (end == "" || key < end) && visit(key, c)
	})
}

// descend visits them in reverse order.
func (rs *rows) descend(span kv.Span, visit func(key string, c *chain) bool) {
	if span.IsPoint() {
		span.End = kv.Next(span.Start)
	}
	start, end := string(span.Start), string(span.End)
	within := func(key string, c *chain) bool {
		return key >= start && (key == end && end != "" || visit(key, c))
	}
	if end == "" {
		rs.versions.Reverse(within)
		return
	}
	rs.versions.Descend(end, within)
}

func (rs *rows) readRange(r *entry.Read, res *entry.ReadResult) {
	size, full := 0, false
	examined, last := 0, ""
	walk := rs.ascend
	if r.Reverse {
		walk = rs.descend
	}
	walk(r.Span, func(key string, c *chain) bool {
		if r.Turn > 0 && examined >= r.Turn {
			res.Yielded, res.Resume = true, engine.ResumeTurn(r, []byte(last))
			return false
		}
		examined, last = examined+1, key
		at := c.positionAbove(r.CSN) - 1
		if at < 0 {
			return true
		}
		v := c.versions[at]
		live, err := engine.Live([]byte(key), v.value)
		if err != nil {
			res.Err = err
			return false
		}
		if !live || entry.IsMoveTombstone(v.value) {
			return true
		}
		if full {
			// Another live row follows, so the read can be resumed.
			res.Resume = engine.ResumeRange(r, res)
			return false
		}
		res.Rows = append(res.Rows, entry.Row{Key: []byte(key), CSN: v.csn, Value: clone(v.value)})
		size += len(key) + len(v.value)
		full = len(res.Rows) == r.Limit || (r.LimitBytes > 0 && size >= r.LimitBytes)
		return true
	})
}

func (rs *rows) readGarbage(r *entry.Read, res *entry.ReadResult) {
	cost, last := 0, ""
	rs.ascend(r.Span, func(key string, c *chain) bool {
		if r.Limit > 0 && cost >= r.Limit {
			res.Resume = kv.Next([]byte(last))
			return false
		}
		last = key
		seen := c.versions[:c.positionAbove(r.CSN)]
		if len(seen) == 0 {
			cost++
			return true
		}
		top := seen[len(seen)-1]
		_, err := engine.Live([]byte(key), top.value)
		if err != nil {
			res.Err = err
			return false
		}
		var versions []engine.Version
		whole := false
		for _, v := range slices.Backward(seen) {
			cost++
			versions = append(versions, engine.Version{CSN: v.csn, Delta: entry.IsDelta(v.value)})
			if whole && len(r.Retained) == 0 {
				break // without kept snapshots one older version suffices
			}
			whole = whole || !entry.IsDelta(v.value)
		}
		if g, ok := engine.Garbage([]byte(key), versions, !entry.IsTombstone(top.value), r.Retained); ok {
			res.Garbage = append(res.Garbage, g)
		}
		return true
	})
}

func (rs *rows) readPages(r *entry.Read, res *entry.ReadResult) {
	w := engine.PageWalk{Limit: r.Limit, Versions: func(user []byte, visit func([]byte)) error {
		if c, ok := rs.versions.Get(string(user)); ok {
			for _, v := range c.versions {
				visit(v.value)
			}
		}
		return nil
	}}
	span := r.Span
	if span.IsPoint() {
		span.End = kv.Next(span.Start)
	}
	rs.other[entry.TablePage].Ascend(string(span.Start), func(key string, _ []byte) bool {
		return (len(span.End) == 0 || key < string(span.End)) && w.Page([]byte(key))
	})
	res.Err = w.End()
	res.Garbage, res.Resume = w.Garbage, w.Resume
}

// Recover visits the rows of the tables that a restarted shard needs. It holds no lock during visit.
func (s *Store) Recover(shard kv.ShardID, visit func(entry.Table, entry.Row) error) error {
	type found struct {
		table entry.Table
		row   entry.Row
	}
	var all []found
	s.mu.RLock()
	closed := s.closed
	if rs := s.shards[shard]; rs != nil {
		for _, t := range engine.RecoverTables() {
			rs.other[t].Scan(func(k string, v []byte) bool {
				all = append(all, found{t, entry.Row{Key: []byte(k), Value: clone(v)}})
				return true
			})
		}
	}
	s.mu.RUnlock()
	if closed {
		return errClosed
	}
	for _, f := range all {
		if err := visit(f.table, f.row); err != nil {
			return err
		}
	}
	return nil
}
