package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// storeState is the state of a store with three shards at a time.
type storeState struct {
	at   [3]kv.CSN
	time int64
}

func (s storeState) clock() []msg.ShardCSN {
	c := &vclock.Clock{}
	for i, x := range s.at {
		c.Raise(kv.ShardID(i), x)
	}
	return msg.CSNs(c)
}

// model is a registry with a reference model of it: lists of all that was done to it. The time of day is
// right, and adopted immediately.
type model struct {
	registry *Registry
	history  int64
	wall     int64
	// states are the states of the store since the start of the hot shard; the last one is current.
	states []storeState
	// all are the snapshots that were ever retained; dropped are those that were dropped.
	all     []msg.Snapshot
	dropped map[uint64]bool
	// safePoint is the newest state requested in this incarnation.
	safePoint storeState
	writes    uint64
	names     int
}

func newModel(history int64) *model {
	w := &model{history: history, wall: 1000, states: []storeState{{time: 1000}}, dropped: map[uint64]bool{}}
	w.registry = New(Options{History: time.Duration(history)}, nil, 1, w.wall, w.wall)
	return w
}

// mustExist reports whether a snapshot must still be found: a named one until it expires, one of the history
// if it was the state of the store at some time within the history.
func (w *model) mustExist(i int) bool {
	p := &w.all[i]
	if w.dropped[p.Number] {
		return false
	}
	if p.Name != "" {
		return p.Expires > w.wall
	}
	for _, q := range w.all[i+1:] {
		if q.Name == "" && !w.dropped[q.Number] {
			return q.Time > w.wall-w.history
		}
	}
	return w.history > 0
}

func (w *model) step(t *rapid.T) {
	verbs := []string{"write", "write", "wait", "retain", "retain", "retain", "drop", "expire", "restart"}
	switch rapid.SampledFrom(verbs).Draw(t, "verb") {
	case "write":
		s := w.states[len(w.states)-1]
		s.at[rapid.IntRange(0, 2).Draw(t, "shard")]++
		s.time = w.wall
		w.states = append(w.states, s)
	case "wait":
		w.wall += rapid.Int64Range(1, 20).Draw(t, "for")
		now := w.states[len(w.states)-1]
		now.time = w.wall
		w.states = append(w.states, now)
	case "retain":
		w.retain(t)
	case "drop":
		if len(w.all) > 0 {
			p := rapid.SampledFrom(w.all).Draw(t, "snapshot")
			if p.Name != "" {
				_, had := w.registry.indexOf(p.Number)
				require.Equal(t, had, w.registry.Drop(w.wall, p.Number))
				require.False(t, w.registry.Drop(w.wall, p.Number), "it is dropped only once")
				w.dropped[p.Number] = true
			}
		}
	case "expire":
		for _, n := range w.registry.Expire(w.wall) {
			i := slices.IndexFunc(w.all, func(p msg.Snapshot) bool { return p.Number == n })
			require.False(t, w.mustExist(i), "snapshot %v is removed too early", w.all[i])
		}
	case "restart":
		w.restart(t)
	}
}

// retain requests a state of this incarnation, which need not be the newest.
func (w *model) retain(t *rapid.T) {
	s := w.states[len(w.states)-1-rapid.IntRange(0, min(5, len(w.states)-1)).Draw(t, "older")]
	w.names++
	q := Request{Origin: kv.TxnRef{TxnID: kv.TxnID{Time: int64(w.names)}, Attempt: 1}, Clock: s.clock(), Fixed: s.time}
	if rapid.Bool().Draw(t, "named") {
		q.Name = fmt.Sprint("s", w.names)
		q.TTL = time.Duration(rapid.Int64Range(1, 50).Draw(t, "ttl"))
	}
	for i := range s.at { // the order of states is total
		if s.at[i] > w.safePoint.at[i] || s.time > w.safePoint.time {
			w.safePoint = storeState{at: s.at, time: max(s.time, w.safePoint.time)}
			break
		}
	}
	p, fresh, err := w.registry.Retain(w.wall, q, func() uint64 { w.writes++; return w.writes })
	require.Nil(t, err)
	if !fresh {
		require.Nil(t, p)
		require.Empty(t, q.Name, "a named snapshot is always retained")
		return
	}
	require.Equal(t, w.writes, p.Number)
	require.Equal(t, w.safePoint.clock(), p.Clock, "the requested state, or the safe point")
	require.Equal(t, w.safePoint.time, p.Time)
	w.all = append(w.all, *p)
	if q.Name != "" {
		repeated, fresh, err := w.registry.Retain(w.wall, q, func() uint64 { panic("a retry gets no number") })
		require.Nil(t, err)
		require.False(t, fresh)
		require.Equal(t, p, repeated)
	}
}

func rowsOf(k *Registry) (rows []*msg.Snapshot) {
	for _, p := range k.snapshots {
		row := p.Snapshot
		rows = append(rows, &row)
	}
	return rows
}

