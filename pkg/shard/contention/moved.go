package contention

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// moved are the keys that have been moved to this shard, the hot shard.
//
//	state of key k      home shard          hot shard
//	at home             value               -
//	moved               move tombstone      value, entry in moved
//	moved back          value               deletion tombstone
//
// Both sides of a move change in their steps of one transaction, so between moves exactly one shard has k.
type moved struct {
	keys map[string]entry.Moved
	// movedIn and movedOut count moves in this incarnation.
	movedIn, movedOut uint64
}

// MovedRow is a row of TableMoved.
type MovedRow struct {
	Key []byte
	entry.Moved
}

// IsMoved reports whether a key has been moved here.
func (p *Part) IsMoved(key []byte) bool {
	_, is := p.moved.keys[string(key)]
	return is
}

// Moved is the number of keys that have been moved here.
func (p *Part) Moved() int { return len(p.moved.keys) }

// KnownHotKeys returns the keys here that the rows name as hot: those that were moved here, in their order, and those
// that are at home here and that a rule of the operator keeps here. Only the hot shard has such rows. Heat is in no
// row, so other shards do not know their hot keys after a change of leader.
func (p *Part) KnownHotKeys() [][]byte {
	keys := make([][]byte, 0, len(p.moved.keys))
	for _, k := range slices.Sorted(maps.Keys(p.moved.keys)) {
		keys = append(keys, []byte(k))
	}
	for _, r := range p.rules {
		if r.Order == hotshard.Pin && !r.Prefix && p.Home(r.Key) == p.env.ID {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

// Home returns the home shard of a key.
func (p *Part) Home(key []byte) kv.ShardID {
	if p.shard.Home == nil {
		return p.env.ID
	}
	return p.shard.Home(key)
}

// Redirect returns the shard of a key that is not here; here is true if it is. The item, if there is one, is
// loaded.
//
// Example. Gateway A has an old heat map, by which k is on the hot shard. k has moved back home.
//
//	A ── put k ─▶ hot shard: k is not among the moved keys ── redirect to home ─▶ A
//	A ── put k, next attempt ─▶ home: there is no move tombstone any more
func (p *Part) Redirect(key []byte, it *mvcc.Item) (to kv.ShardID, here bool) {
	// The home shard has a move tombstone.
	if p.isMoveTombstone(it) {
		to, _ = it.Value.MovedTo()
		return to, false
	}
	// The hot shard: the list of moved keys is authoritative. A gateway with an old heat map may send requests
	// for a key that has moved back home.
	if home := p.Home(key); home != p.env.ID {
		return home, p.IsMoved(key)
	}
	return 0, true
}

// Settle records the effect of a move on a key, as its last agent. It is called in the step, and so in the
// batch, in which the effect becomes visible.
//
// The row is in the batch of the effect: a crash leaves both or none. If the list of moved keys lacked the key, its
// value here could not be reached, and the home shard would redirect to this one forever.
func (p *Part) Settle(e *entry.Effect) {
	// At home, the move tombstone is the record.
	if p.Home(e.Key) == p.env.ID {
		return
	}
	switch e.Kind {
	case entry.EffectMoveIn:
		row := entry.Moved{Since: p.env.Wall}
		p.moved.keys[string(e.Key)] = row
		p.env.Put(entry.TableMoved, e.Key, &row)
		p.moved.movedIn++
		p.onMoved(e.Key, true)
	case entry.EffectMoveOut:
		delete(p.moved.keys, string(e.Key))
		p.env.Delete(entry.TableMoved, e.Key)
		p.moved.movedOut++
		p.onMoved(e.Key, false)
	}
}
