// Package transporttest is the contract of transport.Transport and transport.Replicas as test suites. Both
// implementations run them.
package transporttest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport"
)

// Net is a network under test. Its nodes can be stopped and restarted with the same address.
type Net interface {
	// Start starts node id; the test closes the transport.
	Start(t testing.TB, id kv.NodeID, h transport.Handler) transport.Transport
}

// UpWindow is the up window of the networks under test, which is short to keep the tests fast.
const UpWindow = 300 * time.Millisecond

// timeout bounds how long a test waits for an event.
const timeout = 20 * time.Second

// Run tests an implementation. make makes a network for nodes 1 to 3, none of which is running.
func Run(t *testing.T, make func(t testing.TB) Net) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Net)
	}{
		{"messages arrive once, with the sender filled in", testDelivery},
		{"all pairs and directions are independent", testAllPairs},
		{"many senders share a link", testConcurrentSenders},
		{"the largest message arrives", testLargest},
		{"sending to an absent node does not block", testAbsentPeer},
		{"a restarted node is reached", testRestart},
		{"Up follows the state of the peer", testUp},
		{"no message is handled after Close", testClose},
		{"a receiver owns its envelopes", testOwnership},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, make(t)) })
	}
}

// Inbox collects the messages of a node.
type Inbox struct {
	mu   sync.Mutex
	envs []*msg.Envelope
}

// Handle is the node's handler.
func (b *Inbox) Handle(envs []*msg.Envelope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.envs = append(b.envs, envs...)
}

// Len is the number of received envelopes.
func (b *Inbox) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.envs)
}

// All returns the received envelopes.
func (b *Inbox) All() []*msg.Envelope {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*msg.Envelope(nil), b.envs...)
}

// Await waits until n envelopes have been received.
func (b *Inbox) Await(t testing.TB, n int) []*msg.Envelope {
	t.Helper()
	require.Eventually(t, func() bool { return b.Len() >= n }, timeout, 2*time.Millisecond,
		"%d envelopes", n)
	return b.All()
}

// Release makes a message that is identified by n.
func Release(n int) *msg.Envelope {
	e := msg.ToShard(kv.ShardID(n % 7))
	e.Body = &msg.Release{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: int64(n), Rand: 1}, Attempt: 1}}
	return e
}

// numbers counts the messages of Release by number.
func numbers(envs []*msg.Envelope) map[int]int {
	m := map[int]int{}
	for _, e := range envs {
		m[int(msg.As[msg.Release](e).Txn.Time)]++
	}
	return m
}

// start starts nodes with an inbox each, and closes them at the end of the test.
func start(t *testing.T, n Net, ids ...kv.NodeID) (map[kv.NodeID]transport.Transport, map[kv.NodeID]*Inbox) {
	ts, in := map[kv.NodeID]transport.Transport{}, map[kv.NodeID]*Inbox{}
	for _, id := range ids {
		in[id] = new(Inbox)
		ts[id] = n.Start(t, id, in[id].Handle)
		t.Cleanup(func() { require.NoError(t, ts[id].Close()) })
	}
	for _, from := range ids {
		for _, to := range ids {
			awaitUp(t, ts[from], to)
		}
	}
	return ts, in
}

func awaitUp(t testing.TB, tr transport.Transport, to kv.NodeID) {
	t.Helper()
	require.Eventually(t, func() bool { return tr.Up(to) }, timeout, 2*time.Millisecond, "%v comes up", to)
}

func testDelivery(t *testing.T, n Net) {
	ts, in := start(t, n, 1, 2)
	const count = 3000
	batch := make([]*msg.Envelope, 0, 10)
	for i := range count {
		batch = append(batch, Release(i))
		if len(batch) == cap(batch) {
			ts[1].Send(2, batch)
			// The caller may reuse the slice.
			clear(batch)
			batch = batch[:0]
		}
	}
	got := in[2].Await(t, count)
	require.Len(t, got, count)
	for _, e := range got {
		require.EqualValues(t, 1, e.From)
		require.Equal(t, Release(int(msg.As[msg.Release](e).Txn.Time)).Shard, e.Shard)
	}
	require.Len(t, numbers(got), count, "each exactly once")
	require.Zero(t, in[1].Len())
}

func testAllPairs(t *testing.T, n Net) {
	ts, in := start(t, n, 1, 2, 3)
	for from := range kv.NodeID(4) {
		for to := range kv.NodeID(4) {
			if from != to && from != 0 && to != 0 {
				ts[from].Send(to, []*msg.Envelope{Release(int(from)*10 + int(to))})
			}
		}
	}
	for to := range kv.NodeID(4) {
		if to == 0 {
			continue
		}
		for _, e := range in[to].Await(t, 2) {
			require.EqualValues(t, int(e.From)*10+int(to), msg.As[msg.Release](e).Txn.Time)
		}
	}
}

