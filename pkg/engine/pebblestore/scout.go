package pebblestore

import (
	"bytes"
	"slices"
	"sync"

	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// A scout looks for gaps where keys have been deleted, so that the first scan over them finds the gap
// known. It begins at some of the deleted keys, and gives up where live keys are between them: there
// a gap would save little.

const (
	// scoutRows is how many rows it looks at for each key that it begins at.
	scoutRows = 8 * sampleEvery
	// scoutTries is after how many keys it gives up if they have led to no gap.
	scoutTries = 16
)

// scouts is the goroutine that looks, and what for.
type scouts struct {
	due    chan kv.ShardID
	once   *sync.Once
	ended  chan struct{}
	worker *sync.WaitGroup
}

func newScouts() scouts {
	return scouts{due: make(chan kv.ShardID, 64), once: new(sync.Once), ended: make(chan struct{}),
		worker: new(sync.WaitGroup)}
}

func (x *scouts) end() {
	x.once.Do(func() { close(x.ended) })
	x.worker.Wait()
}

// scoutLoop is the scout.
func (s *Store) scoutLoop() {
	defer s.scouts.worker.Done()
	for {
		select {
		case <-s.scouts.ended:
			return
		case shard := <-s.scouts.due:
			s.scout(shard, s.gaps.of(shard).takeDeleted())
		}
	}
}

// begin cuts the gaps before a batch is applied.
func (x *scouts) begin(g *gaps, groups []entry.Group) {
	for i := range groups {
		if g.of(groups[i].Shard).begin(groups[i].Entries) {
			select {
			case x.due <- groups[i].Shard:
			default: // it will be due again
			}
		}
	}
}

// scout looks for gaps at keys, which are in order.
func (s *Store) scout(shard kv.ShardID, keys [][]byte) {
	if len(keys) == 0 {
		return
	}
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return
	}
	g := s.gaps.of(shard)
	g.swap.RLock()
	defer g.swap.RUnlock()
	everything := entry.Read{Kind: entry.ReadRange, Span: kv.Range(nil, nil), CSN: ^kv.CSN(0)}
	w, err := s.walk(shard, &everything)
	if err != nil {
		return
	}
	defer w.end()
	defer func() {
		_ = recover() // of a damaged block, which readers report
		_ = w.close()
	}()
	budget, tries, found := scoutRows*len(keys), 0, 0
	for i := 0; i < len(keys) && w.pause.rows < budget && (tries < scoutTries || found > 0) && w.err == nil; i++ {
		if i > 0 && string(keys[i]) < string(w.user) {
			continue // it has been there
		}
		tries++
		if w.scout(keys[i], budget) {
			found++
		}
	}
}

// scout walks on from a deleted key as far as nothing is visible, and reports whether that is a gap.
func (w *rangeWalk) scout(key []byte, budget int) bool {
	to, last := w.gaps.jump(key, w.cursor.at)
	if last {
		return true
	}
	w.seek = enginekey.AppendPrefix(w.seek[:0], w.shard, entry.TableVersion, to)
	w.valid = w.it.SeekLT(w.seek)
	if w.load() {
		w.beginBehind(w.user)
	} else {
		w.begin(nil) // the shard has no key before it
	}
	w.dead, w.ok = 0, false
	begin := w.pause.rows
	for w.seekTo(to); w.ok; w.next(false, false) {
		value, live, err := w.live()
		switch {
		case err != nil:
			return false
		case live && !entry.IsMoveTombstone(value), w.pause.rows >= budget:
			w.publish(w.user)
			return w.pause.rows-begin >= w.gaps.least
		}
	}
	w.publish(nil)
	return true
}

// sampled are some of the keys that were deleted since a scout was sent last: a scan that begins at
// one of them walks over those beside it.
type sampled struct {
	n    int
	keys [][]byte
}

const (
	// sampleEvery is of how many deleted keys one is remembered.
	sampleEvery = 16
	// scoutAfter is after how many of those a scout is sent.
	scoutAfter = 64
	// maxSampled bounds those that wait for the scout.
	maxSampled = 1024
)

// delete takes a key that was deleted, and reports whether a scout is due.
func (d *sampled) delete(key []byte) (due bool) {
	d.n++
	if d.n%sampleEvery != 0 {
		return false
	}
	if len(d.keys) < maxSampled {
		d.keys = append(d.keys, clone(key))
	}
	return len(d.keys) >= scoutAfter
}

// takeDeleted gives the keys for a scout, in order.
func (g *shardGaps) takeDeleted() [][]byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	keys := g.deleted.keys
	g.deleted.keys = nil
	slices.SortFunc(keys, bytes.Compare)
	return keys
}
