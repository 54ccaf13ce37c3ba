package workload_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

func TestALoadGivesEveryKeyAValue(t *testing.T) {
	s := &loadtest.Store{}
	var steps []uint64
	n, err := workload.Load(t.Context(), s, workload.LoadOptions{Keys: 1003, ValueBytes: 40, Batch: 7, Counters: true,
		Progress: func(n uint64) { steps = append(steps, n) }})
	require.NoError(t, err)
	require.Equal(t, uint64(1003), n)
	require.Equal(t, 2*1003, s.Len())
	seen := map[string]bool{}
	for i := range uint64(1003) {
		v := s.Get(workload.RegisterKey("zeta/", i))
		require.True(t, v.Found && !v.IsNumber)
		require.Len(t, v.Value, 40)
		require.False(t, seen[string(v.Value)])
		seen[string(v.Value)] = true
		c := s.Get(workload.CounterKey("zeta/", i))
		require.True(t, c.Found && c.IsNumber && c.Number == 0)
	}
	require.True(t, slices.IsSorted(steps))
	require.Equal(t, uint64(1003), steps[len(steps)-1])
}

func TestLoadingTwiceIsLoadingOnce(t *testing.T) {
	s := &loadtest.Store{}
	o := workload.LoadOptions{Keys: 50, Counters: true}
	_, err := workload.Load(t.Context(), s, o)
	require.NoError(t, err)
	first := s.Get(workload.RegisterKey("zeta/", 7)).Value
	_, err = s.Execute(t.Context(), []workload.Op{{Kind: workload.Add, Key: workload.CounterKey("zeta/", 7), Delta: 5}})
	require.NoError(t, err)
	_, err = workload.Load(t.Context(), s, o)
	require.NoError(t, err)
	require.Equal(t, first, s.Get(workload.RegisterKey("zeta/", 7)).Value)
	require.Equal(t, int64(5), s.Get(workload.CounterKey("zeta/", 7)).Number, "counters keep their sums")
}

func TestALoadThatBrokeOffGoesOnWhereItWas(t *testing.T) {
	broken := true
	var mu sync.Mutex
	s := &loadtest.Store{Before: func(_ context.Context, _ uint64, ops []workload.Op) (workload.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken && string(ops[0].Key) == "zeta/r/000000500" {
			return workload.Reply{}, kv.Errorf(kv.KindResourceExhausted, "disk full")
		}
		return workload.Reply{}, nil
	}}
	o := workload.LoadOptions{Keys: 1000, Batch: 10, Clients: 4}
	from, err := workload.Load(t.Context(), s, o)
	require.ErrorContains(t, err, "loading keys 500 to 509")
	require.Equal(t, kv.KindResourceExhausted, kv.KindOf(err))
	require.LessOrEqual(t, from, uint64(500))
	for i := range from {
		require.True(t, s.Get(workload.RegisterKey("zeta/", i)).Found, "key %d is below the point to resume at", i)
	}
	mu.Lock()
	broken = false
	mu.Unlock()
	o.From = from
	n, err := workload.Load(t.Context(), s, o)
	require.NoError(t, err)
	require.Equal(t, uint64(1000), n)
	require.Equal(t, 1000, s.Len())
}

func TestALoadCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &loadtest.Store{Before: func(ctx context.Context, n uint64, _ []workload.Op) (workload.Reply, error) {
		if n == 5 {
			cancel()
		}
		return workload.Reply{}, nil
	}}
	n, err := workload.Load(ctx, s, workload.LoadOptions{Keys: 1000, Batch: 10, Clients: 1})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, uint64(50), n)
}

func TestLoadOptionsOutOfRangeAreRefused(t *testing.T) {
	for says, o := range map[string]workload.LoadOptions{
		"batches of -1":      {Batch: -1},
		"batches of 10001":   {Batch: 10_001},
		"batches of 6000":    {Batch: 6000, Counters: true},
		"more than 16777216": {Batch: 1000, ValueBytes: 1 << 20},
		"from is 101":        {Keys: 100, From: 101},
		"values of 5 bytes":  {ValueBytes: 5},
		"timeout":            {Timeout: 24 * time.Hour},
	} {
		_, err := workload.Load(t.Context(), &loadtest.Store{}, o)
		require.ErrorContains(t, err, says)
	}
}

func TestNothingIsToBeLoadedAfterTheLastKey(t *testing.T) {
	n, err := workload.Load(t.Context(), &loadtest.Store{}, workload.LoadOptions{Keys: 10, From: 10})
	require.NoError(t, err)
	require.Equal(t, uint64(10), n)
}

func TestALoadedValueIsNoValueOfARun(t *testing.T) {
	s := &loadtest.Store{}
	_, err := workload.Load(t.Context(), s, workload.LoadOptions{Keys: 1})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(s.Get(workload.RegisterKey("zeta/", 0)).Value), "load 0 "))
}
