package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Consumers of a queue read the beginning of a range (the first job), and write what they find.
// With read locks, concurrent consumers find the same keys, and all but one abort. An early lock of
// a range avoids that. If readers of a range have mostly written in it, and have lost attempts over
// it, its scan takes a write lock on one shard first. There the consumers wait for each other, and
// each reads when it is granted. On the other shards read locks suffice. Package heat has the
// statistics; docs/decisions/0031-early-locks.md has the reasons.
//
//	consumer A   scan [q,) limit 1 ─▶ s0: write lock, granted ─▶ s1, s2: read locks ─▶ q1 ─▶ commit
//	consumer B   scan [q,) limit 1 ─▶ s0: waits ······································· ─▶ granted ─▶ q2

// maxQueueScan bounds the limit of a scan that counts as one of a consumer. Somewhat arbitrary.
const maxQueueScan = 100

// rangeKey is the name of a range in the statistics of keys. It begins with a byte sequence that no
// client's key begins with.
func rangeKey(op *msg.Op) []byte {
	kind := "range"
	if op.Reverse {
		kind = "reverse" // its consumers take other keys
	}
	name := append([]byte(kv.SystemStart), kind...)
	name = append(append(name, op.Key...), 0)
	return append(name, op.End...)
}

// noteQueueScan records the range of a scan that may be one of a consumer.
func (x *Interactive) noteQueueScan(op *msg.Op) {
	isQueueScan := op.Kind == msg.OpScan && op.Limit > 0 && op.Limit <= maxQueueScan && !op.Unlocked
	if isQueueScan && len(x.queueScans) < maxQueueScan {
		x.queueScans = append(x.queueScans, *op)
	}
}

// writesIn reports whether the transaction has written a key of a range.
func (x *Interactive) writesIn(s kv.Span) bool {
	buffer := x.session.Buffer()
	for i := range buffer {
		if !buffer[i].IsRange() && s.Contains(buffer[i].Key) {
			return true
		}
	}
	return false
}

// recordQueueScans records, when the transaction commits, whether it has written in the ranges that
// it read.
//
// A reader that only looks at the queue must not take the write lock, so the habit counts both.
func (x *Interactive) recordQueueScans(gw *Gateway) {
	for i := range x.queueScans {
		gw.Heat.OnCommit(string(rangeKey(&x.queueScans[i])), x.writesIn(x.queueScans[i].Span()))
	}
}

// recordRangeConflict records that an attempt was lost over a key, for the ranges that contain it.
func (x *Interactive) recordRangeConflict(gw *Gateway, key []byte) {
	for i := range x.queueScans {
		s := x.queueScans[i].Span()
		// The lost key was found by this scan, as the first job of a queue is.
		if s.Contains(key) {
			gw.Heat.OnAbort(rangeKey(&x.queueScans[i]), x.writesIn(s))
		}
	}
}

// recordRangeWait records that a lock request has waited: the ranges that it reads are still
// contended.
func (u *Update) recordRangeWait(gw *Gateway) {
	for i := range u.queueScans {
		gw.Heat.OnWait(&msg.Receipt{Key: rangeKey(&u.queueScans[i]), WaitedNanos: 1})
	}
}
