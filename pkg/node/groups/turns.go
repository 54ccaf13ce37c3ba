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
	// maxTogether is how many replicas a goroutine takes before it sends.
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
		if t.idle == 0 {
			t.startOne()
		}
		t.signal()
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
		batch = batch[:0]
		for begin := time.Now(); t.mayTake(len(batch), begin); {
			r := t.next()
			t.mu.Unlock()
			t.take(r, &out)
			t.mu.Lock()
			batch = append(batch, r)
		}
		t.mu.Unlock()
		t.send(&out)
		out = outgoing{}
		t.mu.Lock()
		t.end(batch)
	}
}

// mayTake reports whether a goroutine takes one more replica before it sends. A machine that begins may read for
// seconds: what others are to send, heartbeats among it, does not wait for that.
func (t *turns) mayTake(n int, begin time.Time) bool {
	return len(t.waiting) > 0 && (n == 0 || n < maxTogether && time.Since(begin) < maxHeld && !t.waiting[0].begins.Load())
}

// next takes the first replica that waits. The others wait on: a long turn holds back only what was taken before it.
func (t *turns) next() *replica {
	r := t.waiting[0]
	t.waiting = append(t.waiting[:0], t.waiting[1:]...)
	r.state = inTurn
	t.taken++
	if len(t.waiting) >= maxTogether || r.begins.Load() {
		t.signal()
	}
	return r
}

// end ends turns.
func (t *turns) end(batch []*replica) {
	for _, r := range batch {
		again := r.state == wakesAgain
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
