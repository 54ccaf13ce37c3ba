package snapshot

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
	require.Equal(t, Unknown, k.Verdict(1, 1))
	require.Zero(t, k.SafePoint())
	list := &msg.SnapshotList{RequesterIncarnation: 5, Incarnation: 2, Change: 4, Next: 10}
	require.False(t, k.Apply(list), "it was sent to the previous incarnation")
	require.Equal(t, Unknown, k.Verdict(4, 10))
	require.True(t, k.Apply(&msg.SnapshotList{
		RequesterIncarnation: 6, Incarnation: 2, Change: 5, Next: 10, SafePoint: 30,
		Numbers: []uint64{4, 7, 8}, CSNs: []uint64{10, 20, 20},
	}))
	require.NoError(t, k.Check())
	for _, c := range []struct {
		number uint64
		csn    kv.CSN
		want   Verdict
		why    string
	}{
		{4, 10, Readable, "it is listed"},
		{8, 20, Readable, "two have the same CSN here"},
		{4, 11, Removed, "it is not the listed snapshot, but one of another incarnation"},
		{5, 15, Removed, "it was removed"},
		{9, 30, Removed, "it was removed, although its versions are still here"},
		{10, 30, Readable, "it is newer than the list, at the safe point"},
		{12, 99, Readable, "it is newer than the list, above the safe point"},
		{11, 29, Removed, "no newer snapshot is below the safe point"},
	} {
		require.Equal(t, c.want, k.Verdict(c.number, c.csn), "%d at %d: %s", c.number, c.csn, c.why)
	}
	require.Equal(t, "readable removed unknown", Readable.String()+" "+Removed.String()+" "+Unknown.String())
	require.Equal(t, &msg.SnapshotListRequest{RequesterIncarnation: 6, Incarnation: 2, Change: 5}, k.Request())
}

func TestOlderListIsIgnored(t *testing.T) {
	var k Known
	list := &msg.SnapshotList{Incarnation: 2, Change: 5, Next: 10, SafePoint: 30, Numbers: []uint64{4}, CSNs: []uint64{10}}
	require.True(t, k.Apply(list))
	for _, p := range []*msg.SnapshotList{
		list,
		{Incarnation: 2, Change: 4, Next: 99},
		{Incarnation: 1, Change: 50, Next: 99},
		{Incarnation: 2, Change: 6, Next: 99, Numbers: []uint64{4}},
	} {
		require.False(t, k.Apply(p), "%v", p)
		require.Equal(t, Readable, k.Verdict(4, 10))
	}
	list = &msg.SnapshotList{
		Incarnation: 3, Change: 1, Next: 11, SafePoint: 10, Numbers: []uint64{4}, CSNs: []uint64{10},
	}
	require.True(t, k.Apply(list))
	require.EqualValues(t, 30, k.SafePoint(), "a restarted registry may have a lower safe point")
}

func TestCheckDetectsWrongOrder(t *testing.T) {
	for _, k := range []Known{
		{numbers: []uint64{2, 1}, csns: []kv.CSN{1, 1}},
		{numbers: []uint64{1, 2}, csns: []kv.CSN{2, 1}, safePoint: 3},
		{numbers: []uint64{1}, csns: []kv.CSN{4}, safePoint: 3},
	} {
		require.Error(t, k.Check())
	}
}

// shardModel is a shard that receives lists late and out of order, and collects garbage by them.
type shardModel struct {
	*model
	// inc is the incarnation of the hot shard, own that of this shard.
	inc, own kv.Incarnation
	known    Known
	// requests are the incarnations in which the requests in flight were sent.
	requests []kv.Incarnation
	// lists are in flight to the shard.
	lists []*msg.SnapshotList
	// lost are the CSNs whose versions may be collected.
	lost map[kv.CSN]bool
}

func (l *shardModel) step(t *rapid.T) {
	steps := []string{"registry", "registry", "registry", "request", "send", "receive", "receive", "restart"}
	switch rapid.SampledFrom(steps).Draw(t, "step") {
	case "registry":
		before := l.registry
		l.model.step(t)
		if l.registry != before {
			l.inc++
		}
	case "request":
		l.requests = append(l.requests, l.known.Request().RequesterIncarnation)
	case "send":
		if len(l.requests) > 0 {
			l.lists = append(l.lists, l.registry.ListFor(0, rapid.SampledFrom(l.requests).Draw(t, "to"), l.inc))
		}
	case "receive":
		if len(l.lists) == 0 {
			return
		}
		i := rapid.IntRange(0, len(l.lists)-1).Draw(t, "which")
		l.known.Apply(l.lists[i])
		if rapid.Bool().Draw(t, "once") {
			l.lists = slices.Delete(l.lists, i, i+1)
		}
		for x := range l.known.SafePoint() {
			if !slices.Contains(l.known.CSNs(), x) {
				l.lost[x] = true
			}
		}
	case "restart":
		l.own++
		l.known = NewKnown(l.own)
	}
	require.NoError(t, l.known.Check())
}

// TestNoReadableSnapshotIsCollected: whichever lists a shard has received, in whichever order, a collected
// snapshot is never readable, and a snapshot of the registry is never reported as removed.
func TestNoReadableSnapshotIsCollected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &shardModel{
			model: newModel(rapid.SampledFrom([]int64{0, 10, 60}).Draw(t, "history")),
			inc:   1, own: 1, known: NewKnown(1), lost: map[kv.CSN]bool{},
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			l.step(t)
			for i := range l.all {
				p := &l.all[i]
				v := l.known.Verdict(p.Number, p.At(0))
				if v == Readable {
					require.False(t, l.lost[p.At(0)], "snapshot %v, known %+v", p, l.known)
				}
				if _, has := l.registry.indexOf(p.Number); has {
					require.NotEqual(t, Removed, v, "snapshot %v, known %+v", p, l.known)
				}
				if !l.known.HasList() {
					require.Equal(t, Unknown, v)
				}
			}
		}
	})
}
