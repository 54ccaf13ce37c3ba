package mvcc

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func newValue(text string, write uint64) entry.Value {
	return entry.Value{Type: adt.Value, Version: kv.Version{Write: write}, Payload: []byte(text)}
}

// addCached adds a loaded key to the cache.
func addCached(s *Store, key, text string) {
	it := s.Acquire([]byte(key))
	s.Install(it, Found{Value: newValue(text, 1), CSN: 1})
	s.Release(it)
}

// lruModel is the reference model of the cache: a list of the cached keys, the next to evict first.
type lruModel struct {
	keys            []string
	referencedAgain map[string]bool
	refs            map[string]int
	loaded          map[string]bool
	limit           int // keys without references
}

func (r *lruModel) unreferenced() (n int) {
	for _, k := range r.keys {
		if r.refs[k] == 0 {
			n++
		}
	}
	return n
}

func (r *lruModel) acquire(k string) {
	r.referencedAgain[k] = r.referencedAgain[k] || r.refs[k] == 0 && slices.Contains(r.keys, k)
	r.refs[k]++
}

func (r *lruModel) release(k string) {
	r.refs[k]--
	if r.refs[k] > 0 || !r.loaded[k] {
		return
	}
	if !slices.Contains(r.keys, k) {
		r.keys = append(r.keys, k)
	}
	for r.unreferenced() > r.limit {
		k := r.keys[0]
		r.keys = r.keys[1:]
		if r.refs[k] > 0 || r.referencedAgain[k] {
			r.keys = append(r.keys, k)
		} else {
			delete(r.loaded, k)
		}
		delete(r.referencedAgain, k)
	}
}

// TestStoreMatchesReferenceModel acquires, loads and releases references at random.
func TestStoreMatchesReferenceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := lruModel{referencedAgain: map[string]bool{}, refs: map[string]int{}, loaded: map[string]bool{},
			limit: rapid.IntRange(0, 5).Draw(t, "limit")}
		limit := r.limit * (itemOverhead + 2 + 1)
		s := NewStore(limit)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			k := string(rune('a' + rapid.IntRange(0, 7).Draw(t, "key")))
			switch {
			case rapid.IntRange(0, 2).Draw(t, "verb") > 0:
				it := s.Acquire([]byte(k))
				require.Equal(t, r.loaded[k], it.Loaded, "exactly the cached keys are loaded")
				r.acquire(k)
				if rapid.Bool().Draw(t, "load") && !it.Loaded {
					s.Install(it, Found{Value: newValue("v", 1), CSN: 1})
					r.loaded[k] = true
				}
			case r.refs[k] > 0:
				s.Release(s.Get([]byte(k)))
				r.release(k)
			}
			require.NoError(t, s.Check())
			referenced := 0
			for _, n := range r.refs {
				referenced += min(n, 1)
			}
			require.Equal(t, referenced, s.ReferencedCount())
			require.Equal(t, referenced+r.unreferenced(), s.Len())
			require.LessOrEqual(t, s.Bytes(), limit)
			for _, k := range r.keys {
				require.NotNil(t, s.Get([]byte(k)))
			}
		}
	})
}

func TestReferencedItemGetsSecondChance(t *testing.T) {
	s := NewStore(2 * (itemOverhead + 2 + 1))
	addCached(s, "a", "1")
	addCached(s, "b", "1")
	s.Release(s.Acquire([]byte("a"))) // used again
	addCached(s, "c", "1")
	require.NotNil(t, s.Get([]byte("a")))
	require.Nil(t, s.Get([]byte("b")))
	addCached(s, "d", "1")
	require.NotNil(t, s.Get([]byte("a")), "a was skipped, and is behind c")
	require.Nil(t, s.Get([]byte("c")))
	addCached(s, "e", "1")
	require.Nil(t, s.Get([]byte("a")), "only once")
	addCached(s, "big", string(make([]byte, 1000)))
	require.Zero(t, s.Len(), "an item above the limit evicts all others and itself")
}

// TestPageDirectoryCountsAsMemory: the directory is charged even if no page is in memory.
func TestPageDirectoryCountsAsMemory(t *testing.T) {
	s := NewStore(1 << 20)
	it := s.Acquire([]byte("a"))
	it.Loaded, it.Pages = true, make([]entry.PageRef, 100)
	s.Release(it)
	require.Greater(t, s.Bytes(), 100*200)
}

