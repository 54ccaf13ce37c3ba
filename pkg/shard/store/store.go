package store

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// Config are the parameters of a store.
type Config struct {
	// CacheBytes bounds the memory of unreferenced keys.
	CacheBytes int
	// GarbageBatch is the number of replaced versions that are collected together.
	GarbageBatch int
	// Paging determines which values are stored in pages.
	Paging mvcc.Paging
	// NoCombining: each transaction writes its own rows, for comparison.
	NoCombining bool
	// NoRetention: there are no snapshots; only CSNs with reads in flight are retained.
	NoRetention bool
	// Earlier is what earlier leaders have retained, for the leader of a shard with several replicas.
	Earlier EarlierStates
	// Replicated: the shard has several replicas. Collected is by which CSNs earlier leaders have collected, nil if
	// there was none.
	Replicated bool
	Collected  *entry.Retention
}

// Store holds the keys of a shard: the newest visible value of each key, in memory or in the log, and the
// older values that can be read.
type Store struct {
	env *step.Env
	cfg Config

	keys *mvcc.Store
	// csn counts the transactions that became visible here, with gaps from restarts; writes counts versions.
	csn    kv.CSN
	writes uint64
	// moves is at least the number of moves in every move tombstone that was here.
	moves uint32
	// movesChanged: moves has risen, and the state row is to be written.
	movesChanged bool

	reads
	retention Retention
	collected collected
	// wakes are the waiters whose keys or pages have arrived, or cannot be read.
	wakes []Wake

	// Collector deletes what cannot be read any more.
	Collector Collector
	// deferred are the rows of the step that are encoded at its end.
	deferred deferredRows
	stats    Stats
}

// Stats are the counters of a store. They never fall.
type Stats struct {
	// Reads counts reads of the log, PagesRead those of pages of large values. ReadErrors counts failed reads.
	Reads, PagesRead, PagesWritten, ReadErrors uint64
	// Swept counts the keys of which a sweep has deleted versions.
	Swept uint64
}

// New returns the store of a shard with the state in its log.
func New(e *step.Env, cfg Config, state *entry.State) *Store {
	s := &Store{
		env: e, cfg: cfg, keys: mvcc.NewStore(cfg.CacheBytes), csn: state.CSN, writes: state.Writes, moves: state.Moves,
		retention: newRetention(e, cfg, state.CSN), collected: newCollected(e, cfg, state.CSN),
		deferred: deferredRows{env: e},
	}
	s.reads = reads{env: e, stats: &s.stats, inFlight: map[uint64]pendingRead{}}
	s.Collector = Collector{
		env: e, store: s,
		notes:  mvcc.NewGarbage(64*cfg.GarbageBatch, state.CSN > 0),
		sweeps: sweeps{unrecorded: state.CSN > 0},
	}
	return s
}

// CSN is the current commit sequence number: it counts the transactions that became visible here, with gaps
// from restarts.
func (s *Store) CSN() kv.CSN { return s.csn }

// Advance makes the following effects visible at the next CSN.
func (s *Store) Advance() { s.csn++ }

// Writes counts versions, with gaps from restarts.
func (s *Store) Writes() uint64 { return s.writes }

// NextWrite returns a number that no other write of this shard has.
func (s *Store) NextWrite() uint64 {
	s.writes++
	return s.writes
}

// Moves is at least the number of moves in every move tombstone that was here.
func (s *Store) Moves() uint32 { return s.moves }

// TakeMovesChanged reports whether Moves has risen since the last call. Then the state row is to be written
// in this step.
func (s *Store) TakeMovesChanged() bool {
	changed := s.movesChanged
	s.movesChanged = false
	return changed
}

// Stats returns the counters.
func (s *Store) Stats() Stats { return s.stats }

// Len is the number of keys in memory, Bytes their size, ReferencedCount the number of those with references.
func (s *Store) Len() int             { return s.keys.Len() }
func (s *Store) Bytes() int           { return s.keys.Bytes() }
func (s *Store) ReferencedCount() int { return s.keys.ReferencedCount() }

// ReferenceCount is the number of references to all keys.
func (s *Store) ReferenceCount() int { return s.keys.ReferenceCount() }

// Check verifies the invariants of the keys in memory.
func (s *Store) Check() error { return s.keys.Check() }

// Retention returns the set of CSNs that the store retains.
func (s *Store) Retention() *Retention { return &s.retention }

// NextVersion names a write of this shard that follows a version (mvcc.NextVersion).
func (s *Store) NextVersion(before kv.Version) kv.Version {
	return mvcc.NextVersion(before, s.env.ID, s.NextWrite(), s.leastMoves())
}

