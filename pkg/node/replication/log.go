package replication

import (
	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shardlog"
)

// Log is the log of a shard in one term of its leader. It implements shardlog.Log: durable is what is committed and, if
// leaders have no leases, what a later heartbeat confirms.
type Log struct {
	csn kv.CSN
	// pending are the encoded entries since the last proposal.
	pending []byte
	// unconfirmed: a step without entries since the last proposal reports the present, and no lease proves it.
	unconfirmed bool
	// last is the last append. proposed is the last position in the group of a proposal.
	last, durable, applied shardlog.Position
	proposed               consensus.Position
	// stored is the position in the group up to which the store has the rows.
	stored consensus.Position
	// undurable are what is not durable, oldest first, bytes is its size. unapplied and unappliedBytes are those of what
	// is not applied.
	undurable, unapplied  []section
	bytes, unappliedBytes int
}

// section is the appends up to a position. They are one entry of the group, or they have no entries, and wait for a
// heartbeat after a point (R3.14).
type section struct {
	upTo shardlog.Position
	at   consensus.Position
	size int
	// hasPoint: the section has no entry, at is that of the section before, and point is consensus.Leadership.Point.
	hasPoint bool
	point    int64
}

// Bounds of what a machine has written and the group has not committed (R2.6), and of what the store has not applied:
// it may be slower than the logs of a majority, and the next leader begins when all is applied.
const (
	maxUncommittedBytes = 16 << 20
	maxUncommitted      = 4096
	maxUnappliedBytes   = 64 << 20
)

// Append implements shardlog.Log. It copies the entries.
func (l *Log) Append(entries []entry.Entry) shardlog.Position {
	l.last++
	l.pending = entry.AppendGroup(l.pending, l.csn, entries)
	return l.last
}

// appendUnconfirmed returns a position for a step without entries that no lease covers. If entries are pending, their
// commit confirms the step: they are proposed after it.
func (l *Log) appendUnconfirmed() shardlog.Position {
	if len(l.pending) == 0 {
		l.last++
		l.unconfirmed = true
	}
	return l.last
}

// Last implements shardlog.Log.
func (l *Log) Last() shardlog.Position { return l.last }

// Durable implements shardlog.Log.
func (l *Log) Durable() shardlog.Position { return l.durable }

// Applied implements shardlog.Log.
func (l *Log) Applied() shardlog.Position { return l.applied }

// onProposed records the position of what was pending.
func (l *Log) onProposed(at consensus.Position) {
	l.bytes, l.unappliedBytes = l.bytes+len(l.pending), l.unappliedBytes+len(l.pending)
	l.add(section{upTo: l.last, at: at, size: len(l.pending)})
	l.pending, l.proposed = nil, at
}

// onPoint records the point of the steps without entries since the last proposal.
func (l *Log) onPoint(point int64) {
	l.add(section{upTo: l.last, at: l.proposed, hasPoint: true, point: point})
}

func (l *Log) add(s section) {
	l.undurable, l.unapplied, l.unconfirmed = append(l.undurable, s), append(l.unapplied, s), false
}

// onCommitted records that the group has committed its entries up to a position. isConfirmed does so for
// points.
func (l *Log) onCommitted(at consensus.Position, isConfirmed func(point int64) bool) {
	n := 0
	for ; n < len(l.undurable); n++ {
		s := &l.undurable[n]
		if s.at > at || s.hasPoint && !isConfirmed(s.point) {
			break
		}
		l.durable, l.bytes = s.upTo, l.bytes-s.size
	}
	l.undurable = l.undurable[n:]
}

// onApplied records that the store has the rows up to a position.
func (l *Log) onApplied(at consensus.Position) {
	n := 0
	for ; n < len(l.unapplied) && l.unapplied[n].at <= at; n++ {
		l.applied, l.unappliedBytes = l.unapplied[n].upTo, l.unappliedBytes-l.unapplied[n].size
	}
	l.unapplied = l.unapplied[n:]
}

// isFull reports whether no further step may be taken before entries are committed and applied.
func (l *Log) isFull() bool {
	return l.bytes > maxUncommittedBytes || len(l.undurable) >= maxUncommitted || l.unappliedBytes > maxUnappliedBytes
}