// restart creates the registry repeated from its rows.
func (w *model) restart(t *rapid.T) {
	rows := rowsOf(w.registry)
	for i := range rows { // rows come in any order
		j := rapid.IntRange(0, i).Draw(t, "swap")
		rows[i], rows[j] = rows[j], rows[i]
	}
	w.writes += rapid.Uint64Range(0, 3).Draw(t, "other writes")
	w.registry = New(Options{History: time.Duration(w.history)}, rows, w.writes+1, w.wall, w.wall)
	w.states = w.states[len(w.states)-1:]
	w.safePoint = storeState{}
	if n := len(rows); n > 0 {
		c := msg.Clock(w.registry.snapshots[n-1].Clock)
		w.safePoint = storeState{at: [3]kv.CSN{c.At(0), c.At(1), c.At(2)}, time: w.registry.snapshots[n-1].Time}
	}
}

// check compares the registry with the lists.
func (w *model) check(t *rapid.T) {
	require.NoError(t, w.registry.Check())
	var named []msg.Snapshot
	for i := range w.all {
		p := &w.all[i]
		got, err := w.registry.FindNumber(w.wall, p.Number)
		switch {
		case w.mustExist(i):
			require.Nil(t, err)
			require.Equal(t, p, got)
		case p.Name != "":
			require.Equal(t, kv.KindTooOld, kv.KindOf(err))
		}
		if p.Name == "" {
			continue
		}
		got, err = w.registry.FindName(w.wall, p.Name)
		if w.mustExist(i) {
			require.Equal(t, p, got)
			named = append(named, *p)
		} else {
			require.Equal(t, kv.KindNotFound, kv.KindOf(err))
		}
	}
	require.Equal(t, named, w.registry.List(w.wall))
	for s := range kv.ShardID(3) {
		require.Equal(t, w.safePoint.at[s], w.registry.SafePoint(s))
	}
	w.checkAsOf(t, w.wall-rapid.Int64Range(0, max(w.history, 1)).Draw(t, "ago"))
}

// checkAsOf checks that a read as of a time within the history gets the newest state retained for it at that
// time or before.
func (w *model) checkAsOf(t *rapid.T, at int64) {
	got, err := w.registry.AsOf(w.wall, at)
	if w.history <= 0 {
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
		return
	}
	var want *msg.Snapshot
	for i := range w.all {
		if p := &w.all[i]; p.Name == "" && p.Time <= at {
			want = p
		}
	}
	if want == nil {
		require.Equal(t, kv.KindTooOld, kv.KindOf(err))
		return
	}
	require.Nil(t, err)
	require.Equal(t, want, got)
}

func TestRegistryMatchesReferenceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newModel(rapid.SampledFrom([]int64{0, 1, 10, 60}).Draw(t, "history"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step(t)
			w.check(t)
		}
	})
}

// newRegistry returns a registry with a history of 10 ns.
func newRegistry() *Registry { return New(Options{History: 10}, nil, 1, 0, 0) }

func request(time int64, x ...kv.CSN) Request {
	s := storeState{time: time}
	copy(s.at[:], x)
	return Request{Origin: kv.TxnRef{TxnID: kv.TxnID{Time: time}, Attempt: 1}, Clock: s.clock(), Fixed: time}
}

func (q Request) named(name string, ttl time.Duration) Request {
	q.Name, q.TTL = name, ttl
	return q
}

// mustRetain retains a snapshot, and fails the test if it is not retained.
func mustRetain(t *testing.T, k *Registry, wall int64, q Request) *msg.Snapshot {
	t.Helper()
	p, fresh, err := k.Retain(wall, q, func() uint64 { return k.nextNumber })
	require.Nil(t, err)
	require.True(t, fresh)
	require.NoError(t, k.Check())
	return p
}

func TestOlderStateIsReplacedBySafePoint(t *testing.T) {
	k := newRegistry()
	newer := mustRetain(t, k, 100, request(90, 5, 5))
	p := mustRetain(t, k, 100, request(80, 4, 5).named("late", 50))
	require.Equal(t, newer.Clock, p.Clock, "shards may have collected versions below")
	require.EqualValues(t, 90, p.Time)
	require.EqualValues(t, 5, k.SafePoint(0))
	_, fresh, err := k.Retain(100, request(85, 5, 4), nil)
	require.Nil(t, err)
	require.False(t, fresh, "the history has that state")
}

