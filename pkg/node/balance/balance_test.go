package balance_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/balance"
)

const second = int64(time.Second)

// TestAShardIsReturnedOnlyIfItMay: n1 leads one shard.
func TestAShardIsReturnedOnlyIfItMay(t *testing.T) {
	whole := balance.Led{Shard: 4, Preferred: 2, Since: 100 * second, IsWhole: true}
	with := func(f func(*balance.Led)) balance.Led {
		l := whole
		f(&l)
		return l
	}
	for name, c := range map[string]struct {
		led      balance.Led
		now      int64
		returned bool
	}{
		"it has settled":                 {whole, 110 * second, true},
		"it has not settled":             {whole, 110*second - 1, false},
		"this node is preferred":         {with(func(l *balance.Led) { l.Preferred = 1 }), 1000 * second, false},
		"a replica is missing or drains": {with(func(l *balance.Led) { l.IsWhole = false }), 1000 * second, false},
	} {
		var b balance.Balancer
		got, ok := b.Next(c.now, 1, []balance.Led{c.led})
		require.Equal(t, c.returned, ok, name)
		if ok {
			require.Equal(t, c.led, got, name)
		}
	}
	var b balance.Balancer
	missing := with(func(l *balance.Led) { l.IsWhole = false })
	b.Next(200*second, 1, []balance.Led{missing})
	_, ok := b.Next(210*second-1, 1, []balance.Led{whole})
	require.False(t, ok, "a replica was missing less than 10 s ago")
	_, ok = b.Next(210*second, 1, []balance.Led{whole})
	require.True(t, ok)
}

// TestReturnsHaveARate: of a node, and shards take turns if a return does not happen.
func TestReturnsHaveARate(t *testing.T) {
	b := balance.Balancer{Config: balance.Config{Settle: 10 * time.Second, Every: 3 * time.Second}}
	led := []balance.Led{{Shard: 1, Preferred: 2, IsWhole: true}, {Shard: 2, Preferred: 3, IsWhole: true}}
	var got []string
	for now := int64(0); now < 30*second; now += second / 4 {
		if l, ok := b.Next(now, 1, led); ok {
			got = append(got, fmt.Sprintf("%v %v", l.Shard, time.Duration(now)))
		}
	}
	require.Equal(t, []string{"s1 10s", "s2 13s", "s1 20s", "s2 23s"}, got)
}

// TestAShardThatDoesNotStayIsReturnedLessOften: its preferred node gives it away one second after each return. When
// that has stopped for long, the node is trusted again.
func TestAShardThatDoesNotStayIsReturnedLessOften(t *testing.T) {
	var b balance.Balancer
	led := balance.Led{Preferred: 2, IsWhole: true}
	var waits []time.Duration
	now := int64(0)
	for range 8 {
		led.Since = now
		for ok := false; !ok; now += second {
			_, ok = b.Next(now, 1, []balance.Led{led})
		}
		waits = append(waits, time.Duration(now-second-led.Since))
	}
	require.Equal(t, []time.Duration{10e9, 10e9, 20e9, 40e9, 80e9, 160e9, 300e9, 300e9}, waits)
	now += int64(time.Hour)
	led.Since = now
	_, ok := b.Next(now+299*second, 1, []balance.Led{led})
	require.False(t, ok)
	_, ok = b.Next(now+300*second, 1, []balance.Led{led})
	require.True(t, ok)
	now += 301 * second
	led.Since = now
	_, ok = b.Next(now+10*second, 1, []balance.Led{led})
	require.True(t, ok)
}

// TestAClusterIsBalancedWithinAMinute: from any leaders, also if returns take long, each shard changes its leader at
// most once, and then a node leads at most one more than another.
func TestAClusterIsBalancedWithinAMinute(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		nodes := []int{3, 5, 7}[rnd.IntN(3)]
		p := kv.FirstPlacement(kv.DefaultShards(nodes, 3)+1, nodes)
		p.Replicas = kv.ReplicasOn(nodes, 3+2*rnd.IntN(2))
		leaders, since := make([]kv.NodeID, len(p.Shards)), make([]int64, len(p.Shards))
		changes, due := make([]int, len(p.Shards)), make([]int64, len(p.Shards))
		one := rnd.IntN(4) == 0 // the node that has started first leads all that it can
		for s := range leaders {
			on := p.NodesOf(kv.ShardID(s))
			leaders[s] = on[rnd.IntN(len(on))]
			for _, n := range on {
				if one && n == 1 {
					leaders[s] = n
				}
			}
		}
		balancers := make([]balance.Balancer, nodes+1)
		for now := int64(0); now < 60*second; now += second / 4 {
			for s := range leaders {
				if due[s] != 0 && now >= due[s] {
					leaders[s], since[s], due[s] = p.Node(kv.ShardID(s)), now, 0
					changes[s]++
				}
			}
			for n := kv.NodeID(1); int(n) <= nodes; n++ {
				var led []balance.Led
				for s, leader := range leaders {
					if leader == n {
						led = append(led, balance.Led{Shard: kv.ShardID(s), Preferred: p.Node(kv.ShardID(s)), Since: since[s],
							IsWhole: due[s] == 0})
					}
				}
				if l, ok := balancers[n].Next(now, n, led); ok {
					due[l.Shard] = now + 1 + rnd.Int64N(second)
				}
			}
		}
		count := make([]int, nodes)
		for s, leader := range leaders {
			count[leader-1]++
			require.LessOrEqual(t, changes[s], 1, "seed %d, s%d", seed, s)
		}
		for _, n := range count {
			require.InDelta(t, len(leaders)/nodes, n, 1, "seed %d: %v", seed, count)
		}
		require.Equal(t, p.Shards, leaders, "seed %d", seed)
	}
}
