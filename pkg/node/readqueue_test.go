package node

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

var everyClass = []readClass{commitReads, pointReads, rangeReads}

func job(loop *shardLoop, id uint64, kind entry.ReadKind, user kv.Account) *readJob {
	return newReadJob(loop, 0, entry.Read{ID: id, Kind: kind, User: user}, 0)
}

func taken(q *readQueue) (ids []uint64) {
	for q.waiting > 0 {
		ids = append(ids, q.take(everyClass).read.ID)
	}
	return ids
}

// Commits precede single rows, which precede ranges. Within a class, users take turns.
func TestReadsAreOrderedByClassAndUser(t *testing.T) {
	q, loop := newReadQueue(), &shardLoop{}
	for i := range uint64(3) {
		q.add(job(loop, 10+i, entry.ReadRange, 1))
		q.add(job(loop, 20+i, entry.ReadKey, 1))
	}
	q.add(job(loop, 30, entry.ReadRange, 2))
	q.add(job(loop, 40, entry.ReadKey, 2))
	commit := newReadJob(loop, 0, entry.Read{ID: 50, Kind: entry.ReadKey, User: 1, Commit: true}, 0)
	q.add(commit)
	require.Equal(t, []uint64{50, 20, 40, 21, 22, 10, 30, 11, 12}, taken(q))
}

// A dropped read leaves the queue at once. If a reader has it, it counts for its user until the reader has
// finished, and is not queued again.
func TestDroppedReadLeavesQueue(t *testing.T) {
	q, loop, other := newReadQueue(), &shardLoop{id: 1}, &shardLoop{id: 2}
	for i := range uint64(4) {
		q.add(job(loop, i, entry.ReadRange, 1))
	}
	q.add(job(other, 2, entry.ReadRange, 1))
	running := q.take(everyClass)
	require.EqualValues(t, 0, running.read.ID)
	q.drop(loop, []uint64{0, 2, 99})
	require.Equal(t, 4, q.users[1], "0 is running; 1, 3 and 2 of another shard are queued")
	q.requeue(running)
	require.Equal(t, 3, q.users[1])
	j := q.take(everyClass)
	require.EqualValues(t, 1, j.read.ID)
	q.drop(loop, []uint64{1})
	require.False(t, q.finish(j), "its result is not used")
	require.Equal(t, []uint64{3, 2}, taken(q))
}

// If the queue is full, the newest read of the user with the most reads is rejected, and never the read of
// a commit.
func TestFullQueueRejectsReadOfBusiestUser(t *testing.T) {
	q, loop := newReadQueue(), &shardLoop{}
	for i := range uint64(maxReadsWaiting) {
		require.Nil(t, q.add(job(loop, i, entry.ReadRange, 1)))
	}
	mine := job(loop, 1<<20, entry.ReadRange, 1)
	require.Same(t, mine, q.add(mine))
	rejected := q.add(job(loop, 1<<20+1, entry.ReadKey, 2))
	require.NotNil(t, rejected)
	require.EqualValues(t, maxReadsWaiting-1, rejected.read.ID)
	commit := newReadJob(loop, 0, entry.Read{ID: 1<<20 + 2, Kind: entry.ReadKey, User: 1, Commit: true}, 0)
	require.Nil(t, q.add(commit))
	require.Equal(t, maxReadsWaiting+1, q.waiting)
	require.Equal(t, maxReadsWaiting, q.users[1])
}

// A read of any class wakes a waiting reader that serves its class.
func TestEveryReadWakesReader(t *testing.T) {
	q, loop := newReadQueue(), &shardLoop{}
	var wg sync.WaitGroup
	done := make(chan uint64, 10_000)
	readers := newReaders(4)
	for i := range readers {
		r := &readers[i]
		wg.Go(func() {
			for j := q.take(r.classes); j != nil; j = q.take(r.classes) {
				q.finish(j)
				done <- j.read.ID
			}
		})
	}
	const iterations = 1000
	for i := range uint64(iterations) {
		q.add(newReadJob(loop, 0, entry.Read{ID: 3 * i, Kind: entry.ReadKey, Commit: true}, 0))
		q.add(job(loop, 3*i+1, entry.ReadKey, 1))
		q.add(job(loop, 3*i+2, entry.ReadRange, 1))
		for range 3 {
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatalf("iteration %d: no reader takes the read", i)
			}
		}
	}
	q.close()
	wg.Wait()
	require.Empty(t, q.users)
	require.Empty(t, q.jobs)
}
