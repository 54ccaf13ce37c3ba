package groups

import (
	"runtime"
	"sync"
	"time"
)

// turns has replicas take their turns. A few goroutines do so for all: one takes several replicas that wait, and sends
// what their turns send together. So messages that have arrived together, or waited for the same fsync, stay together
// on the way to the other nodes, of however many shards they are.
//
//	rests ──add──▶ waits ──a goroutine takes it──▶ inTurn ──it is sent──▶ rests
//	                 ▲                               │ add
//	                  └────────── the same ────── wakesAgain
//
// A replica is in one turn at a time, and its messages are sent before its next one: they leave in their order.
type turns struct {
	take func(r *replica, out *outgoing)
	send func(out *outgoing)

	mu      sync.Mutex
	work    *sync.Cond
	waiting []*replica
	// workers are the goroutines, idle those of them that wait. taken counts the replicas that were taken, and seen is
	// what it was when relieve was called.
	workers, idle int
	taken, seen   uint64
	closed        bool
	wg            sync.WaitGroup
}

// turnState is where a replica is; turns.mu guards it.
type turnState uint8

const (
	rests turnState = iota
	waits
	inTurn
	wakesAgain
)

const (
	// maxTogether is how many replicas a goroutine takes at a time, at least: more only if many wait.
	maxTogether = 32
	// maxHeld is for how long messages wait for further turns.
	maxHeld = 2 * time.Millisecond
)

func newTurns(take func(*replica, *outgoing), send func(*outgoing)) *turns {
	t := &turns{take: take, send: send}
	t.work = sync.NewCond(&t.mu)
	return t
}

// start starts the goroutines: one for each CPU that Go uses.
func (t *turns) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range runtime.GOMAXPROCS(0) {
		t.startOne()
	}
}

func (t *turns) startOne() {
	t.workers++
	t.wg.Go(t.run)
}

// add has replicas take a turn soon.
func (t *turns) add(all ...*replica) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range all {
		switch r.state {
		case rests:
			r.state = waits
			t.waiting = append(t.waiting, r)
		case inTurn:
			r.state = wakesAgain
		}
	}
	t.signal()
}

// signal wakes a goroutine if there is work for it.
func (t *turns) signal() {
	if len(t.waiting) > 0 && t.idle > 0 {
		t.work.Signal()
	}
}

// relieve starts a further goroutine if replicas wait, and none was taken since the last call: all goroutines are in
// long turns, as of a machine that is read from a slow disk. It ends when it has nothing to do.
func (t *turns) relieve() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) > 0 && t.taken == t.seen && !t.closed {
		t.startOne()
	}
	t.seen = t.taken
}

func (t *turns) run() {
	var batch []*replica
	var out outgoing
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		for len(t.waiting) == 0 && !t.closed {
			if t.workers > runtime.GOMAXPROCS(0) {
				t.workers--
				return
			}
			t.idle++
			t.work.Wait()
			t.idle--
		}
		if t.closed {
			return
		}
		batch = t.next(batch[:0])
		t.signal()
		t.mu.Unlock()
		n := 0
		for begin := time.Now(); n < len(batch) && (n == 0 || time.Since(begin) < maxHeld); n++ {
			t.take(batch[n], &out)
		}
		t.send(&out)
		out = outgoing{}
		t.mu.Lock()
		t.end(batch, n)
	}
}

// next takes replicas that wait.
func (t *turns) next(batch []*replica) []*replica {
	n := min(max(maxTogether, len(t.waiting)/t.workers), len(t.waiting))
	batch = append(batch, t.waiting[:n]...)
	t.waiting = append(t.waiting[:0], t.waiting[n:]...)
	for _, r := range batch {
		r.state = inTurn
	}
	t.taken += uint64(n)
	return batch
}

// end ends the turns of the first n replicas of a batch. The others wait again.
func (t *turns) end(batch []*replica, n int) {
	for i, r := range batch {
		again := i >= n || r.state == wakesAgain
		r.state = rests
		if again {
			r.state = waits
			t.waiting = append(t.waiting, r)
		}
	}
}

// close returns when no replica is in a turn, nor will be.
func (t *turns) close() {
	t.mu.Lock()
	t.closed = true
	t.work.Broadcast()
	t.mu.Unlock()
	t.wg.Wait()
}
