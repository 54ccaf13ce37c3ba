package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// after is a time some milliseconds after a fixed one.
func after(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func ms100(n int) time.Duration { return time.Duration(n) * 100 * time.Millisecond }

// TestFirstCommitBeganAfterTheKill: late responses to earlier commits, reads, errors and other shards do not count.
func TestFirstCommitBeganAfterTheKill(t *testing.T) {
	rs := requests{
		{shard: 1, increments: true, begin: after(90), end: after(101)},
		{shard: 1, begin: after(100), end: after(102)},
		{shard: 1, increments: true, begin: after(100), end: after(103), err: errors.New("no leader")},
		{shard: 2, increments: true, begin: after(100), end: after(104)},
		{shard: severalShards, increments: true, begin: after(100), end: after(105)},
	}
	_, ok := rs.firstCommit(1, after(100))
	require.False(t, ok)
	rs = append(rs, request{shard: 1, increments: true, begin: after(100), end: after(900)},
		request{shard: 1, increments: true, begin: after(300), end: after(800)})
	at, ok := rs.firstCommit(1, after(100))
	require.True(t, ok)
	require.Equal(t, after(800), at)
}

// TestLongestRequestIsOneInFlight in the span, also if it begins before or ends after it, or fails.
func TestLongestRequestIsOneInFlight(t *testing.T) {
	rs := requests{{begin: after(0), end: after(99)}, {begin: after(201), end: after(900)}}
	require.Nil(t, rs.longest(after(100), after(200)))
	require.Equal(t, rs[:1], rs.endedBy(after(99)))
	for _, r := range []request{{begin: after(50), end: after(100)}, {begin: after(90), end: after(150)},
		{begin: after(150), end: after(900)}, {begin: after(0), end: after(901), err: errors.New("timed out")}} {
		rs = append(rs, r)
		require.Equal(t, r.took(), rs.longestTook(after(100), after(200)))
	}
}

func TestRateCountsWhatEndedWell(t *testing.T) {
	rs := requests{{end: after(0)}, {end: after(1)}, {end: after(500)}, {end: after(501)},
		{end: after(2), err: errors.New("failed")}}
	require.Equal(t, 4.0, rs.perSecond(after(0), after(500)))
	require.Len(t, rs.errors(), 1)
}

func TestLostAndExcessIncrementsDoNotCancelOut(t *testing.T) {
	less, more := lost(map[string]int64{"a": 5, "b": 3, "c": 1}, map[string]int64{"a": 3, "b": 7, "c": 1})
	require.Equal(t, []int64{2, 4}, []int64{less, more})
}

// TestKillCountsOnlyOthersShards: of the survivors' requests, those on shards of the killed node give the failover, and
// single-shard requests on other shards what it cost these.
func TestKillCountsOnlyOthersShards(t *testing.T) {
	leaders := []int{0, 1, 0, 2}
	k := killed{shard: 2}
	k.count(requests{
		{shard: 1, increments: true, begin: after(900), end: after(950)},
		{shard: 1, begin: after(1100), end: after(1300)},
		{shard: 3, increments: true, begin: after(1400), end: after(1500)},
		{shard: 2, increments: true, begin: after(1001), end: after(1900)},
		{shard: 0, increments: true, begin: after(1001), end: after(2000)},
		{shard: severalShards, increments: true, begin: after(1001), end: after(3000)},
	}, leaders, 0, after(1000), after(1001), after(2000))
	require.Equal(t, killed{shard: 2, first: ms100(9), all: ms100(10), others: ms100(2), on: 1, before: ms100(1) / 2,
		kept: 2}, k)
}

func TestOrdinaryShardHasAnotherLeaderThanTheHotOne(t *testing.T) {
	require.Equal(t, kv.ShardID(2), ordinary([]int{1, 0, 2, 0}, 1))
	require.Equal(t, kv.ShardID(0), ordinary([]int{1, 0, 0}, 1))
	require.Equal(t, kv.ShardID(1), ordinary([]int{0, 0, 0}, 1), "there is none")
	require.Equal(t, []kv.ShardID{0, 2}, ledBy([]int{1, 0, 1}, 1))
}

// TestClusterIsWholeWithAllReplicas: each reason why it is not is found.
func TestClusterIsWholeWithAllReplicas(t *testing.T) {
	whole := func() *[3][]admin.Shard {
		var all [3][]admin.Shard
		for i := range all {
			all[i] = []admin.Shard{{Up: true, Replicas: make([]admin.Replica, 3)}}
		}
		all[1][0].Lease = time.Second
		return &all
	}
	leader, err := leaderOf(whole(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, leader)
	for what, spoil := range map[string]func(*[3][]admin.Shard){
		"failed":        func(a *[3][]admin.Shard) { a[0][0].Failure = "x" },
		"its leader":    func(a *[3][]admin.Shard) { a[2][0].Up = false },
		"2 replicas":    func(a *[3][]admin.Shard) { a[2][0].Replicas = a[2][0].Replicas[:2] },
		"has no leader": func(a *[3][]admin.Shard) { a[1][0].Lease = 0 },
		"lacks":         func(a *[3][]admin.Shard) { a[1][0].Missing = 1 },
		"lacks ":        func(a *[3][]admin.Shard) { a[1][0].Changing = true },
		"not ready":     func(a *[3][]admin.Shard) { a[1][0].Replicas[2].Lag = mostLag + 1 },
		"Learner:true":  func(a *[3][]admin.Shard) { a[1][0].Replicas[2].Learner = true },
		"Damaged:true":  func(a *[3][]admin.Shard) { a[1][0].Replicas[2].Damaged = true },
		"Silent:1s":     func(a *[3][]admin.Shard) { a[1][0].Replicas[2].Silent = time.Second },
	} {
		all := whole()
		spoil(all)
		_, err := leaderOf(all, 0)
		require.ErrorContains(t, err, what)
	}
}

func TestVerdictsOfFailoverMeasures(t *testing.T) {
	for want, m := range map[string]failoverMeasure{
		"-":                          {got: []float64{1, 2, 9}},
		"p50 <= 2 worst <= 9 met":    {got: []float64{9, 1, 2}, P50Target: bound(2), WorstTarget: bound(9)},
		"p50 <= 1 worst <= 9 MISSED": {got: []float64{9, 1, 2}, P50Target: bound(1), WorstTarget: bound(9)},
		"worst <= 8 MISSED":          {got: []float64{9, 1, 2}, WorstTarget: bound(8)},
		"worst >= 1 met":             {got: []float64{9, 1, 2}, WorstTarget: bound(1), LessIsWorse: true},
		"p50 >= 3 MISSED":            {got: []float64{9, 1, 2}, P50Target: bound(3), LessIsWorse: true},
	} {
		m.summarize()
		require.Equal(t, want, m.asked())
	}
}