func TestNameIsUniqueUntilExpiry(t *testing.T) {
	k := newRegistry()
	first := mustRetain(t, k, 100, request(100, 1).named("s", 50))
	require.EqualValues(t, 150, first.Expires)
	other := request(101, 2).named("s", 50)
	_, _, err := k.Retain(149, other, nil)
	require.Equal(t, kv.KindConditionFailed, err.Kind)
	require.Contains(t, err.Text, `snapshot "s" already exists`)
	_, err = k.FindName(150, "s")
	require.Equal(t, kv.KindNotFound, err.Kind)
	require.Contains(t, err.Text, "it may have expired")
	second := mustRetain(t, k, 150, other)
	got, err := k.FindName(150, "s")
	require.Nil(t, err)
	require.Equal(t, second, got)
	require.Equal(t, []uint64{first.Number}, k.Expire(150))
	require.Empty(t, k.Expire(199))
	_, err = k.FindNumber(150, first.Number)
	require.Equal(t, kv.KindTooOld, err.Kind)
	require.Contains(t, err.Text, "does not exist")
	_, err = k.FindNumber(150, second.Number+1)
	require.Equal(t, kv.KindNotFound, err.Kind)
	require.Contains(t, err.Hint, "in this cluster")
}

func TestHistoryRetainsStatesWithinIt(t *testing.T) {
	k := newRegistry()
	one := mustRetain(t, k, 100, request(100, 1))
	require.Empty(t, k.Expire(1_000_000), "it is still the current state")
	two := mustRetain(t, k, 200, request(200, 2))
	require.Empty(t, k.Expire(209), "at 199 it was the current state")
	got, err := k.AsOf(209, 199)
	require.Nil(t, err)
	require.Equal(t, one, got)
	require.Equal(t, []uint64{one.Number}, k.Expire(210))
	_, err = k.AsOf(210, 199)
	require.Equal(t, kv.KindTooOld, err.Kind)
	require.Contains(t, err.Text, "before the history, which begins at 1970-01-01T00:00:00.001Z")
	got, err = k.AsOf(210, 200)
	require.Nil(t, err)
	require.Equal(t, two, got)
	_, err = k.AsOf(210, 211)
	require.Equal(t, kv.KindInvalid, err.Kind)
	require.Contains(t, err.Text, "in the future: the server's clock shows 1970-01-01T00:00:00.000Z")
}

func TestWithoutHistoryOnlyNamedAreRetained(t *testing.T) {
	k := New(Options{}, nil, 1, 0, 0)
	_, fresh, err := k.Retain(100, request(100, 1), nil)
	require.Nil(t, err)
	require.False(t, fresh)
	require.EqualValues(t, 1, k.SafePoint(0), "older versions can be collected nevertheless")
	mustRetain(t, k, 100, request(100, 1).named("s", 50))
	_, err = k.AsOf(100, 100)
	require.Contains(t, err.Text, "history is off")
	// The log has a history, which is switched off now.
	old := New(Options{}, []*msg.Snapshot{{Number: 1, Time: 5}, {Number: 2, Time: 6, Name: "s", Expires: 100}}, 3, 7, 7)
	require.Equal(t, []uint64{1}, old.Expire(7))
	all, named := old.Len()
	require.Equal(t, []int{1, 1}, []int{all, named})
	require.EqualValues(t, 4, old.Age(10))
}

func TestEmptyHistoryIsReported(t *testing.T) {
	_, err := newRegistry().AsOf(100, 50)
	require.Equal(t, kv.KindTooOld, err.Kind)
	require.Contains(t, err.Text, "before the history, which is empty")
	require.Zero(t, newRegistry().Age(100))
}

func TestNamedSnapshotsAreBounded(t *testing.T) {
	k := newRegistry()
	for i := range MaxNamed {
		mustRetain(t, k, 100, request(int64(i), 1).named(fmt.Sprint("s", i), 50))
	}
	_, _, err := k.Retain(100, request(2000, 1).named("more", 50), nil)
	require.Equal(t, kv.KindResourceExhausted, err.Kind)
	require.Contains(t, err.Text, "1000 snapshots, which is the limit")
	mustRetain(t, k, 100, request(2000, 1))
	require.True(t, k.Drop(100, 1))
	mustRetain(t, k, 100, request(2001, 1).named("more", 50))
}

func TestNamesAreChecked(t *testing.T) {
	for name, want := range map[string]string{
		"a": "", "before-import": "", "2026/01/02_10:00.x": "", strings.Repeat("x", MaxNameBytes): "", "~!": "",
		"":                                  "has no name",
		strings.Repeat("x", MaxNameBytes+1): "has 201 bytes; the limit is 200",
		"a b":                               `the name "a b" has an invalid character`,
		" ":                                 "has an invalid character",
		"a\n":                               `"a\n"`,
		"@a":                                "has an invalid character", // reserved for ids
		"a@b":                               "has an invalid character",
		"größe":                             "has an invalid character",
		"\x7f":                              "has an invalid character",
		"a\x00":                             "has an invalid character",
	} {
		err := CheckName(name)
		if want == "" {
			require.Nil(t, err, "%q", name)
			continue
		}
		require.NotNil(t, err, "%q", name)
		require.Equal(t, kv.KindInvalid, err.Kind)
		require.Contains(t, err.Text, want)
		require.NotEmpty(t, err.Hint)
	}
	_, _, err := newRegistry().Retain(100, request(1, 1).named("a b", 1), nil)
	require.Equal(t, kv.KindInvalid, err.Kind, "the registry checks names")
}
