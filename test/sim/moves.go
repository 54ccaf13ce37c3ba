package sim

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// maxMoves bounds the moves of a run: if keys moved all the time, transactions would be redirected all the time.
const maxMoves = 60

// startMoves has random gateways move keys to the hot shard and back, sometimes two at a time, and sometimes from a
// shard that does not have the key.
func (w *world) startMoves() {
	if w.opt.MoveEvery == 0 {
		return
	}
	var next func()
	next = func() {
		if w.unfinished == 0 || w.calm || w.sum.Moves >= maxMoves {
			return
		}
		w.moveRandomKeys()
		w.after(w.about(w.opt.MoveEvery), next)
	}
	w.after(w.about(w.opt.MoveEvery), next)
}

// anchor is the key that each one-shot writes, and that never moves (Options.Anchored).
var anchor = regKey(0)

// isAnchor reports whether a key may not move.
func (w *world) isAnchor(key []byte) bool { return w.opt.Anchored && string(key) == string(anchor) }

// anchored adds a write of the anchor to a one-shot.
func (c *client) anchored(ops []msg.Op) []msg.Op {
	writes := func(op msg.Op) bool { return !op.IsRange() && op.Writes() && c.w.isAnchor(op.Key) }
	if !c.w.opt.Anchored || slices.ContainsFunc(ops, writes) {
		return ops
	}
	return append(ops, msg.Op{Kind: msg.OpPut, Key: anchor, Value: c.value()})
}

func (w *world) moveRandomKeys() {
	key := regKey(w.rng.IntN(w.opt.Registers))
	if w.rng.IntN(3) == 0 {
		key = counterKey(w.rng.IntN(w.opt.Counters))
	}
	if w.opt.Objects > 0 && w.rng.IntN(2) == 0 {
		key = objectKey(w.rng.IntN(len(objectTypes)), w.rng.IntN(w.opt.Objects))
	}
	from, to := w.router.Shard(key), w.router.HotShard()
	if from == to || w.isAnchor(key) {
		return
	}
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	if w.isMoved(key) != (w.rng.IntN(8) == 0) {
		from, to = to, from
	}
	w.sum.Moves++
	id := kv.TxnID{Time: n.wall(), Rand: 1<<62 | uint64(w.sum.Moves)}
	w.movers[id] = true
	w.trace("%v moves %q from %v to %v", n.id, key, from, to)
	w.call(n, func(now int64, tok txn.CallHandle) {
		n.machine(id).Move(now, tok, id, key, from, to, now+int64(2*time.Second))
	}, func(d txn.Done, lost bool) {
		if d.Committed {
			w.sum.Moved++
		}
		w.trace("%q moved: %v lost=%v %v", key, d.Committed, lost, d.Failure)
	})
}

// isMoved reports whether a key has been moved to the hot shard.
func (w *world) isMoved(key []byte) bool {
	s := w.shards[w.shardAt(w.router.HotShard())]
	return s.m != nil && s.m.IsMoved(key)
}

// shardStoring follows the move tombstone on a key's home shard. A key is on exactly one shard.
func (w *world) shardStoring(key string) *shell {
	home := w.shards[w.shardAt(w.router.Shard([]byte(key)))]
	v, err := home.stored(key)
	if err != nil {
		w.fail("%q cannot be read: %v", key, err)
		return home
	}
	to, moved := v.MovedTo()
	if moved != w.isMoved([]byte(key)) {
		w.fail("%q has a move tombstone at home: %v; the hot shard has the key: %v", key, moved, !moved)
	}
	if moved {
		return w.shards[w.shardAt(to)]
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
