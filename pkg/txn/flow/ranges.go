package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Some open transactions read the beginning of a range to write what they find: they take the first
// job of a queue. With read locks all of them would find the same, and all but one abort. So where
// readers of a range have mostly written in it, and have lost attempts over that, the range is locked
// for writing on one shard first: there they wait for each other, and read when it is their turn. On the
// other shards read locks do. It is the early lock of a key (package heat), for a range.

// mostTaken bounds the limit of a scan that counts. Somewhat arbitrary: one of more keys is no take.
const maxQueueScan = 100

// rangeName stands for a range among the keys of which it is remembered whether readers write them. No
// client's key begins like that.
func rangeKey(op *msg.Op) []byte {
	kind := "range"
	if op.Reverse {
		kind = "reverse" // transactions that read it from the end take other keys
	}
	name := append([]byte(kv.SystemStart), kind...)
	name = append(append(name, op.Key...), 0)
	return append(name, op.End...)
}

// noteRange remembers the range of an operation that may be a take.
func (x *Interactive) noteQueueScan(op *msg.Op) {
	if op.Kind == msg.OpScan && op.Limit > 0 && op.Limit <= maxQueueScan && !op.Unlocked && len(x.queueScans) < maxQueueScan {
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

// committingRanges notes what became of the ranges that were read, when the transaction asks to commit.
func (x *Interactive) recordQueueScans(gw *Gateway) {
	for i := range x.queueScans {
		gw.Heat.Committing(string(rangeKey(&x.queueScans[i])), x.writesIn(x.queueScans[i].Span()))
	}
}

// lostRanges notes that an attempt was lost over a key, if it was found in a range.
func (x *Interactive) recordRangeConflict(gw *Gateway, key []byte) {
	for i := range x.queueScans {
		s := x.queueScans[i].Span()
		if s.Contains(key) {
			gw.Heat.Lost(rangeKey(&x.queueScans[i]), x.writesIn(s))
		}
	}
}

// waitedForRanges notes that a lock request has waited: the ranges that it reads are still contended.
func (u *Update) recordRangeWait(gw *Gateway) {
	for i := range u.queueScans {
		gw.Heat.Waited(&msg.Receipt{Key: rangeKey(&u.queueScans[i]), WaitedNanos: 1})
	}
}
