package node

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// readClass is the purpose of a store read. Lower classes have priority.
type readClass uint8

const (
	// commitReads: a commit waits for the row.
	commitReads readClass = iota
	// pointReads are of single rows.
	pointReads
	// rangeReads are of ranges, and of the shards' own sweeps.
	rangeReads
	readClasses
)

func classOf(r *entry.Read) readClass {
	switch {
	case r.Kind != entry.ReadKey && r.Kind != entry.ReadRow:
		return rangeReads
	case r.Commit:
		return commitReads
	}
	return pointReads
}

// readJob is a store read of a shard.
type readJob struct {
	loop *shardLoop
	// gen is the machine that has requested it (shardLoop.gen). Another one does not get the result.
	gen   uint32
	read  entry.Read
	class readClass
	// queuedAt is when it was queued, by the node's clock.
	queuedAt int64
	// turns is set for a range, which is read in turns; turnCount counts them.
	turns     *engine.Turns
	turnCount int
	// running: a reader has it. dropped: its result is not used.
	running, dropped bool
	// result takes the result of a read that no machine has requested (readNow); else it is nil.
	result chan entry.ReadResult
}

func newReadJob(loop *shardLoop, gen uint32, r entry.Read, now int64) *readJob {
	j := &readJob{loop: loop, gen: gen, read: r, class: classOf(&r), queuedAt: now}
	if r.Kind == entry.ReadRange {
		j.turns = engine.NewTurns(r, turnRows)
	}
	return j
}

// jobKey identifies a read: ids are unique within a machine of a shard.
type jobKey struct {
	loop *shardLoop
	gen  uint32
	id   uint64
}

// deliver passes the result to what has requested it.
func (j *readJob) deliver(res entry.ReadResult) {
	if j.result != nil {
		j.result <- res
		return
	}
	j.loop.inbox.pushRead(j.gen, res)
}

func (j *readJob) key() jobKey { return jobKey{j.loop, j.gen, j.read.ID} }

// readQueue has the reads that wait for a reader. In each class every user has a queue, and users take
// turns. A read counts for its user until it is finished. A dropped read counts until it is out of the
// queue and no reader has it.
type readQueue struct {
	// ids numbers the reads that no machine has requested.
	ids atomic.Uint64
	mu  sync.Mutex
	// idle are the waiting readers by the last of their classes, idleCount their numbers.
	idle      [readClasses]*sync.Cond
	idleCount [readClasses]int
	jobs      map[jobKey]*readJob
	classes   [readClasses]userQueues
	// users is the number of reads of each user.
	users   map[kv.Account]int
	waiting int
	closed  bool
}

// userQueues are the reads of one class by user; order has the users that have some, the next one first.
type userQueues struct {
	order []kv.Account
	jobs  map[kv.Account][]*readJob
}

func newReadQueue() *readQueue {
	q := &readQueue{jobs: map[jobKey]*readJob{}, users: map[kv.Account]int{}}
	for i := range q.classes {
		q.idle[i] = sync.NewCond(&q.mu)
		q.classes[i].jobs = map[kv.Account][]*readJob{}
	}
	return q
}

func (c *userQueues) add(j *readJob) {
	u := j.read.User
	if len(c.jobs[u]) == 0 {
		c.order = append(c.order, u)
	}
	c.jobs[u] = append(c.jobs[u], j)
}

// take removes and returns the next read, nil if there is none.
func (c *userQueues) take() *readJob {
	if len(c.order) == 0 {
		return nil
	}
	u := c.order[0]
	c.order = c.order[1:]
	jobs := c.jobs[u]
	j := jobs[0]
	jobs[0] = nil
	if len(jobs) == 1 {
		delete(c.jobs, u)
	} else {
		c.jobs[u] = jobs[1:]
		c.order = append(c.order, u)
	}
	return j
}

// remove removes a read.
func (c *userQueues) remove(j *readJob) {
	u := j.read.User
	left := slices.DeleteFunc(c.jobs[u], func(x *readJob) bool { return x == j })
	if len(left) > 0 {
		c.jobs[u] = left
		return
	}
	delete(c.jobs, u)
	c.order = slices.DeleteFunc(c.order, func(x kv.Account) bool { return x == u })
}

