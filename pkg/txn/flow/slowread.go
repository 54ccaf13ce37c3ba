package flow

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// slowFirst is what a one-shot reader of several shards does if one of them has lost its leader: it does not stay
// registered on the others for as long as an election takes, since it would hold their updates.
//
//	reader                 shard 1                shard 2: no leader
//	├─ Read x, Read y ────▶│ registers, reads        │
//	│◀── x ────────────────┤ holds updates of x      │
//	├─ 50 ms: Deregister ─▶│ updates continue        │
//	├─ Read y, as a new reader ─────────────────────▶│ ... elected: registers, reads
//	│◀── y ──────────────────────────────────────────┤
//	├─ Read x ────────────▶│ registers, reads        │
//
// It does so once an attempt: shards that always take longer than others would make it start again for ever.
type slowFirst struct {
	// since is when the first shard responded, 0 before. rest are the pieces of the others, while the slow shards are
	// read.
	since int64
	rest  piece.Pieces
	used  bool
}

// slowReadAfter is for how long a reader stays registered on shards that have responded, while others do not. Somewhat
// arbitrary: far more than a shard with a leader takes, and the time for which a view holds updates.
const slowReadAfter = 50 * time.Millisecond

// onRead is called for each response.
func (s *slowFirst) onRead(gw *Gateway) {
	if s.since == 0 {
		s.since = gw.Now
	}
}

// isDue reports whether the reader starts again, with the slow shards.
func (s *slowFirst) isDue(gw *Gateway) bool {
	if !gw.Replicated || s.since == 0 || s.used {
		return false
	}
	at := s.since + int64(slowReadAfter)
	gw.WakeAt(at)
	return gw.Now >= at
}

// readSlowFirst starts the reading again: it reads the shards that have not responded, and then the others.
func (o *OneShot) readSlowFirst(gw *Gateway) Outcome {
	slow := o.reading.PendingShards()
	gw.endReading(o.reading)
	o.slow = slowFirst{used: true}
	var first piece.Pieces
	for _, p := range o.pieces(gw) { // keys may have moved
		if slices.Contains(slow, p.Shard) {
			first = append(first, p)
		} else {
			o.slow.rest = append(o.slow.rest, p)
		}
	}
	o.register(gw, env.PlanParallel)
	if len(first) == 0 {
		return o.readRest(gw)
	}
	o.sendReads(gw, first)
	return Continue
}

// readRest reads the shards that have responded before. The slow ones are registered meanwhile.
func (o *OneShot) readRest(gw *Gateway) Outcome {
	rest := o.slow.rest
	o.slow.rest = nil
	o.sendReads(gw, rest)
	return Continue
}

func (o *OneShot) sendReads(gw *Gateway, ps piece.Pieces) {
	const noLast = kv.ShardID(0) // the plan has none
	o.reading.Start(gw.Env, ps, noLast, false, o.LastRequestRetry())
}
