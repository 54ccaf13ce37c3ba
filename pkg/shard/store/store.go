package store

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// Config is what a store is made with.
type Config struct {
	// CacheBytes bounds the memory of keys that nobody needs at the moment.
	CacheBytes int
	// GarbageBatch is how many replaced versions are collected at once.
	GarbageBatch int
	// Paging says which values are stored in pages.
	Paging mvcc.Paging
	// Apart: each transaction writes rows of its own, for comparison.
	Apart bool
	// KeepsNothing: there are no snapshots, so that only what is read at the moment is
	// spared.
	KeepsNothing bool
}

// Store is a shard's keys: the newest visible value of each, in memory or in the log, and
// the older ones that somebody may read.
type Store struct {
	env *step.Env
	cfg Config

	keys *mvcc.Store
	// index is how many transactions have become visible here, with the gaps that
	// restarts have left, and writes counts versions.
	index  kv.Index
	writes uint64
	// moves is no less than that of any forwarding tombstone that was here.
	moves uint32
	// news: the state row has to be written for moves.
	news bool

	reads reads
	kept  Kept
	// waking are those whose keys or pages have arrived, or cannot be read.
	waking []Wake

	garbage *mvcc.Garbage
	sweeps  sweeps
	// collected is when garbage was last collected, collectedTo the low watermark then.
	collected   int64
	collectedTo kv.Index
	// late are the step's rows that are encoded at its end.
	late  []lateRow
	stats Stats
}

// Stats are a store's counters; they only rise.
type Stats struct {
	// Reads counts reads of the log, PagesRead those of them that were of pages of large
	// values. ReadErrors counts those that failed.
	Reads, PagesRead, PagesWritten, ReadErrors uint64
	// Swept counts the keys of which a sweep has removed versions.
	Swept uint64
}

// New makes a store from what the log says of it.
func New(e *step.Env, cfg Config, state *entry.State) *Store {
	return &Store{env: e, cfg: cfg, keys: mvcc.NewStore(cfg.CacheBytes), index: state.Index, writes: state.Writes, moves: state.Moves,
		reads:   reads{under: map[uint64]pending{}},
		kept:    newKept(e, cfg, state.Index),
		garbage: mvcc.NewGarbage(64*cfg.GarbageBatch, state.Index > 0),
		sweeps:  sweeps{inherited: state.Index > 0},
	}
}

// Index is how many transactions have become visible here, with the gaps that restarts
// have left.
func (s *Store) Index() kv.Index { return s.index }

// Advance makes what is shown from now on visible at the next index.
func (s *Store) Advance() { s.index++ }

// Writes counts versions, with such gaps. NextWrite takes one more.
func (s *Store) Writes() uint64 { return s.writes }

// NextWrite is a number that no write of this shard has had.
func (s *Store) NextWrite() uint64 {
	s.writes++
	return s.writes
}

// Moves is no less than the number of moves in any forwarding tombstone that was here.
func (s *Store) Moves() uint32 { return s.moves }

// News reports, once, whether Moves has risen, so that the state row has to be written in
// this step.
func (s *Store) News() bool {
	news := s.news
	s.news = false
	return news
}

// Stats gives the counters.
func (s *Store) Stats() Stats { return s.stats }

// Len is the number of keys in memory, Bytes their size, and Pinned how many somebody needs.
func (s *Store) Len() int    { return s.keys.Len() }
func (s *Store) Bytes() int  { return s.keys.Bytes() }
func (s *Store) Pinned() int { return s.keys.Pinned() }

// Pins is how many pins all keys have.
func (s *Store) Pins() int { return s.keys.Pins() }

// Check holds the keys in memory against their invariants.
func (s *Store) Check() error { return s.keys.Check() }

// Kept is what the store spares.
func (s *Store) Kept() *Kept { return &s.kept }

