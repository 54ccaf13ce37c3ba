package sim

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// mostMoves bounds the moves of a run: if keys were moved all the time,
// transactions would look for them all the time.
const mostMoves = 60

// startMoves has keys be moved to the hot shard and back, by any gateway, now
// and then two at a time, and sometimes from where they are not.
func (w *world) startMoves() {
	if w.opt.MoveEvery == 0 {
		return
	}
	var next func()
	next = func() {
		if w.busy == 0 || w.calm || w.sum.Moves >= mostMoves {
			return
		}
		w.moveSome()
		w.after(w.about(w.opt.MoveEvery), next)
	}
	w.after(w.about(w.opt.MoveEvery), next)
}

// anchor is the key that each one-shot writes, and that stays where it is (Options.Anchored).
var anchor = regKey(0)

// isAnchor reports whether a key may not move.
func (w *world) isAnchor(key []byte) bool { return w.opt.Anchored && string(key) == string(anchor) }

// anchored makes a one-shot write the anchor.
func (c *client) anchored(ops []msg.Op) []msg.Op {
	writes := func(op msg.Op) bool { return !op.IsRange() && op.Writes() && c.w.isAnchor(op.Key) }
	if !c.w.opt.Anchored || slices.ContainsFunc(ops, writes) {
		return ops
	}
	return append(ops, msg.Op{Kind: msg.OpPut, Key: anchor, Value: c.value()})
}

func (w *world) moveSome() {
	key := regKey(w.rng.IntN(w.opt.Registers))
	if w.rng.IntN(3) == 0 {
		key = counterKey(w.rng.IntN(w.opt.Counters))
	}
	if w.opt.Things > 0 && w.rng.IntN(2) == 0 {
		key = thingKey(w.rng.IntN(len(things)), w.rng.IntN(w.opt.Things))
	}
	from, to := w.router.Shard(key), w.router.HotShard()
	if from == to || w.isAnchor(key) {
		return
	}
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	if w.isGuest(key) != (w.rng.IntN(8) == 0) {
		from, to = to, from
	}
	w.sum.Moves++
	id := kv.TxnID{Time: n.wall(), Rand: 1<<62 | uint64(w.sum.Moves)}
	w.movers[id] = true
	w.trace("%v moves %q from %v to %v", n.id, key, from, to)
	w.call(n, func(now int64, tok txn.Token) {
		n.machine(id).Move(now, tok, id, key, from, to, now+int64(2*time.Second))
	}, func(d txn.Done, lost bool) {
		if d.Committed {
			w.sum.Moved++
		}
		w.trace("%q moved: %v lost=%v %v", key, d.Committed, lost, d.Failure)
	})
}

// isGuest reports whether the hot shard has a key that is not at home there.
func (w *world) isGuest(key []byte) bool {
	s := w.shards[w.shardAt(w.router.HotShard())]
	return s.m != nil && s.m.IsGuest(key)
}

// whereStored follows the mark of a key's home. A key is on one shard alone.
func (w *world) whereStored(key string) *shell {
	home := w.shards[w.shardAt(w.router.Shard([]byte(key)))]
	v, err := home.stored(key)
	if err != nil {
		w.fail("%q cannot be read: %v", key, err)
		return home
	}
	to, moved := v.MovedTo()
	if moved != w.isGuest([]byte(key)) {
		w.fail("%q has a mark at home: %v; the hot shard has it: %v", key, moved, !moved)
	}
	if moved {
		return w.shards[w.shardAt(to)]
	}
	return home
}

// later reports whether a version became visible after another of the key, by
// moves and then by the index on one shard.
func later(v kv.Version, at kv.Index, old kv.Version, before kv.Index) bool {
	if v.Moves != old.Moves {
		return v.Moves > old.Moves
	}
	return at > before
}

func isMove(k entry.EffectKind) bool {
	return k == entry.EffectMoveIn || k == entry.EffectMoveOut
}
