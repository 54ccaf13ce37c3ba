package pebblestore

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func queueKey(i int) []byte { return fmt.Appendf(nil, "q/%07d", i) }

func live(i int, at kv.CSN) entry.Entry {
	return entry.Entry{Table: entry.TableVersion, Key: queueKey(i), CSN: at,
		Value: entry.Value{Version: kv.Version{Write: uint64(at)}, Payload: []byte("job")}.Encode()}
}

func deleted(i int, at kv.CSN) entry.Entry {
	e := live(i, at)
	e.Value = entry.Value{Type: entry.TypeDeleted, Version: kv.Version{Write: uint64(at)}}.Encode()
	return e
}

func appendAll(t testing.TB, s *Store, entries ...entry.Entry) {
	t.Helper()
	_, err := s.Append([]entry.Group{{Entries: entries}})
	require.NoError(t, err)
}

func openGaps(t testing.TB) *Store {
	o := testOptions(t, vfs.NewMem())
	o.NoSync = true
	s, err := Open("store", o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// firstLive reads the first live key of the queue, and counts the rows that it looked at.
func firstLive(t testing.TB, s *Store, at kv.CSN) (key string, rows int) {
	t.Helper()
	before := s.looked.Load()
	res := s.Read(0, entry.Read{Kind: entry.ReadRange, Span: kv.Range([]byte("q/"), []byte("q0")), CSN: at, Limit: 1})
	require.NoError(t, res.Err)
	if len(res.Rows) > 0 {
		key = string(res.Rows[0].Key)
	}
	return key, int(s.looked.Load() - before)
}

// fillQueue makes a queue of n keys of which the first dead are deleted, 100 at a CSN.
func fillQueue(t testing.TB, s *Store, n, dead int) (top kv.CSN) {
	for i := 0; i < n; i += 100 {
		var jobs []entry.Entry
		for j := i; j < min(i+100, n); j++ {
			jobs = append(jobs, live(j, kv.CSN(1+i/100)))
		}
		appendAll(t, s, jobs...)
	}
	top = kv.CSN(1 + n/100)
	for i := 0; i < dead; i += 100 {
		top++
		var jobs []entry.Entry
		for j := i; j < min(i+100, dead); j++ {
			jobs = append(jobs, deleted(j, top))
		}
		appendAll(t, s, jobs...)
	}
	return top
}

// TestFirstKeyBehindDeletedOnesIsFoundAtOnce: a scan over deleted keys looks at few rows, the first one
// because a scout has been there.
func TestFirstKeyBehindDeletedOnesIsFoundAtOnce(t *testing.T) {
	s := openGaps(t)
	const dead = 50_000
	top := fillQueue(t, s, dead+10, dead)
	want := string(queueKey(dead))
	require.Eventually(t, func() bool {
		key, rows := firstLive(t, s, top)
		require.Equal(t, want, key)
		return rows < 2000
	}, 10*time.Second, 10*time.Millisecond)
	key, rows := firstLive(t, s, top)
	require.Equal(t, want, key)
	require.Less(t, rows, 100)

	// What readers of the past see is there, and what is put into the gap is seen.
	key, _ = firstLive(t, s, dead/100)
	require.Equal(t, string(queueKey(0)), key)
	appendAll(t, s, live(4321, top+1))
	key, rows = firstLive(t, s, top+1)
	require.Equal(t, string(queueKey(4321)), key)
	require.Less(t, rows, 100)
	key, _ = firstLive(t, s, top)
	require.Equal(t, want, key, "of the CSN before")
	require.LessOrEqual(t, s.gaps.of(0).size, maxGapBytes)
}

// TestFirstKeyBehindCollectedOnesIsFoundAtOnce: what garbage collection has removed is tombstones of
// pebble's, which no scan sees but has to walk over.
func TestFirstKeyBehindCollectedOnesIsFoundAtOnce(t *testing.T) {
	s := openGaps(t)
	const dead = 20_000
	top := fillQueue(t, s, dead+10, dead)
	for i := range dead {
		appendAll(t, s, entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: queueKey(i), CSN: top})
	}
	firstLive(t, s, top) // may be the first that walks
	key, rows := firstLive(t, s, top)
	require.Equal(t, string(queueKey(dead)), key)
	require.Less(t, rows, 100)
}

// TestQueueOfKeysKeepsItsRate: however many keys were taken from the front of a queue, to take the next
// one looks at few rows, also for readers that are some CSNs behind.
func TestQueueOfKeysKeepsItsRate(t *testing.T) {
	s := openGaps(t)
	const n = 20_000
	top := fillQueue(t, s, n, 0)
	most := 0
	for i := range n - 1 {
		top++
		appendAll(t, s, deleted(i, top))
		key, rows := firstLive(t, s, top)
		require.Equal(t, string(queueKey(i+1)), key)
		most = max(most, rows)
		if i%100 == 99 {
			key, rows = firstLive(t, s, top-50)
			require.Equal(t, string(queueKey(i-49)), key)
			require.Less(t, rows, 1000)
		}
	}
	t.Logf("at most %d rows", most)
	require.Less(t, most, 500)
}

// TestGapsHideNothing: readers of ranges and a writer that deletes and puts keys at random are
// concurrent. What a reader finds first is live at its CSN, as a model of the history says.
func TestGapsHideNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open("store", testOptions(t, vfs.NewMem()))
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		s.gaps.least = 1
		const keys, steps = 40, 300
		puts := make([]bool, steps)
		at := make([]int, steps)
		for i := range steps {
			puts[i] = rapid.IntRange(0, 9).Draw(t, "put") == 0
			at[i] = rapid.IntRange(0, keys-1).Draw(t, "key")
		}
		first := make([]string, steps+1) // by CSN
		state := map[int]bool{}
		for i := range steps {
			state[at[i]] = puts[i]
			for k := range keys {
				if state[k] {
					first[i+1] = string(queueKey(k))
					break
				}
			}
		}
		var mu sync.Mutex
		done := 0
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for {
					mu.Lock()
					csn := done
					mu.Unlock()
					if csn == steps {
						return
					}
					res := s.Read(0, entry.Read{Kind: entry.ReadRange, Span: kv.Range([]byte("q/"), nil),
						CSN: kv.CSN(csn), Limit: 1})
					got := ""
					if len(res.Rows) > 0 {
						got = string(res.Rows[0].Key)
					}
					if got != first[csn] {
						t.Errorf("at %d: %q, should be %q", csn, got, first[csn])
						return
					}
				}
			})
		}
		for i := range steps {
			e := deleted(at[i], kv.CSN(i+1))
			if puts[i] {
				e = live(at[i], kv.CSN(i+1))
			}
			_, err := s.Append([]entry.Group{{Entries: []entry.Entry{e}}})
			if err != nil {
				t.Errorf("%v", err)
			}
			mu.Lock()
			done = i + 1
			mu.Unlock()
		}
		wg.Wait()
	})
}
