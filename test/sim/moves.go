package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// maxMoves bounds the moves of a run: if keys moved all the time, transactions would be redirected all the time.
const maxMoves = 60

// startMoves has random gateways move keys to the hot shard and back, sometimes two at a time, and sometimes from a
// shard that does not have the key.
func (w *sim) startMoves() {
	if w.opt.MoveEvery == 0 {
		return
	}
	var next func()
	next = func() {
		if w.unfinished == 0 || w.Calm || w.sum.Moves >= maxMoves {
			return
		}
		w.moveRandomKeys()
		w.After(w.About(w.opt.MoveEvery), next)
	}
	w.After(w.About(w.opt.MoveEvery), next)
}

func (w *sim) moveRandomKeys() {
	key := regKey(w.Rng.IntN(w.opt.Registers))
	if w.Rng.IntN(3) == 0 {
		key = counterKey(w.Rng.IntN(w.opt.Counters))
	}
	if w.opt.Objects > 0 && w.Rng.IntN(2) == 0 {
		key = objectKey(w.Rng.IntN(len(objectTypes)), w.Rng.IntN(w.opt.Objects))
	}
	from, to := w.Router.Shard(key), w.Router.HotShard()
	if from == to || w.isAnchor(key) {
		return
	}
	n := w.nodes[w.Rng.IntN(len(w.nodes))]
	if w.isMoved(key) != (w.Rng.IntN(8) == 0) {
		from, to = to, from
	}
	w.sum.Moves++
	id := kv.TxnID{Time: n.TrueWall(), Rand: 1<<62 | uint64(w.sum.Moves)}
	w.movers[id] = true
	w.Trace("%v moves %q from %v to %v", n.ID, key, from, to)
	w.call(n, func(now int64, tok txn.CallHandle) {
		n.Machine(id).Move(now, tok, id, key, from, to, now+int64(2*time.Second))
	}, func(d txn.Done, lost bool) {
		if d.Committed {
			w.sum.Moved++
		}
		w.Trace("%q moved: %v lost=%v %v", key, d.Committed, lost, d.Failure)
	})
}
