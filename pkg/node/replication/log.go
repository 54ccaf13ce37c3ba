package replication

import (
	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shardlog"
)

// Log is the log of a shard in one term of its leader. It implements shardlog.Log: durable is what is committed.
type Log struct {
	csn kv.CSN
	// pending are the encoded entries since the last proposal.
	pending []byte
	// last is the last append. ends are the proposals that are not applied, oldest first.
	last, durable, applied shardlog.Position
	// stored is the position in the group up to which the store has the rows.
	stored consensus.Position
	ends   []proposal
	// bytes is the size of the proposals that are not committed, and uncommitted is their number.
	bytes, uncommitted int
}

// proposal is an entry of the group that holds the appends up to a position.
type proposal struct {
	at   consensus.Position
	upTo shardlog.Position
	size int
}

// Bounds of what a machine has written and the group has not committed (R2.6).
const (
	maxUncommittedBytes = 16 << 20
	maxUncommitted      = 4096
)

// Append implements shardlog.Log. It copies the entries.
func (l *Log) Append(entries []entry.Entry) shardlog.Position {
	l.last++
	l.pending = entry.AppendGroup(l.pending, l.csn, entries)
	return l.last
}

// Last implements shardlog.Log.
func (l *Log) Last() shardlog.Position { return l.last }

// Durable implements shardlog.Log.
func (l *Log) Durable() shardlog.Position { return l.durable }

// Applied implements shardlog.Log.
func (l *Log) Applied() shardlog.Position { return l.applied }

// proposed records the position of what was pending.
func (l *Log) proposed(at consensus.Position) {
	l.ends = append(l.ends, proposal{at: at, upTo: l.last, size: len(l.pending)})
	l.bytes, l.uncommitted, l.pending = l.bytes+len(l.pending), l.uncommitted+1, nil
}

// onCommitted records that the group has committed its entries up to a position.
func (l *Log) onCommitted(at consensus.Position) {
	for l.uncommitted > 0 {
		p := &l.ends[len(l.ends)-l.uncommitted]
		if p.at > at {
			return
		}
		l.durable, l.bytes, l.uncommitted = p.upTo, l.bytes-p.size, l.uncommitted-1
	}
}

// onApplied records that the store has the rows up to a position.
func (l *Log) onApplied(at consensus.Position) {
	l.onCommitted(at)
	n := 0
	for n < len(l.ends) && l.ends[n].at <= at {
		l.applied = l.ends[n].upTo
		n++
	}
	l.ends = l.ends[n:]
}

// isFull reports whether no further step may be taken before entries are committed.
func (l *Log) isFull() bool { return l.bytes > maxUncommittedBytes || l.uncommitted >= maxUncommitted }