// add queues a read. If the queue is full it returns a read that is rejected: one of the user with the most
// reads.
func (q *readQueue) add(j *readJob) (rejected *readJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= maxReadsWaiting && j.class != commitReads {
		rejected = q.victim(j)
		if rejected == j {
			return j
		}
		q.remove(rejected)
	}
	q.jobs[j.key()] = j
	q.users[j.read.User]++
	q.enqueue(j)
	return rejected
}

// victim returns the read that is rejected in favor of j: the newest one of the user with the most reads,
// or j if its user has as many.
func (q *readQueue) victim(j *readJob) *readJob {
	most, user := q.users[j.read.User]+1, j.read.User
	for u, n := range q.users {
		if n > most {
			most, user = n, u
		}
	}
	if user == j.read.User {
		return j
	}
	for _, class := range []readClass{rangeReads, pointReads} {
		jobs := q.classes[class].jobs[user]
		if len(jobs) > 0 {
			return jobs[len(jobs)-1]
		}
	}
	return j
}

func (q *readQueue) enqueue(j *readJob) {
	j.running = false
	q.classes[j.class].add(j)
	q.waiting++
	// A reader serves two classes at most, of which it waits on the last one.
	for c := j.class; c < min(j.class+2, readClasses); c++ {
		if q.idleCount[c] > 0 {
			q.wake(c)
			return
		}
	}
}

// wake wakes a reader. Some readers that wait on rangeReads do not serve rows, so all of them are woken.
func (q *readQueue) wake(c readClass) {
	if c == rangeReads {
		q.idleCount[c] = 0
		q.idle[c].Broadcast()
		return
	}
	q.idleCount[c]--
	q.idle[c].Signal()
}

// remove removes a queued read.
func (q *readQueue) remove(j *readJob) {
	q.classes[j.class].remove(j)
	q.waiting--
	q.release(j)
}

// release removes a read from the counts.
func (q *readQueue) release(j *readJob) {
	delete(q.jobs, j.key())
	u := j.read.User
	q.users[u]--
	if q.users[u] == 0 {
		delete(q.users, u)
	}
}

// take waits for a read of one of some classes, in the order of priority; nil means that the queue is
// closed.
func (q *readQueue) take(classes []readClass) *readJob {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed {
		for _, c := range classes {
			j := q.classes[c].take()
			if j != nil {
				q.waiting--
				j.running = true
				return j
			}
		}
		last := classes[len(classes)-1]
		q.idleCount[last]++
		q.idle[last].Wait()
	}
	return nil
}

// requeue queues a range after a turn, unless it was dropped.
func (q *readQueue) requeue(j *readJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.dropped {
		q.release(j)
		return
	}
	q.enqueue(j)
}

// finish ends a read, and reports whether its result is used.
func (q *readQueue) finish(j *readJob) (used bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(j)
	return !j.dropped
}

// drop cancels reads whose results are not used.
func (q *readQueue) drop(loop *shardLoop, ids []uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		j := q.jobs[jobKey{loop, loop.gen, id}]
		switch {
		case j == nil: // finished
		case j.running:
			j.dropped = true
		default:
			q.remove(j)
		}
	}
}

// dropAll cancels the reads of a machine that has ended.
func (q *readQueue) dropAll(loop *shardLoop, gen uint32) {
	q.mu.Lock()
	var ids []uint64
	for k := range q.jobs {
		if k.loop == loop && k.gen == gen {
			ids = append(ids, k.id)
		}
	}
	q.mu.Unlock()
	q.drop(loop, ids)
}

func (q *readQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, c := range q.idle {
		c.Broadcast()
	}
}

// busiest returns the user with the most reads.
func (q *readQueue) busiest() (user kv.Account, reads int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for u, n := range q.users {
		if n > reads || n == reads && u < user {
			user, reads = u, n
		}
	}
	return user, reads
}

// backlog returns the number of queued reads, and the one that waits longest.
func (q *readQueue) backlog() (waiting int, oldest *readJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if !j.running && (oldest == nil || j.queuedAt < oldest.queuedAt) {
			oldest = j
		}
	}
	return q.waiting, oldest
}
