package node

import (
	"slices"
	"sync"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// readClass is what a read of the store is for. Those of a lower class go first.
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

// readJob is a read of the store for a shard.
type readJob struct {
	loop  *shardLoop
	read  entry.Read
	class readClass
	// since is when it was asked for, by the node's clock.
	since int64
	// turns is a range's, which is read a turn at a time; taken counts these.
	turns *engine.Turns
	taken int
	// running: a reader has it. dropped: its result is not used.
	running, dropped bool
}

func newReadJob(loop *shardLoop, r entry.Read, now int64) *readJob {
	j := &readJob{loop: loop, read: r, class: classOf(&r), since: now}
	if r.Kind == entry.ReadRange {
		j.turns = engine.NewTurns(r, turnRows)
	}
	return j
}

// jobName names a read: numbers are a shard's.
type jobName struct {
	loop *shardLoop
	id   uint64
}

func (j *readJob) name() jobName { return jobName{j.loop, j.read.ID} }

// readQueue has the reads that wait for a reader. In each class every user has a queue of its own,
// and users take turns. A read counts for its user until it has been done, or, if it was dropped, until
// it is out of the queue and no reader has it.
type readQueue struct {
	mu sync.Mutex
	// idle has the readers that wait, by the last of their classes, and waits counts them.
	idle    [readClasses]*sync.Cond
	waits   [readClasses]int
	jobs    map[jobName]*readJob
	classes [readClasses]userQueues
	// users counts the reads of each user.
	users   map[kv.Account]int
	waiting int
	closed  bool
}

// userQueues are the reads of one class, by user; turn has the users that have some, the next one first.
type userQueues struct {
	turn []kv.Account
	of   map[kv.Account][]*readJob
}

func newReadQueue() *readQueue {
	q := &readQueue{jobs: map[jobName]*readJob{}, users: map[kv.Account]int{}}
	for i := range q.classes {
		q.idle[i] = sync.NewCond(&q.mu)
		q.classes[i].of = map[kv.Account][]*readJob{}
	}
	return q
}

func (c *userQueues) add(j *readJob) {
	u := j.read.User
	if len(c.of[u]) == 0 {
		c.turn = append(c.turn, u)
	}
	c.of[u] = append(c.of[u], j)
}

// take takes the next read, nil if there is none.
func (c *userQueues) take() *readJob {
	if len(c.turn) == 0 {
		return nil
	}
	u := c.turn[0]
	c.turn = c.turn[1:]
	jobs := c.of[u]
	j := jobs[0]
	jobs[0] = nil
	if len(jobs) == 1 {
		delete(c.of, u)
	} else {
		c.of[u] = jobs[1:]
		c.turn = append(c.turn, u)
	}
	return j
}

// remove takes a read out.
func (c *userQueues) remove(j *readJob) {
	u := j.read.User
	left := slices.DeleteFunc(c.of[u], func(x *readJob) bool { return x == j })
	if len(left) > 0 {
		c.of[u] = left
		return
	}
	delete(c.of, u)
	c.turn = slices.DeleteFunc(c.turn, func(x kv.Account) bool { return x == u })
}

// add queues a read. If there are too many it returns one that is to be refused: of the user who has
// most.
func (q *readQueue) add(j *readJob) (refused *readJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= maxReadsWaiting && j.class != commitReads {
		refused = q.least(j)
		if refused == j {
			return j
		}
		q.remove(refused)
	}
	q.jobs[j.name()] = j
	q.users[j.read.User]++
	q.put(j)
	return refused
}

// least is the read that is refused when there is no room for j: the newest of the user who has most,
// or j if its user has as many.
func (q *readQueue) least(j *readJob) *readJob {
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
		jobs := q.classes[class].of[user]
		if len(jobs) > 0 {
			return jobs[len(jobs)-1]
		}
	}
	return j
}

func (q *readQueue) put(j *readJob) {
	j.running = false
	q.classes[j.class].add(j)
	q.waiting++
	// A reader takes the classes before its last one, if it takes several, or the one before that.
	for c := j.class; c < min(j.class+2, readClasses); c++ {
		if q.waits[c] > 0 {
			q.wake(c)
			return
		}
	}
}

// wake wakes a reader. Not all of those of ranges take rows, so that they all look.
func (q *readQueue) wake(c readClass) {
	if c == rangeReads {
		q.waits[c] = 0
		q.idle[c].Broadcast()
		return
	}
	q.waits[c]--
	q.idle[c].Signal()
}

// remove takes a waiting read out.
func (q *readQueue) remove(j *readJob) {
	q.classes[j.class].remove(j)
	q.waiting--
	q.forget(j)
}

func (q *readQueue) forget(j *readJob) {
	delete(q.jobs, j.name())
	u := j.read.User
	q.users[u]--
	if q.users[u] == 0 {
		delete(q.users, u)
	}
}

// take waits for a read of one of some classes, the first of which goes first; nil is the end.
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
		q.waits[last]++
		q.idle[last].Wait()
	}
	return nil
}

// again queues a read that has had a turn, unless it was dropped.
func (q *readQueue) again(j *readJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.dropped {
		q.forget(j)
		return
	}
	q.put(j)
}

// done ends a read that a reader has done, and reports whether its result is used.
func (q *readQueue) done(j *readJob) (used bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget(j)
	return !j.dropped
}

// drop gives up reads whose results are not used.
func (q *readQueue) drop(loop *shardLoop, ids []uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		j := q.jobs[jobName{loop, id}]
		switch {
		case j == nil: // done
		case j.running:
			j.dropped = true
		default:
			q.remove(j)
		}
	}
}

func (q *readQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, c := range q.idle {
		c.Broadcast()
	}
}

// busiest is the user who has most reads.
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

// backlog is how many reads wait, and the one that does so longest.
func (q *readQueue) backlog() (waiting int, oldest *readJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if !j.running && (oldest == nil || j.since < oldest.since) {
			oldest = j
		}
	}
	return q.waiting, oldest
}