// NextVersion names a write of this shard, after the version before it (mvcc.NextVersion).
func (s *Store) NextVersion(before kv.Version) kv.Version {
	moves := s.moves
	if s.env.Mutants.Has(mutant.CollectedMovesForgotten) {
		moves = 0
	}
	return mvcc.NextVersion(before, s.env.ID, s.NextWrite(), moves)
}

// Get finds a key in memory, nil if it is not there.
func (s *Store) Get(key []byte) *mvcc.Item { return s.keys.Get(key) }

// Pin finds a key and keeps it in memory until Unpin. It may not be loaded.
func (s *Store) Pin(key []byte) *mvcc.Item { return s.keys.Pin(key) }

// Unpin gives back what Pin has given. If nobody but the read of the key itself is left, that is for
// nobody, and dropped.
func (s *Store) Unpin(it *mvcc.Item) {
	s.keys.Unpin(it)
	if it.Loading != 0 && it.Pins() == 1 {
		s.Drop(it.Loading)
		it.Loading, it.Waiting = 0, nil
		s.keys.Unpin(it)
	}
}

// Wake is word for somebody who has waited for a key (Await) or a page (Pages): it is there,
// or cannot be read.
type Wake struct {
	Waiter any
	Err    error
	// Page: it was a page.
	Page bool
}

// Next gives one who has waited for something that has arrived, false if there is none.
func (s *Store) Next() (w Wake, ok bool) {
	if len(s.waking) == 0 {
		return w, false
	}
	w = s.waking[0]
	s.waking[0] = Wake{}
	s.waking = s.waking[1:]
	if len(s.waking) == 0 {
		s.waking = nil
	}
	return w, true
}

// Waking reports whether Next has somebody.
func (s *Store) Waking() bool { return len(s.waking) > 0 }

func (s *Store) wake(waiters []any, err error, page bool) {
	for _, w := range waiters {
		s.waking = append(s.waking, Wake{w, err, page})
	}
}

// Await has waiter woken when the item is loaded, and asks for it if nobody has yet. The
// item is pinned.
func (s *Store) Await(it *mvcc.Item, waiter any) {
	it.Waiting = append(it.Waiting, waiter)
	if it.Loading != 0 {
		return
	}
	s.keys.Pin(it.Key)
	q := entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: it.Key}
	q.User, q.Commit = callerOf(waiter)
	it.Loading = s.Read(q, func(r *entry.ReadResult) { s.loaded(it, r) })
}

// loaded takes the answer about a key.
func (s *Store) loaded(it *mvcc.Item, r *entry.ReadResult) {
	f, err := s.Found(r)
	if err != nil && !it.Loaded {
		waiting := it.Waiting
		it.Loading, it.Waiting = 0, nil
		s.wake(waiting, err, false)
	} else {
		s.wake(s.keys.Install(it, f, s.env.Mutants.Has(mutant.ColdReadStale)), nil, false)
	}
	s.keys.Unpin(it)
}

// Install has a key be what a read of a range has found. The item is pinned.
func (s *Store) Install(it *mvcc.Item, f mvcc.Found) {
	s.wake(s.keys.Install(it, f, false), nil, false)
}

// Unnoted says that garbage comes into being of which there is no note.
func (s *Store) Unnoted() { s.garbage.Unknown() }

// Show makes an effect visible at the current index, and tells what the key held before
// and holds now. The item is pinned.
func (s *Store) Show(it *mvcc.Item, e *entry.Effect) (before, after entry.Value) {
	var version kv.Version
	if e.Kind == entry.EffectAdd || e.Kind == entry.EffectChange {
		version = s.NextVersion(it.Value.Version)
	}
	before = it.Value
	old := it.Index
	after, err := s.keys.Show(it, e, s.index, version)
	if err != nil {
		panic(err) // the add was checked against every outcome when it was executed
	}
	s.logVersion(it, &before, old, e, after)
	s.wake(it.Waiting, nil, false)
	it.Waiting = nil
	return before, after
}
