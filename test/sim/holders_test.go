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
	w *world
	n *node
	// first are the operations that it begins with, pings those that it repeats afterwards.
	first, pings []msg.Op
	how          txn.TxnOptions
	ended        int
	longest      time.Duration
}

func (h *holder) begin() {
	w, g := h.w, h.n.machines[0]
	ref, since := kv.TxnRef{TxnID: w.newID(), Attempt: 1}, w.now
	h.how.Arrived = h.n.clk.OrderAt(h.n.local(w.now))
	if f := g.Begin(h.n.local(w.now), ref, false, h.how); f != nil {
		w.fail("a transaction was refused: %v", f)
		return
	}
	var do func(ops []msg.Op)
	do = func(ops []msg.Op) {
		w.call(h.n, func(now int64, tok txn.CallHandle) { g.Do(now, tok, ref, cloneOps(ops), 0) }, func(d txn.Done, _ bool) {
			if d.Closed {
				h.ended++
				h.longest = max(h.longest, time.Duration(w.now-since))
				w.after(time.Millisecond, h.begin)
				return
			}
			w.after(100*time.Millisecond, func() { do(h.pings) })
		})
	}
	do(h.first)
}

// putter puts a key, one transaction after another.
type putter struct {
	w       *world
	n       *node
	key     []byte
	how     txn.TxnOptions
	since   int64
	puts    int
	longest time.Duration
}

func (p *putter) next() {
	w := p.w
	p.since = w.now
	p.how.Arrived = p.n.clk.OrderAt(p.n.local(w.now))
	w.call(p.n, func(now int64, tok txn.CallHandle) {
		p.n.machines[0].Execute(now, tok, w.newID(), []msg.Op{put(p.key)}, now+int64(time.Hour), p.how)
	}, func(d txn.Done, _ bool) {
		if d.Failure != nil {
			w.fail("a put failed: %v", d.Failure)
		}
		p.puts++
		p.longest = max(p.longest, time.Duration(w.now-p.since))
		w.after(time.Millisecond, p.next)
	})
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
	w.after(10*time.Millisecond, p.next)
	w.run(w.now+int64(length), func() bool { w.eventCount = 0; return false })
	require.NoError(t, w.err)
	p.longest = max(p.longest, time.Duration(w.now-p.since))
	t.Logf("%d puts, longest %v; %d transactions held the key, longest %v", p.puts, p.longest, h.ended, h.longest)
	return h, p
}

func getForUpdate(key []byte) msg.Op { return msg.Op{Kind: msg.OpGet, Key: key, ForUpdate: true} }

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
	w, g := h.w, h.n.machines[0]
	ref := kv.TxnRef{TxnID: w.newID(), Attempt: 1}
	h.how.Arrived = h.n.clk.OrderAt(h.n.local(w.now))
	if f := g.Begin(h.n.local(w.now), ref, false, h.how); f != nil {
		w.fail("a transaction was refused: %v", f)
		return
	}
	w.call(h.n, func(now int64, tok txn.CallHandle) { g.Do(now, tok, ref, cloneOps(h.first), 0) },
		func(d txn.Done, _ bool) {
			if d.Closed {
				w.after(time.Millisecond+time.Duration(d.Failure.RetryAfterNanos), h.begin)
				return
			}
			w.after(h.holds, func() {
				w.call(h.n, func(now int64, tok txn.CallHandle) { g.Commit(now, tok, ref, forever) }, func(d txn.Done, _ bool) {
					h.ended++
					w.after(0, h.begin)
				})
			})
		})
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
	w.run(w.now+int64(10*time.Second), func() bool { w.eventCount = 0; return false })
	require.NoError(t, w.err)
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
