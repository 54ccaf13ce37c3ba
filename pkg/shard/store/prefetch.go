package store

import "github.com/linchpindb/linchpin/pkg/entry"

const (
	// maxPrefetchKeys is how many keys are prefetched: more than can be moved to the hot shard.
	maxPrefetchKeys = 512
	// prefetchReads is how many keys are read at a time, so that reads for which transactions wait are not behind all of
	// them.
	prefetchReads = 8
)

// prefetch reads keys in the background.
type prefetch struct {
	store *Store
	// keys are those that are not requested yet.
	keys [][]byte
}

// Prefetch reads the newest versions of keys in the background, so that the next transactions find them in memory
// (R13.13). It reads the first 512 of them, a few at a time, until half of the cache is full. A transaction
// that needs such a key joins its read. Keys that cannot be read are skipped: the transactions that need them get
// the error.
func Prefetch(s *Store, keys [][]byte) {
	p := &prefetch{store: s, keys: keys[:min(len(keys), maxPrefetchKeys)]}
	for range prefetchReads {
		p.requestNext()
	}
}

// requestNext requests the next key that is not in memory. Its reference stays until the result arrives: Dereference
// would cancel the read of an item without it when a transaction that has joined the read ends.
func (p *prefetch) requestNext() {
	s := p.store
	for len(p.keys) > 0 && s.Bytes() < s.cfg.CacheBytes/2 {
		it := s.Reference(p.keys[0])
		p.keys = p.keys[1:]
		if it.Loaded || it.Loading != 0 {
			s.keys.Release(it)
			continue
		}
		s.keys.Acquire(it.Key)
		it.Loading = s.Read(entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: it.Key},
			func(r *entry.ReadResult) {
				s.onKey(it, r)
				s.keys.Release(it)
				p.requestNext()
			})
		return
	}
	p.keys = nil
}