// Get returns a key in memory, nil if it is not there.
func (s *Store) Get(key []byte) *mvcc.Item { return s.keys.Get(key) }

// Reference returns a key, which may not be loaded, and keeps it in memory until Dereference.
func (s *Store) Reference(key []byte) *mvcc.Item { return s.keys.Acquire(key) }

// Dereference ends a reference. If only the read of the key itself refers to the key now, that read is
// useless and is cancelled.
//
// Example. 10,000 transactions want k while k is read, and all end by their deadlines: the last one cancels the
// read, which would otherwise keep its place in the queue of the goroutines that read the log.
func (s *Store) Dereference(it *mvcc.Item) {
	s.keys.Release(it)
	// The last transaction that needed the key has ended, for example by its deadline, while the key is read.
	if it.Loading != 0 && it.References() == 1 {
		s.Drop(it.Loading)
		it.Loading, it.Waiting = 0, nil
		s.keys.Release(it)
	}
}

// Wake reports to a waiter that a key (Await) or a page (Pages) has arrived, or cannot be read.
type Wake struct {
	Waiter any
	Err    error
	// Page: it is a page.
	Page bool
}

// Next returns a waiter whose key or page has arrived; ok is false if there is none.
//
// HAZARD: between the arrival of a key and this call the waiter may have ended. It checks that itself.
func (s *Store) Next() (w Wake, ok bool) {
	if len(s.wakes) == 0 {
		return w, false
	}
	w = s.wakes[0]
	s.wakes[0] = Wake{}
	s.wakes = s.wakes[1:]
	if len(s.wakes) == 0 {
		s.wakes = nil
	}
	return w, true
}

// HasWake reports whether Next returns a waiter.
func (s *Store) HasWake() bool { return len(s.wakes) > 0 }

// wake queues waiters for Next.
func (s *Store) wake(waiters []any, err error, page bool) {
	for _, w := range waiters {
		s.wakes = append(s.wakes, Wake{w, err, page})
	}
}

// Await registers a waiter for the item, and requests the item from the log if that has not been done. The
// caller has a reference to the item.
func (s *Store) Await(it *mvcc.Item, waiter any) {
	it.Waiting = append(it.Waiting, waiter)
	// Another waiter has requested the item; its read serves all waiters.
	if it.Loading != 0 {
		return
	}
	// The read has a reference of its own, so the item stays until the result arrives.
	s.keys.Acquire(it.Key)
	q := entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: it.Key}
	q.User, q.Commit = callerOf(waiter)
	it.Loading = s.Read(q, func(r *entry.ReadResult) { s.onKey(it, r) })
}

// onKey handles the result of reading a key. If an effect has loaded the item meanwhile, a failure is
// ignored.
//
//	read of k at CSN 7 is sent
//	a put of k becomes visible at CSN 8: the item is loaded, its waiters are woken
//	the result of CSN 7 arrives: older than the item, so Install discards it, and so is an error
func (s *Store) onKey(it *mvcc.Item, r *entry.ReadResult) {
	f, err := s.Found(r)
	// The waiters receive the error. Later waiters read the key again.
	if err != nil && !it.Loaded {
		waiting := it.Waiting
		it.Loading, it.Waiting = 0, nil
		s.wake(waiting, err, false)
	} else {
		s.wake(s.installRead(it, f), nil, false)
	}
	s.keys.Release(it)
}

// Install sets a key to what a range read has found. The caller has a reference to the item.
func (s *Store) Install(it *mvcc.Item, f mvcc.Found) {
	s.wake(s.keys.Install(it, f), nil, false)
}

// MakeVisible makes an effect visible at the current CSN, and returns the values of the key before and after.
// The caller has a reference to the item.
func (s *Store) MakeVisible(it *mvcc.Item, e *entry.Effect) (before, after entry.Value) {
	var version kv.Version
	// The version of a write was assigned when it executed. That of an add or a call depends on the value before
	// it, which is known now: other adds may have become visible since.
	if e.Kind == entry.EffectAdd || e.Kind == entry.EffectChange {
		version = s.NextVersion(it.Value.Version)
	}
	before = it.Value
	old := it.CSN
	after, err := s.keys.MakeVisible(it, e, s.csn, version)
	if err != nil {
		panic(err) // the execution has checked the add against every outcome
	}
	s.logVersion(it, &before, old, e, after)
	// The effect has made the value known, so waiters need not wait for the log.
	s.wake(it.Waiting, nil, false)
	it.Waiting = nil
	return before, after
}
