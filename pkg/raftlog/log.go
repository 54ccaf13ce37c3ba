package raftlog

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Log is the log of one group. It has what was written, durable or not; a replica reads only what it has reported as
// written, so it never sees the difference.
type Log struct {
	rows  engine.Engine
	rules rules
	shard kv.ShardID
	kept  uint64

	mu sync.Mutex
	state
	terms terms
	sizes sizes
	tail  tail
}

var _ raft.Storage = (*Log)(nil)

// InitialState implements raft.Storage: term, vote and commit index. The configuration is a row of the shard.
func (l *Log) InitialState() (raftpb.HardState, raftpb.ConfState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hard, raftpb.ConfState{}, nil
}

// FirstIndex implements raft.Storage.
func (l *Log) FirstIndex() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(l.begin.position) + 1, nil
}

// LastIndex implements raft.Storage.
func (l *Log) LastIndex() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(l.last.position), nil
}

// Term implements raft.Storage. It reads no row.
func (l *Log) Term(i uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch at := consensus.Position(i); {
	case at < l.begin.position:
		return 0, raft.ErrCompacted
	case at > l.last.position:
		return 0, raft.ErrUnavailable
	default:
		return uint64(l.terms.at(at)), nil
	}
}

// Snapshot implements raft.Storage. A log has no rows: the owner of the shard's store makes Raft snapshots.
func (l *Log) Snapshot() (raftpb.Snapshot, error) {
	return raftpb.Snapshot{}, raft.ErrSnapshotTemporarilyUnavailable
}

// Entries implements raft.Storage: the newest entries are in memory, others are read and verified. It may return
// fewer than are asked for, but at least one. Damage is KindCorrupt and names the position (R6.13).
func (l *Log) Entries(lo, hi, maxSize uint64) ([]raftpb.Entry, error) {
	l.mu.Lock()
	from, to := consensus.Position(lo), consensus.Position(hi)
	switch {
	case from <= l.begin.position:
		l.mu.Unlock()
		return nil, raft.ErrCompacted
	case to > l.last.position+1:
		l.mu.Unlock()
		return nil, raft.ErrUnavailable
	}
	if first := l.tail.first(); first <= from {
		out := slices.Clone(limited(l.tail.entries[from-first:to-first], maxSize))
		l.mu.Unlock()
		return out, nil
	}
	to = min(to, l.tail.first())
	l.mu.Unlock()

	out, err := l.read(from, to, maxSize)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && from <= l.begin.position {
		return nil, raft.ErrCompacted // meanwhile
	}
	return out, err
}

// limited returns the first of the entries, up to a size, and at least one.
func limited(entries []raftpb.Entry, maxSize uint64) []raftpb.Entry {
	size := uint64(0)
	for i := range entries {
		size += uint64(entries[i].Size())
		if size > maxSize && i > 0 {
			return entries[:i:i]
		}
	}
	return entries[:len(entries):len(entries)]
}

// pageRows is how many rows are read at once.
const pageRows = 64

// read reads entries from the store.
func (l *Log) read(from, to consensus.Position, maxSize uint64) (out []raftpb.Entry, err error) {
	size := uint64(0)
	for at := from; at < to && (at == from || size < maxSize); {
		page, err := l.readPage(at, to)
		if err != nil {
			return nil, err
		}
		for i := range page {
			size += uint64(page[i].Size())
		}
		out = append(out, page...)
		at += consensus.Position(len(page))
	}
	return limited(out, maxSize), nil
}

// readPage reads some entries, at least one, from a position on.
func (l *Log) readPage(from, to consensus.Position) ([]raftpb.Entry, error) {
	span := kv.Range(entryKey(from), entryKey(to))
	res := l.rows.Read(l.shard, entry.Read{Kind: entry.ReadRows, Table: entry.TableLog, Span: span, Limit: pageRows})
	if res.Err != nil {
		return nil, l.readError(from, res.Err)
	}
	page := make([]raftpb.Entry, 0, len(res.Rows))
	for i := range res.Rows {
		at := from + consensus.Position(i)
		if string(res.Rows[i].Key) != string(entryKey(at)) {
			return nil, damaged(l.shard, at, errMissing)
		}
		e, err := l.rules.decodeEntry(l.shard, at, res.Rows[i].Value)
		if err != nil {
			return nil, damaged(l.shard, at, err)
		}
		page = append(page, e)
	}
	if len(page) == 0 {
		return nil, damaged(l.shard, from, errMissing)
	}
	return page, nil
}

var errMissing = errors.New("the entry is missing")

// readError names the group and the position at which the store could not be read.
func (l *Log) readError(at consensus.Position, err error) error {
	if kv.KindOf(err) == kv.KindCorrupt {
		return damaged(l.shard, at, err)
	}
	return fmt.Errorf("the log of %v cannot be read at position %d: %w", l.shard, at, err)
}

// Replica returns the greatest number of a replica of the group that the node has had, zero if it has had none. exists
// reports whether the node has it still (R7.17).
func (l *Log) Replica() (number consensus.ReplicaID, exists bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replica, l.replica != 0 && !l.destroyed
}

// minTruncation is the least size that a truncation deletes. Each is a range deletion of the store, which readers sort
// again.
const minTruncation = 1 << 20

// Truncation returns the position up to which the log is to be truncated, zero if that deletes less than 1 MiB (R6.5).
// flushed is the position up to which the shard's store has its rows on the disk: that is never exceeded.
// acknowledged is the position that all replicas have that responded in the last minute: that is exceeded if
// more than Options.KeptBytes of entries follow it.
func (l *Log) Truncation(flushed, acknowledged consensus.Position) consensus.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	to := max(acknowledged, l.sizes.before(l.kept))
	to = min(l.rules.boundByFlushed(to, flushed), l.last.position)
	if to <= l.begin.position || l.sizes.upTo(to) < minTruncation {
		return 0
	}
	return to
}
