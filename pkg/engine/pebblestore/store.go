// Package pebblestore is the engine on disk: one pebble store per node, whose
// write-ahead log is the shards' log. There is no other.
//
// # Becoming durable
//
//	Append:    encode groups into one batch
//	           apply it: it is in the log's buffer and visible
//	           queue (position, batch), return the position
//	syncer:    for the oldest queued batch:
//	             wait until an fsync has covered it
//	             raise durable to its position, wake all waiters
//	WaitDurable(p): wait until durable >= p
//
// The log is one file in one order, so an fsync that covers a batch covers
// all before it; while one fsync runs, later batches collect in the buffer and
// the next takes them all. That is the whole group commit: no timers. One
// goroutine waits for the batches in their order, so that durable positions rise
// in order whatever callers wait for, and a batch without waiters is released, too.
//
// A failed write or fsync of the log is never tried again: after a failed
// fsync the kernel may have dropped the pages, and a second one that succeeds
// proves nothing. OnFatal ends the process.
//
// # Deleting old versions
//
// All versions of a key below a CSN are one range of stored keys. A range
// deletion is one small entry however many they are, but each one makes the
// next reader sort again all that the memtable holds. So DeleteBelow looks
// first: for few versions, the usual case, it deletes each, for many the
// range.
package pebblestore

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Store implements engine.Engine. Locks are taken in the order life, shardGaps.swap, mu.
type Store struct {
	dir  string
	opts Options
	db   *pebble.DB
	lock *pebble.Lock

	// life is held shared while the database is used; Close takes it alone.
	life   sync.RWMutex
	closed bool

	encoder encoder
	syncing
	counters

	failures   failures
	complaints complaints
	logs       logBook
	// hindered gets an error of background work, if it has room for one.
	hindered  chan error
	reclaims  reclaims
	unflushed unflushed
	gaps      *gaps
	scouts    scouts
	// incoming numbers the tables of replacements.
	incoming atomic.Uint64
	delays   Delays
}

// syncing is how far the store is durable, and why it may not be used any more.
type syncing struct {
	// last is the newest position, written by Append; durable the newest
	// durable one, written under mu. durable <= last.
	last, durable atomic.Uint64

	mu sync.Mutex
	// moved is signalled when durable rises, a batch is queued, the store
	// fails, or the syncer is to end.
	moved *sync.Cond
	// queue has the applied batches that are not known to be durable, oldest
	// first. pebble bounds them: it blocks an apply while 4096 wait.
	queue []waiting
	// failed is the error of the log; see fail.
	failed   error
	failOnce sync.Once
	// draining ends the syncer when the queue is empty.
	draining bool
	syncer   sync.WaitGroup
	// notify is called with each durable position, in order.
	notify func(engine.Position)
	// flushing is held while memtables of a store without a log are written into tables.
	flushing sync.Mutex
}

// note is that of the next batch. synced: the log is synced, so something is known to be on the disk.
func (s *syncing) note(synced bool) note {
	n := note{at: s.last.Load() + 1}
	if synced {
		n.durable = s.durable.Load()
	}
	return n
}

// counters count since the store was opened. looked are the rows that reads of ranges have looked at.
type counters struct{ appends, entries, syncs, corruptions, looked atomic.Uint64 }

// waiting is a batch that waits for its fsync.
type waiting struct {
	at engine.Position
	b  *pebble.Batch
}

var _ engine.Engine = (*Store)(nil)

var errClosed = &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the store is closed"}

// fail makes err the store's end. It may be called with pebble's locks held.
// The failure is not returned to any caller before OnFatal has got it: a caller that ended the process because
// of it would do so with an exit code of its own. Other callers that find the failure meanwhile wait.
func (s *Store) fail(err error) error {
	s.failOnce.Do(func() {
		fatal := &kv.Error{Kind: kv.KindInternal, Op: -1,
			Text: fmt.Sprintf("the log of the store at %s could not be written, and what it contains is unknown: %v", s.dir,
				err),
			Hint: "check the disk for errors and free space, then start the node again; it recovers all acknowledged writes"}
		s.opts.OnFatal(fatal)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = fatal
		s.moved.Broadcast()
	})
	return s.failure()
}

