package raftlog

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Options tune a store.
type Options struct {
	// TailBytes bounds the newest entries of each log that are kept in memory, in bytes; default 1 MiB. One entry is
	// always kept.
	TailBytes int
	// KeptBytes is the size of a log, in bytes, beyond which it is truncated although replicas need its entries; default
	// 64 MiB (R6.5).
	KeptBytes uint64
	// Mutants are the planted faults.
	Mutants mutant.Set
}

const (
	defaultTailBytes = 1 << 20
	defaultKeptBytes = 64 << 20
)

// Store has the logs of a node's replicas. Write is called by one goroutine at a time; the other methods, and those of
// logs, are safe for concurrent use.
type Store struct {
	rows  engine.Engine
	opts  Options
	rules rules

	mu   sync.Mutex
	logs map[kv.ShardID]*Log
	// failed is the error of the first Write that has failed, last the position of the last one that has not.
	failed error
	last   engine.Position
}

// New returns the store whose rows are in an engine, which has no others. The caller closes the engine.
func New(rows engine.Engine, o Options) *Store {
	o.TailBytes, o.KeptBytes = cmp.Or(o.TailBytes, defaultTailBytes), cmp.Or(o.KeptBytes, defaultKeptBytes)
	return &Store{rows: rows, opts: o, rules: rules{o.Mutants}, logs: map[kv.ShardID]*Log{}}
}

// Record is what is written to the log of one group.
type Record struct {
	Shard kv.ShardID
	// Replica is the replica whose log is written. If it is greater than all that the node has had of the group, the
	// record begins an empty log, and deletes the log of the replica before (R7.17).
	Replica consensus.ReplicaID
	// Write is what the replica wants to be written; nil for nothing. If it has a Raft snapshot, the log begins at its
	// position, unless it has that entry (R6.10). R6.11 is the same with the position of the rows. If the log begins
	// after them, entries are missing: that is an error.
	Write *consensus.Write
	// Truncate deletes the entries up to a position, as Truncation has returned it; zero for none.
	Truncate consensus.Position
	// Destroy deletes the log. Its number remains, and is not used again.
	Destroy bool
}

// Open returns the log of a group, an empty one if there is none. It reads all entries and verifies them: damage is
// KindCorrupt and names the group and the position (R6.13).
func (s *Store) Open(shard kv.ShardID) (*Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.logs[shard]; l != nil {
		return l, nil
	}
	l := &Log{rows: s.rows, rules: s.rules, shard: shard, kept: s.opts.KeptBytes,
		tail: tail{limit: s.opts.TailBytes}}
	if err := l.recover(); err != nil {
		return nil, err
	}
	s.logs[shard] = l
	return l, nil
}

// Write stores records in their order, as one batch, and returns its position; that of the batch before, if they store
// nothing. They are not durable before WaitDurable has returned. Records may be of many groups, which are open.
//
// Every error is final: no further record is accepted (R6.3). A record of a replica that the node has no more is
// rejected with such an error; so the caller drops what replicas that it destroys have still wanted to be written.
func (s *Store) Write(records []Record) (engine.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return 0, s.failed
	}
	p, err := s.write(records)
	if err != nil {
		s.failed = err
	}
	return p, err
}

func (s *Store) write(records []Record) (engine.Position, error) {
	groups := make([]entry.Group, 0, len(records))
	for i := range records {
		r := &records[i]
		l := s.logs[r.Shard]
		if l == nil {
			return 0, kv.Errorf(kv.KindInternal, "a record is of the log of %v, which is not open", r.Shard)
		}
		rows, err := l.apply(r)
		if err != nil {
			return 0, kv.Errorf(kv.KindInternal, "a record of the log of %v cannot be written: %v", r.Shard, err)
		}
		if len(rows) > 0 {
			groups = append(groups, entry.Group{Shard: r.Shard, Entries: rows})
		}
	}
	if len(groups) == 0 {
		return s.last, nil
	}
	at, err := s.rows.Append(groups)
	s.last = max(s.last, at)
	return at, err
}

// WaitDurable returns when the batch at p and all earlier ones are on the disk. A slow fsync delays it. An error is
// final (R6.3).
func (s *Store) WaitDurable(p engine.Position) error { return s.rows.WaitDurable(p) }

// hint says what to do about a damaged log or damaged rows. The log may lack entries that were acknowledged, or a vote.
const hint = "a damaged replica is not repaired: check the disk, empty the node's directories, and start it again: " +
	"its replicas are made anew from the others"

// OpenError is the error of replicas that cannot be opened, with what to do about damage: they must not be set back to
// a backup, as that forgets votes.
func OpenError(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) || e.Kind != kv.KindCorrupt {
		return err
	}
	out := *e
	out.Hint = hint
	return &out
}

// damaged is the error of a log that cannot be relied on.
func damaged(shard kv.ShardID, at consensus.Position, err error) error {
	where := fmt.Sprintf("the log of %v is damaged at position %d", shard, at)
	if at == 0 {
		where = fmt.Sprintf("the state of the log of %v is damaged", shard)
	}
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: fmt.Sprintf("%s: %v", where, err), Hint: hint}
}
