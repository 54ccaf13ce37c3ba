package groups

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestTurnsOfAReplicaAreInOrder: many wake the same replicas. A turn follows each wake, no replica is in two turns at
// once, and what a turn sends is sent before the next one begins.
func TestTurnsOfAReplicaAreInOrder(t *testing.T) {
	const replicas, wakers, wakes = 20, 8, 2000
	var all []*replica
	var busy, woken, turned [replicas]atomic.Int64
	for i := range replicas {
		all = append(all, &replica{shard: kv.ShardID(i)})
	}
	take := func(r *replica, out *outgoing) {
		if busy[r.shard].Add(1) != 1 {
			t.Error("a replica is in two turns, or its messages were not sent before its next one")
		}
		turned[r.shard].Store(woken[r.shard].Load())
		runtime.Gosched() // others wake it in the turn
		out.post(1, consensus.Message{Group: r.shard})
	}
	turns := newTurns(take, func(out *outgoing) {
		runtime.Gosched()
		for _, m := range out.replicas[1] {
			busy[m.Group].Add(-1)
		}
	})
	turns.start()
	var wg sync.WaitGroup
	for i := range wakers {
		wg.Go(func() {
			for k := range wakes {
				r := all[(i+k)%replicas]
				woken[r.shard].Add(1)
				turns.add(r, all[0])
			}
		})
	}
	wg.Wait()
	for i := range replicas {
		took := func() bool { return turned[i].Load() == woken[i].Load() }
		require.Eventually(t, took, 10*time.Second, time.Millisecond)
	}
	turns.close()
	for i := range replicas {
		require.Zero(t, busy[i].Load())
	}
}

// TestLongTurnsAreRelieved: as many turns as there are goroutines do not end. Others take their turns all the same, and
// the further goroutines end.
func TestLongTurnsAreRelieved(t *testing.T) {
	release, done := make(chan struct{}), make(chan kv.ShardID, 10)
	turns := newTurns(func(r *replica, _ *outgoing) {
		if r.shard > 1 {
			<-release
		}
		done <- r.shard
	}, func(*outgoing) {})
	turns.start()
	stuck := runtime.GOMAXPROCS(0)
	for i := range stuck {
		all := []*replica{{shard: kv.ShardID(2 + i)}}
		if i == stuck-1 {
			all = append(all, &replica{shard: 1}) // it waits behind the last one
		}
		turns.add(all...)
		require.Eventually(t, func() bool { return turns.counts() == i+1 }, 10*time.Second, time.Millisecond)
	}
	require.Empty(t, done)
	turns.relieve()
	turns.relieve()
	require.Equal(t, kv.ShardID(1), <-done)
	close(release)
	for range stuck {
		<-done
	}
	require.Eventually(t, func() bool {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return turns.workers == stuck
	}, 10*time.Second, time.Millisecond)
	turns.close()
}

// TestHeartbeatsDoNotWaitForAMachineThatBegins: one goroutine takes both replicas, and sends what the first has to send
// before the second one's long turn.
func TestHeartbeatsDoNotWaitForAMachineThatBegins(t *testing.T) {
	sent, done := make(chan struct{}), make(chan bool, 1)
	turns := newTurns(func(r *replica, out *outgoing) {
		if !r.begins.Load() {
			out.post(1, consensus.Message{})
			return
		}
		select {
		case <-sent:
			done <- true
		case <-time.After(10 * time.Second):
			done <- false
		}
	}, func(out *outgoing) {
		if len(out.replicas) > 0 {
			close(sent)
		}
	})
	begins := &replica{shard: 2}
	begins.begins.Store(true)
	turns.add(&replica{shard: 1}, begins)
	turns.startOne()
	require.True(t, <-done)
	turns.close()
}

// counts returns how many replicas were taken.
func (t *turns) counts() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.taken)
}
