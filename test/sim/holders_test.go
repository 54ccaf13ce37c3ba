package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// holder is a client that locks a key and stays idle, in one transaction after another.
type holder struct {
	w *sim
	n *node
	// first are the operations that it begins with, pings those that it repeats afterwards.
	first, pings []msg.Op
	how          txn.TxnOptions
	ended        int
	longest      time.Duration
}

func (h *holder) begin() {
	w, since := h.w, h.w.Now()
	ref := h.open()
	var do func(ops []msg.Op)
	do = func(ops []msg.Op) {
		h.n.do(ref, func(d txn.Done) {
			if d.Closed {
				h.ended++
				h.longest = max(h.longest, time.Duration(w.Now()-since))
				w.After(time.Millisecond, h.begin)
				return
			}
			w.After(100*time.Millisecond, func() { do(h.pings) })
		}, ops...)
	}
	do(h.first)
}

func (h *holder) open() kv.TxnRef {
	h.how.Arrived = h.n.clk.OrderAt(h.n.Local())
	ref, f := h.n.open(false, h.how)
	if f != nil {
		h.w.Fail("a transaction was refused: %v", f)
	}
	return ref
}

// putter puts a key, one transaction after another.
type putter struct {
	w       *sim
	n       *node
	key     []byte
	how     txn.TxnOptions
	since   int64
	puts    int
	longest time.Duration
}

func (p *putter) next() {
	w := p.w
	p.since = w.Now()
	p.how.Arrived = p.n.clk.OrderAt(p.n.Local())
	p.n.execute(p.how, func(d txn.Done) {
		if d.Failure != nil {
			w.Fail("a put failed: %v", d.Failure)
		}
		p.puts++
		p.longest = max(p.longest, time.Duration(w.Now()-p.since))
		w.After(time.Millisecond, p.next)
	}, put(p.key))
}

// putsBeside has one client put a key beside another one that holds it.
func putsBeside(t *testing.T, broken mutant.Set, first, pings func(key []byte) msg.Op, length time.Duration,
	users ...kv.Account) (*holder, *putter) {
	w := newContendedWorld(1, broken)
	key := keysOnShards(w, 1)[0]
	h := &holder{w: w, n: w.nodes[0], first: []msg.Op{first(key)}, pings: []msg.Op{pings(key)}}
	p := &putter{w: w, n: w.nodes[1], key: key}
	if len(users) == 2 {
		h.how.User, p.how.User = users[0], users[1]
	}
	h.begin()
	w.After(10*time.Millisecond, p.next)
	w.Run(w.Now()+int64(length), nil)
	require.NoError(t, w.Err)
	p.longest = max(p.longest, time.Duration(w.Now()-p.since))
	t.Logf("%d puts, longest %v; %d transactions held the key, longest %v", p.puts, p.longest, h.ended, h.longest)
	return h, p
}

// maxIdleWait returns the longest time for which a put waits for a transaction that only sends pings.
func maxIdleWait(t *testing.T, broken mutant.Set) time.Duration {
	_, p := putsBeside(t, broken, getForUpdate, get, 10*time.Second)
	return p.longest
}

// TestIdleHolderIsAbortedForWaiters: a younger request waits at most 1 s, plus the time of a push, for a transaction
// that requests nothing new.
func TestIdleHolderIsAbortedForWaiters(t *testing.T) {
	require.Less(t, maxIdleWait(t, mutant.Set{}), 1100*time.Millisecond)
}

// longHolder is a client that holds a key for some time in each of its transactions, one after another.
type longHolder struct {
	holder
	holds time.Duration
}

func (h *longHolder) begin() {
	ref := h.open()
	h.n.do(ref, func(d txn.Done) {
		if d.Closed {
			h.w.After(time.Millisecond+time.Duration(d.Failure.RetryAfterNanos), h.begin)
			return
		}
		h.w.After(h.holds, func() {
			h.n.commit(ref, func(txn.Done) {
				h.ended++
				h.w.After(0, h.begin)
			})
		})
	}, h.first...)
}

// runLongHolder returns the number of puts in ten seconds beside transactions that hold the key for the given time.
func runLongHolder(t *testing.T, broken mutant.Set, holds time.Duration, holder, others kv.Account) int {
	w := newContendedWorld(1, broken)
	key := keysOnShards(w, 1)[0]
	p := &putter{w: w, n: w.nodes[1], key: key, how: txn.TxnOptions{User: others}}
	p.next()
	if holds > 0 {
		for i := range 4 {
			h := &longHolder{holds: holds}
			h.w, h.n, h.first, h.how.User = w, w.nodes[i%2], []msg.Op{getForUpdate(key)}, holder
			h.begin()
		}
	}
	w.Run(w.Now()+int64(10*time.Second), nil)
	require.NoError(t, w.Err)
	t.Logf("%d puts beside holds of %v, longest %v", p.puts, holds, p.longest)
	return p.puts
}

// TestUserShareLimitsBlocking: a user whose transactions block other users for more than half of the time is refused
// locks for a while. Transactions of the same user do not count.
func TestUserShareLimitsBlocking(t *testing.T) {
	alone := runLongHolder(t, mutant.Set{}, 0, 1, 2)
	for _, holds := range []time.Duration{30 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond} {
		require.Greater(t, runLongHolder(t, mutant.Set{}, holds, 1, 2), alone*7/20, "half of eight seconds, after a burst")
		require.Less(t, runLongHolder(t, mutant.Set{}, holds, 1, 1), alone/10)
	}
}