func TestStaleReadDoesNotReplaceNewerValue(t *testing.T) {
	s := NewStore(1 << 10)
	it := s.Acquire([]byte("k"))
	it.Loading = 7
	it.Waiting = []any{"A", "B"}
	_, err := s.MakeVisible(it, &entry.Effect{Key: it.Key, Kind: entry.EffectPut, Value: []byte("new"),
		Version: kv.Version{Write: 5}}, 9, kv.Version{})
	require.NoError(t, err)
	require.Equal(t, []any{"A", "B"}, s.Install(it, Found{Value: newValue("old", 1), CSN: 3}),
		"the callers are returned once")
	require.Equal(t, "new", string(it.Value.Payload))
	require.EqualValues(t, 9, it.CSN)
	require.Zero(t, it.Loading)
	require.Empty(t, s.Install(it, Found{Value: newValue("old", 1), CSN: 3}))
}

func TestApplyingInvalidAddFails(t *testing.T) {
	s := NewStore(1 << 10)
	it := s.Acquire([]byte("n"))
	add := &entry.Effect{Key: it.Key, Kind: entry.EffectAdd, Delta: 1}
	s.Install(it, Found{Value: entry.Value{Type: adt.Counter, Version: kv.Version{Write: 1},
		Payload: adt.EncodeCounter(1<<63 - 1)}, CSN: 1})
	_, err := s.MakeVisible(it, add, 2, kv.Version{Write: 2})
	require.ErrorContains(t, err, "leaves 64 bits though it was checked")
	it.Value = newValue("short", 1)
	_, err = s.MakeVisible(it, add, 2, kv.Version{Write: 2})
	require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
}

func TestPendingAddsExcludesOwnIntents(t *testing.T) {
	ref := func(n int64) kv.TxnRef { return kv.TxnRef{TxnID: kv.TxnID{Time: n}, Attempt: 1} }
	it := &Item{Key: []byte("n")}
	for i, delta := range []int64{5, -3, 7, -1 << 63, 1<<63 - 1} {
		it.AddIntent(ref(int64(i)), &entry.Effect{Kind: entry.EffectAdd, Delta: delta})
	}
	it.AddIntent(ref(9), &entry.Effect{Kind: entry.EffectPut, Delta: 100})
	low, high := PendingAdds(it.Intents, kv.TxnRef{})
	require.EqualValues(t, []int64{-1 << 63, 1<<63 - 1}, []int64{low, high}, "sums saturate")
	it.RemoveIntents(ref(3))
	it.RemoveIntents(ref(4))
	low, high = PendingAdds(it.Intents, ref(0))
	require.Equal(t, []int64{-3, 7}, []int64{low, high}, "without the requester's own")
	it.RemoveIntents(ref(77))
	require.Len(t, it.Intents, 4)
}

func TestCheckReportsBrokenInvariants(t *testing.T) {
	for text, corrupt := range map[string]func(*Store){
		"filed under":                      func(s *Store) { s.items["x"] = s.items["b"]; delete(s.items, "b") },
		"0 references, cached":             func(s *Store) { s.items["a"].refs = 0 },
		"counts 1 references":              func(s *Store) { s.items["b"].refs = 1 },
		"without references has 1 intents": func(s *Store) { s.items["b"].AddIntent(kv.TxnRef{}, &entry.Effect{}) },
		"0 intents, loaded":                func(s *Store) { s.items["b"].Loaded = false },
		"cache counts":                     func(s *Store) { s.items["b"].size += 500 },
	} {
		s := NewStore(1 << 10)
		s.Acquire([]byte("a"))
		addCached(s, "b", "1")
		require.NoError(t, s.Check())
		corrupt(s)
		require.ErrorContains(t, s.Check(), text)
	}
}

// versions are the stored versions of a shard, as the reference model of garbage collection.
type versions map[string]map[kv.CSN]entry.Value

func (v versions) apply(t *rapid.T, es []entry.Entry) {
	for _, e := range es {
		require.Equal(t, entry.TableVersion, e.Table)
		vs := v[string(e.Key)]
		switch e.Action {
		case entry.Delete:
			delete(vs, e.CSN)
		case entry.DeleteBelow:
			for i := range vs {
				if i < e.CSN {
					delete(vs, i)
				}
			}
		default:
			t.Fatalf("garbage is %v", e.Action)
		}
	}
}

// at reads all keys at a CSN.
func (v versions) at(csn kv.CSN) string {
	out := ""
	for _, k := range modelKeys {
		newest, val := kv.CSN(0), entry.Value{}
		for i, x := range v[k] {
			if i <= csn && i > newest {
				newest, val = i, x
			}
		}
		if val.Exists() {
			out += fmt.Sprintf("%s=%s ", k, val.Payload)
		}
	}
	return out
}

func (v versions) count() (n int) {
	for _, vs := range v {
		n += len(vs)
	}
	return n
}