func (s *Store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Append applies groups as one batch.
func (s *Store) Append(groups []entry.Group) (engine.Position, error) {
	for i := range groups {
		for j := range groups[i].Entries {
			if err := engine.CheckEntry(&groups[i].Entries[j]); err != nil {
				return 0, err
			}
		}
	}
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return 0, errClosed
	}
	if err := s.failure(); err != nil {
		return 0, err
	}
	b := s.db.NewBatch()
	if err := s.encoder.encode(b, s.note(!s.opts.NoSync && !s.opts.Unlogged), groups); err != nil {
		_ = b.Close()
		return 0, err
	}
	s.scouts.begin(s.gaps, groups)
	err := s.apply(b)
	s.gaps.end(groups)
	if err != nil {
		return 0, err
	}
	s.unflushed.onApplied(b.SeqNum(), s.encoder.deleted)
	s.appends.Add(1)
	for i := range groups {
		s.entries.Add(uint64(len(groups[i].Entries)))
	}
	return s.enqueue(b)
}

// apply makes the batch visible and hands it to the log.
func (s *Store) apply(b *pebble.Batch) (err error) {
	defer func() {
		// pebble panics when a batch as large as a memtable cannot be logged.
		if p := recover(); p != nil {
			err = s.fail(fmt.Errorf("%v", p))
		}
	}()
	if s.opts.NoSync || s.opts.Unlogged {
		err = s.db.Apply(b, pebble.NoSync)
	} else {
		err = s.db.ApplyNoSyncWait(b, pebble.Sync)
	}
	if err != nil {
		return s.fail(err)
	}
	// pebble reports a failed log through its logger, not to us.
	return s.failure()
}

// enqueue gives the batch its position and its place in the queue.
func (s *Store) enqueue(b *pebble.Batch) (engine.Position, error) {
	at := engine.Position(s.last.Add(1))
	if s.opts.Unlogged {
		return at, b.Close()
	}
	if s.opts.NoSync {
		s.becomeDurable(at)
		return at, b.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, waiting{at, b})
	s.moved.Broadcast()
	return at, nil
}

// becomeDurable wakes all waiters for a position.
func (s *Store) becomeDurable(at engine.Position) {
	s.mu.Lock()
	s.durable.Store(uint64(at))
	s.moved.Broadcast()
	notify := s.notify
	s.mu.Unlock()
	if notify != nil {
		notify(at)
	}
}

// NotifyDurable has f called with each position that becomes durable from now
// on, in order, by the goroutine that has waited for the disk, or within
// Append with NoSync. f must not append, and while it runs, no later position
// is noticed.
func (s *Store) NotifyDurable(f func(engine.Position)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

// syncLoop is the syncer. It ends when the store fails, or when it drains and nothing is left to wait for.
func (s *Store) syncLoop() {
	defer s.syncer.Done()
	var work []waiting
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.draining && s.failed == nil {
			s.moved.Wait()
		}
		// Now there is work, or none will come any more, or the store failed
		// and what is queued will never be durable.
		if len(s.queue) == 0 || s.failed != nil {
			s.mu.Unlock()
			return
		}
		work, s.queue = s.queue, work[:0]
		s.mu.Unlock()
		for i := range work {
			if err := work[i].b.SyncWait(); err != nil {
				_ = s.fail(err)
				return
			}
			_ = work[i].b.Close() // returns it to a pool; cannot fail after SyncWait
			s.becomeDurable(work[i].at)
			work[i] = waiting{}
		}
	}
}

// WaitDurable waits until an fsync has covered the batch at p. Without a log it writes the memtables into tables.
func (s *Store) WaitDurable(p engine.Position) error {
	if s.durable.Load() >= uint64(p) {
		return nil
	}
	if last := s.last.Load(); uint64(p) > last {
		return kv.Errorf(kv.KindInternal, "position %d does not exist; the last is %d", p, last)
	}
	if s.opts.Unlogged {
		return flushTo(s, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.durable.Load() < uint64(p) && s.failed == nil {
		s.moved.Wait()
	}
	if s.durable.Load() >= uint64(p) {
		return nil
	}
	return s.failed
}
