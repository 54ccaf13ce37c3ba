package pins

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func TestVerdictFollowsList(t *testing.T) {
	k := NewKnown(6)
	require.Equal(t, Unheard, k.Verdict(1, 1))
	require.Zero(t, k.Floor())
	require.False(t, k.Take(&msg.SnapshotList{Asker: 5, Incarnation: 2, Change: 4, Next: 10, Numbers: []uint64{4}, Indexes: []uint64{10}}), "it was told to the life before")
	require.Equal(t, Unheard, k.Verdict(4, 10))
	require.True(t, k.Take(&msg.SnapshotList{Asker: 6, Incarnation: 2, Change: 5, Next: 10, Floor: 30, Numbers: []uint64{4, 7, 8}, Indexes: []uint64{10, 20, 20}}))
	require.NoError(t, k.Check())
	for _, c := range []struct {
		number uint64
		index  kv.Index
		want   Verdict
		why    string
	}{
		{4, 10, Readable, "it was told"},
		{8, 20, Readable, "two are the same here"},
		{4, 11, Gone, "it is not the pin that was told, but one of another life"},
		{5, 15, Gone, "it was given up"},
		{9, 30, Gone, "it was given up, although what it needs is still here"},
		{10, 30, Readable, "it is newer than what was told, at the floor"},
		{12, 99, Readable, "it is newer than what was told, above the floor"},
		{11, 29, Gone, "no pin that is newer can be below the floor"},
	} {
		require.Equal(t, c.want, k.Verdict(c.number, c.index), "%d at %d: %s", c.number, c.index, c.why)
	}
	require.Equal(t, "readable gone unheard", Readable.String()+" "+Gone.String()+" "+Unheard.String())
	require.Equal(t, &msg.SnapshotListRequest{Asker: 6, Incarnation: 2, Change: 5}, k.Question())
}

func TestOlderListIsIgnored(t *testing.T) {
	var k Known
	told := &msg.SnapshotList{Incarnation: 2, Change: 5, Next: 10, Floor: 30, Numbers: []uint64{4}, Indexes: []uint64{10}}
	require.True(t, k.Take(told))
	for _, p := range []*msg.SnapshotList{told, {Incarnation: 2, Change: 4, Next: 99}, {Incarnation: 1, Change: 50, Next: 99},
		{Incarnation: 2, Change: 6, Next: 99, Numbers: []uint64{4}}} {
		require.False(t, k.Take(p), "%v", p)
		require.Equal(t, Readable, k.Verdict(4, 10))
	}
	require.True(t, k.Take(&msg.SnapshotList{Incarnation: 3, Change: 1, Next: 11, Floor: 10, Numbers: []uint64{4}, Indexes: []uint64{10}}))
	require.EqualValues(t, 30, k.Floor(), "a keeper that has restarted may have forgotten how far it was")
}

func TestCheckDetectsWrongOrder(t *testing.T) {
	for _, k := range []Known{{numbers: []uint64{2, 1}, csns: []kv.Index{1, 1}}, {numbers: []uint64{1, 2}, csns: []kv.Index{2, 1}, safePoint: 3},
		{numbers: []uint64{1}, csns: []kv.Index{4}, safePoint: 3}} {
		require.Error(t, k.Check())
	}
}

// listener is a shard that hears of a keeper, late and out of order, and
// collects by what it knows.
type shardModel struct {
	*model
	// inc is the life of the keeper's shard, own that of this one.
	inc, own kv.Incarnation
	known    Known
	// asked are the lives in which questions on the way were put.
	requests []kv.Incarnation
	// told are on the way to the shard.
	lists []*msg.SnapshotList
	// lost are the indexes whose state can no longer be read.
	lost map[kv.Index]bool
}

func (l *shardModel) step(t *rapid.T) {
	switch rapid.SampledFrom([]string{"twin", "twin", "twin", "ask", "tell", "hear", "hear", "forget"}).Draw(t, "step") {
	case "twin":
		before := l.registry
		l.model.step(t)
		if l.registry != before {
			l.inc++
		}
	case "ask":
		l.requests = append(l.requests, l.known.Question().Asker)
	case "tell":
		if len(l.requests) > 0 {
			l.lists = append(l.lists, l.registry.Tell(0, rapid.SampledFrom(l.requests).Draw(t, "to"), l.inc))
		}
	case "hear":
		if len(l.lists) == 0 {
			return
		}
		i := rapid.IntRange(0, len(l.lists)-1).Draw(t, "which")
		l.known.Take(l.lists[i])
		if rapid.Bool().Draw(t, "once") {
			l.lists = slices.Delete(l.lists, i, i+1)
		}
		for x := range l.known.Floor() {
			if !slices.Contains(l.known.Indexes(), x) {
				l.lost[x] = true
			}
		}
	case "forget": // the shard restarts
		l.own++
		l.known = NewKnown(l.own)
	}
	require.NoError(t, l.known.Check())
}

// TestNoReadablePinWasCollected: whatever a shard has heard, and in whatever
// order, it never takes for readable what it has collected. What the keeper
// has at the moment, it never takes for gone.
func TestNoReadableSnapshotIsCollected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &shardModel{model: newModel(rapid.SampledFrom([]int64{0, 10, 60}).Draw(t, "history")), inc: 1, own: 1, known: NewKnown(1), lost: map[kv.Index]bool{}}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			l.step(t)
			for i := range l.all {
				p := &l.all[i]
				v := l.known.Verdict(p.Number, p.At(0))
				if v == Readable {
					require.False(t, l.lost[p.At(0)], "pin %v, known %+v", p, l.known)
				}
				if _, has := l.registry.indexOf(p.Number); has {
					require.NotEqual(t, Gone, v, "pin %v, known %+v", p, l.known)
				}
				if !l.known.Heard() {
					require.Equal(t, Unheard, v)
				}
			}
		}
	})
}
