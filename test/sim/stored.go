package sim

import (
	"fmt"
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// isMoved reports whether a key has been moved to the hot shard.
func (w *sim) isMoved(key []byte) bool {
	s := w.shards[w.Router.HotShard()]
	return s.M != nil && s.M.IsMoved(key)
}

// shardStoring follows the move tombstone on a key's home shard. A key is on exactly one shard.
func (w *sim) shardStoring(key string) *shell {
	home := w.shards[w.Router.Shard([]byte(key))]
	v, err := home.stored(key)
	if err != nil {
		w.Fail("%q cannot be read: %v", key, err)
		return home
	}
	to, moved := v.MovedTo()
	if moved != w.isMoved([]byte(key)) {
		w.Fail("%q has a move tombstone at home: %v; the hot shard has the key: %v", key, moved, !moved)
	}
	if moved {
		return w.shards[to]
	}
	return home
}

// later reports whether a version became visible after another one of the key: by the number of moves, then by the CSN
// of one shard.
func later(v kv.Version, at kv.CSN, old kv.Version, before kv.CSN) bool {
	if v.Moves != old.Moves {
		return v.Moves > old.Moves
	}
	return at > before
}

func isMove(k entry.EffectKind) bool {
	return k == entry.EffectMoveIn || k == entry.EffectMoveOut
}

// stored returns the version of a key in the log.
func (s *shell) stored(key string) (v entry.Value, err error) {
	res := s.Disk.Store.Read(s.ID, entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte(key),
		CSN: math.MaxInt64})
	if len(res.Rows) == 0 || res.Err != nil {
		return v, res.Err
	}
	f, err := mvcc.Fold(res.Rows)
	for _, p := range adt.MissingPages(&f.Value) {
		page := s.Disk.Store.Read(s.ID, entry.Read{Kind: entry.ReadRow, Table: entry.TablePage,
			Key: entry.PageKey([]byte(key), p.Ref().ID)})
		if page.Err != nil || len(page.Rows) == 0 {
			return v, fmt.Errorf("page %d is missing: %w", p.Ref().ID, page.Err)
		}
		if err := p.Fill(page.Rows[0].Value); err != nil {
			return v, err
		}
	}
	f.Value.Payload = adt.Payload(&f.Value)
	return f.Value, err
}

// checkTables fails if the log still has prepared updates or records of decisions at the end.
func (s *shell) checkTables() {
	var rec shard.Recovered
	if err := s.Disk.Store.Recover(s.ID, rec.Add); err != nil {
		s.w.Fail("%v: recovery: %v", s.ID, err)
	}
	if len(rec.Prepared)+len(rec.Records) > 0 {
		s.w.Fail("%v: %d prepared updates and %d records are left in the log", s.ID, len(rec.Prepared), len(rec.Records))
	}
	if err := s.Disk.Store.Check(); err != nil {
		s.w.Fail("%v", err)
	}
}
