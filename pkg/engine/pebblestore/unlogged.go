package pebblestore

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// A store without a log (Options.Unlogged) is for rows that can be made again: those of replicas, whose entries are in
// the log of the node (R6.4). A crash loses what was in memtables, and leaves a prefix of the batches:
//
//	batches   1 2 3 4 | 5 6 7 | 8 9      the log of the replicas is not cut beyond 4
//	          tables  | memtables        after a crash, entries are applied again from 5
//
// WaitDurable writes the memtables into tables, so it is called rarely: before a log is truncated (R6.5), and when the
// rows of a shard were replaced (R6.10).

// flushTo writes the memtables into tables, unless the batch at p is in a table. An error says that the disk is full or
// broken; the rows are still in memory, and may be written later.
func flushTo(s *Store, p engine.Position) error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if s.durable.Load() >= uint64(p) {
		return nil
	}
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return errClosed
	}
	at := s.last.Load() // memtables have these batches already
	if err := s.flush(); err != nil {
		return &kv.Error{Kind: kv.KindInternal, Op: -1,
			Text: fmt.Sprintf("the store at %s cannot write tables: %v", s.dir, err),
			Hint: "free space on its disk, or check it for errors"}
	}
	s.becomeDurable(engine.Position(at))
	return nil
}