// TestCollectRemovesOnlyUnreadableVersions: Collect changes no read at a retained CSN, or at the
// safe point or above, and in the end leaves only visible versions.
func TestCollectRemovesOnlyUnreadableVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{100, 6, 2}).Draw(t, "limit")
		g, log, newest := NewGarbage(limit, false), versions{}, map[string]kv.CSN{}
		safePoint, csn, retained := kv.CSN(0), kv.CSN(0), []kv.CSN(nil)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			csn++
			for _, k := range modelKeys[:rapid.IntRange(0, 3).Draw(t, "keys")] {
				v := newValue(fmt.Sprint(csn), uint64(csn))
				if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
					v.Type = entry.TypeDeleted
				}
				if log[k] == nil {
					log[k] = map[kv.CSN]entry.Value{}
				}
				log[k][csn] = v
				g.AddReplaced([]byte(k), nil, newest[k], csn, v.Type == entry.TypeDeleted)
				newest[k] = csn
			}
			if rapid.IntRange(0, 3).Draw(t, "collect") != 0 {
				continue
			}
			// No read is between the retained CSNs below the safe point and the safe point itself. New CSNs
			// are retained only at the safe point or above.
			retained = slices.DeleteFunc(retained, func(kv.CSN) bool { return rapid.IntRange(0, 2).Draw(t, "drop") == 0 })
			for i := safePoint; i <= csn; i++ {
				if rapid.IntRange(0, 4).Draw(t, "keep") == 0 && !slices.Contains(retained, i) {
					retained = append(retained, i)
				}
			}
			slices.Sort(retained)
			safePoint = kv.CSN(rapid.Uint64Range(uint64(safePoint), uint64(csn)).Draw(t, "safePoint"))
			before := map[kv.CSN]string{}
			for i := kv.CSN(0); i <= csn; i++ {
				before[i] = log.at(i)
			}
			log.apply(t, g.Collect(safePoint, retained))
			for i := kv.CSN(0); i <= csn; i++ {
				if i >= safePoint || slices.Contains(retained, i) {
					require.Equal(t, before[i], log.at(i), "read at %d, safe point %d, retained %v", i, safePoint, retained)
				}
			}
		}
		require.LessOrEqual(t, g.Len(), limit)
		log.apply(t, g.Collect(csn, nil))
		require.Empty(t, g.Collect(csn, nil), "each removal is returned once")
		require.Zero(t, g.Len())
		if g.Lost == 0 {
			require.Equal(t, len(slices.Collect(visibleKeys(log, csn))), log.count(), "only visible versions are left")
		}
	})
}

// TestCollectKeepsVersionsOfRetainedCSNs: of many versions, those that a retained CSN sees stay.
func TestCollectKeepsVersionsOfRetainedCSNs(t *testing.T) {
	g, log := NewGarbage(1000, false), versions{"a": {}}
	for i := kv.CSN(1); i <= 100; i++ {
		log["a"][i] = newValue(fmt.Sprint(i), uint64(i))
		g.AddReplaced([]byte("a"), nil, i-1, i, false)
	}
	apply := func(safePoint kv.CSN, retained ...kv.CSN) int {
		for _, e := range g.Collect(safePoint, retained) {
			require.Equal(t, entry.Delete, e.Action)
			delete(log["a"], e.CSN)
		}
		return len(log["a"])
	}
	require.Equal(t, 53, apply(50, 10, 30), "10, 30, and 50 to 100")
	require.Equal(t, 4, apply(100, 10, 30, 70))
	require.Equal(t, 2, apply(100, 30), "CSNs that are no longer retained release their versions")
	require.Contains(t, log["a"], kv.CSN(30))
}

func visibleKeys(v versions, csn kv.CSN) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, k := range modelKeys {
			if one := (versions{k: v[k]}).at(csn); one != "" && !yield(one) {
				return
			}
		}
	}
}

func TestGarbageListIsBounded(t *testing.T) {
	g := NewGarbage(4, false)
	for i := range 4 {
		g.AddReplaced([]byte("k"), nil, kv.CSN(i+1), kv.CSN(i+2), false)
	}
	require.Zero(t, g.Lost)
	g.AddReplaced([]byte("k"), nil, 5, 6, false)
	require.EqualValues(t, 2, g.Lost, "beyond the limit rows are discarded and counted")
	require.Equal(t, 3, g.Len())
	require.EqualValues(t, 1, NewGarbage(4, true).Lost)
	g.AddReplaced([]byte("new"), nil, 0, 7, false)
	require.Equal(t, 3, g.Len(), "a key's first version replaces nothing")
}