func testConcurrentSenders(t *testing.T, n Net) {
	ts, in := start(t, n, 1, 2)
	const senders, each = 8, 500
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				ts[1].Send(2, []*msg.Envelope{Release(s*each + i)})
			}
		})
	}
	wg.Wait()
	require.Len(t, numbers(in[2].Await(t, senders*each)), senders*each)
}

func testLargest(t *testing.T, n Net) {
	ts, in := start(t, n, 1, 2)
	const ops = kv.MaxTxnBytes / kv.MaxValueBytes
	e := msg.ToShard(3)
	e.Body = &msg.CommitRequest{}
	for i := range ops {
		value := bytes.Repeat([]byte{byte(i + 1)}, kv.MaxValueBytes)
		msg.As[msg.CommitRequest](e).Piece.Ops = append(msg.As[msg.CommitRequest](e).Piece.Ops,
			msg.Op{Kind: msg.OpPut, Key: fmt.Appendf(nil, "key %d", i), Value: value})
	}
	ts[1].Send(2, []*msg.Envelope{Release(1), e, Release(2)})
	got := in[2].Await(t, 3)
	require.Equal(t, "CommitRequest", got[1].Name())
	require.Len(t, msg.As[msg.CommitRequest](got[1]).Piece.Ops, ops)
	for i, op := range msg.As[msg.CommitRequest](got[1]).Piece.Ops {
		require.Len(t, op.Value, kv.MaxValueBytes)
		require.Equal(t, byte(i+1), op.Value[kv.MaxValueBytes-1])
	}
}

func testAbsentPeer(t *testing.T, n Net) {
	ts, in := start(t, n, 1, 2)
	require.False(t, ts[1].Up(3))
	began := time.Now()
	for i := range 50_000 {
		ts[1].Send(3, []*msg.Envelope{Release(i)})
	}
	require.Less(t, time.Since(began), 10*time.Second, "senders do not block")
	ts[1].Send(2, []*msg.Envelope{Release(1)})
	in[2].Await(t, 1)
}

func testRestart(t *testing.T, n Net) {
	ts, in := start(t, n, 1, 2)
	ts[1].Send(2, []*msg.Envelope{Release(1)})
	in[2].Await(t, 1)
	require.NoError(t, ts[2].Close())

	restarted := new(Inbox)
	ts[2] = n.Start(t, 2, restarted.Handle)
	// Messages are repeated until one arrives, as the protocol does.
	require.Eventually(t, func() bool {
		ts[1].Send(2, []*msg.Envelope{Release(2)})
		return restarted.Len() > 0
	}, timeout, 10*time.Millisecond)
	require.Contains(t, numbers(restarted.All()), 2)
	require.Eventually(t, func() bool {
		ts[2].Send(1, []*msg.Envelope{Release(3)})
		return in[1].Len() > 0
	}, timeout, 10*time.Millisecond)
	awaitUp(t, ts[1], 2)
}

func testUp(t *testing.T, n Net) {
	ts, _ := start(t, n, 1, 2)
	require.True(t, ts[1].Up(1), "a node is up to itself")
	require.NoError(t, ts[2].Close())
	require.Eventually(t, func() bool { return !ts[1].Up(2) }, timeout, 2*time.Millisecond, "down after its Close")
	ts[2] = n.Start(t, 2, func([]*msg.Envelope) {})
	awaitUp(t, ts[1], 2)
}

func testClose(t *testing.T, n Net) {
	ts, _ := start(t, n, 1)
	var mu sync.Mutex
	closed, late, count := false, 0, 0
	ts[2] = n.Start(t, 2, func(envs []*msg.Envelope) {
		mu.Lock()
		defer mu.Unlock()
		count += len(envs)
		if closed {
			late++
		}
	})
	awaitUp(t, ts[1], 2)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				ts[1].Send(2, []*msg.Envelope{Release(i)})
			}
		}
	})
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return count > 0 }, timeout, time.Millisecond)
	require.NoError(t, ts[2].Close())
	mu.Lock()
	closed = true
	mu.Unlock()
	ts[2].Send(1, []*msg.Envelope{Release(1)})
	require.NoError(t, ts[2].Close(), "Close is idempotent")
	require.Eventually(t, func() bool { return !ts[1].Up(2) }, timeout, time.Millisecond)
	close(stop)
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	require.Zero(t, late)
}

func testOwnership(t *testing.T, n Net) {
	ts, in := start(t, n, 1, 2, 3)
	e := Release(1)
	ts[1].Send(2, []*msg.Envelope{e})
	ts[1].Send(3, []*msg.Envelope{e})
	for _, id := range []kv.NodeID{2, 3} {
		got := in[id].Await(t, 1)[0]
		require.NotSame(t, e, got)
		got.From, got.Shard = 99, 99
	}
	require.Zero(t, e.From, "the sender's envelope is unchanged")
	require.EqualValues(t, 1, e.Shard)
}
