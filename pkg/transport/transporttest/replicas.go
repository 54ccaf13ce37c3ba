package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// ReplicaNode is a node with replicas.
type ReplicaNode interface {
	transport.Transport
	transport.Replicas
}

// ReplicaNet is a network whose nodes have replicas.
type ReplicaNet interface {
	Net
	// StartReplicas is as Start. r receives the messages of replicas; nil rejects them.
	StartReplicas(t testing.TB, id kv.NodeID, h transport.Handler, r transport.ReplicaHandler) ReplicaNode
}

// RunReplicas tests an implementation of transport.Replicas. make makes a network for nodes 1 to 3, none of which is
// running.
func RunReplicas(t *testing.T, make func(t testing.TB) ReplicaNet) {
	for _, c := range []struct {
		name string
		test func(*testing.T, ReplicaNet)
	}{
		{"messages arrive once and in order", testReplicaOrder},
		{"a large append arrives", testLargeAppend},
		{"a receiver owns what it gets", testReplicaOwnership},
		{"a flood is bounded and delays no envelope", testReplicaFlood},
		{"sending to an absent node does not block", testReplicaAbsent},
		{"a restarted node gets no message again", testReplicaRestart},
		{"no message is handled after Close", testReplicaClose},
		{"a node without replicas rejects them", testNoReplicas},
		{"a Raft snapshot arrives whole", testSnapshot},
		{"a blocked Raft snapshot delays no message", testBlockedSnapshot},
		{"a Raft snapshot returns the error of its receiver", testSnapshotError},
		{"a Raft snapshot returns the error of its sender", testSnapshotSourceError},
		{"a cancelled Raft snapshot ends on both sides", testSnapshotCancel},
		{"a Raft snapshot ends with either node", testSnapshotClose},
		{"few Raft snapshots run at a time", testSnapshotLimit},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, make(t)) })
	}
}

// ReplicaInbox collects the messages of a node's replicas.
type ReplicaInbox struct {
	mu   sync.Mutex
	msgs []consensus.Message
	from map[kv.NodeID]bool
	// Block, if not nil, is called before messages are stored.
	Block func()
	// Snapshot handles Raft snapshots.
	Snapshot func(ctx context.Context, m *consensus.Message, next func() ([]byte, error)) error
}

// ReceiveReplica implements transport.ReplicaHandler.
func (b *ReplicaInbox) ReceiveReplica(from kv.NodeID, msgs []consensus.Message) {
	if b.Block != nil {
		b.Block()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.msgs = append(b.msgs, msgs...)
	if b.from == nil {
		b.from = map[kv.NodeID]bool{}
	}
	b.from[from] = true
}

// ReceiveSnapshot implements transport.ReplicaHandler.
func (b *ReplicaInbox) ReceiveSnapshot(ctx context.Context, from kv.NodeID, m *consensus.Message,
	next func() ([]byte, error)) error {
	if from != 1 {
		return fmt.Errorf("a snapshot of node %v", from)
	}
	return b.Snapshot(ctx, m, next)
}

// All returns the received messages.
func (b *ReplicaInbox) All() []consensus.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]consensus.Message(nil), b.msgs...)
}

// Await waits until n messages have been received.
func (b *ReplicaInbox) Await(t testing.TB, n int) []consensus.Message {
	t.Helper()
	require.Eventually(t, func() bool { return len(b.All()) >= n }, timeout, 2*time.Millisecond, "%d messages", n)
	return b.All()
}

// Append makes a message that is identified by n, with an entry of some bytes.
func Append(n, size int) consensus.Message {
	return consensus.Message{Group: 3, From: 1, To: 2, Sent: int64(n), Raft: raftpb.Message{Type: raftpb.MsgApp, Term: 5,
		Entries: []raftpb.Entry{{Term: 5, Index: uint64(n), Data: bytes.Repeat([]byte{byte(n)}, size)}}}}
}

// requireIncreasing requires the messages to be in their order, each at most once.
func requireIncreasing(t testing.TB, msgs []consensus.Message) {
	t.Helper()
	for i := range msgs[1:] {
		require.Less(t, msgs[i].Sent, msgs[i+1].Sent)
	}
}

// startReplicas starts nodes 1 and 2, of which 2 receives into the inboxes, and closes them at the end of the test.
func startReplicas(t testing.TB, n ReplicaNet, in *ReplicaInbox) (a, b ReplicaNode, envs *Inbox) {
	envs = new(Inbox)
	a = n.StartReplicas(t, 1, func([]*msg.Envelope) {}, new(ReplicaInbox))
	b = n.StartReplicas(t, 2, envs.Handle, in)
	t.Cleanup(func() {
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	})
	awaitUp(t, a, 2)
	awaitUp(t, b, 1)
	return a, b, envs
}

func testReplicaOrder(t *testing.T, n ReplicaNet) {
	in := new(ReplicaInbox)
	a, _, _ := startReplicas(t, n, in)
	const count = 5000
	batch := make([]consensus.Message, 0, 10)
	for i := range count {
		batch = append(batch, Append(i, 3))
		if len(batch) == cap(batch) {
			a.SendReplica(2, batch)
			clear(batch) // the caller may reuse the slice
			batch = batch[:0]
		}
	}
	got := in.Await(t, count)
	require.Len(t, got, count)
	for i := range got {
		require.Equal(t, Append(i, 3), got[i])
	}
	require.Equal(t, map[kv.NodeID]bool{1: true}, in.from)
}

func testLargeAppend(t *testing.T, n ReplicaNet) {
	in := new(ReplicaInbox)
	a, _, _ := startReplicas(t, n, in)
	large := Append(2, 1<<20)
	for len(large.Raft.Entries) < 8 {
		large.Raft.Entries = append(large.Raft.Entries, large.Raft.Entries[0])
	}
	a.SendReplica(2, []consensus.Message{Append(1, 0), large, Append(3, 0)})
	got := in.Await(t, 3)
	requireIncreasing(t, got)
	require.True(t, bytes.Equal(large.Raft.Entries[7].Data, got[1].Raft.Entries[7].Data))
	require.Len(t, got[1].Raft.Entries, 8)
}

func testReplicaOwnership(t *testing.T, n ReplicaNet) {
	in := new(ReplicaInbox)
	a, _, _ := startReplicas(t, n, in)
	third := new(ReplicaInbox)
	c := n.StartReplicas(t, 3, func([]*msg.Envelope) {}, third)
	defer c.Close()
	awaitUp(t, a, 3)
	m := Append(1, 4)
	a.SendReplica(2, []consensus.Message{m})
	a.SendReplica(3, []consensus.Message{m})
	for _, in := range []*ReplicaInbox{in, third} {
		got := in.Await(t, 1)[0]
		require.Equal(t, Append(1, 4), got)
		got.Raft.Entries[0].Data[0], got.Raft.Entries[0].Index = 'x', 99
	}
	require.Equal(t, Append(1, 4), m, "the sender's message is unchanged")
}

func testReplicaFlood(t *testing.T, n ReplicaNet) {
	proceed := make(chan struct{})
	in := &ReplicaInbox{Block: func() { <-proceed }}
	a, _, envs := startReplicas(t, n, in)
	began := time.Now()
	const count = 100_000
	for i := range count {
		a.SendReplica(2, []consensus.Message{Append(i, 9)})
	}
	require.Less(t, time.Since(began), 10*time.Second, "senders do not block")
	a.Send(2, []*msg.Envelope{Release(1)})
	envs.Await(t, 1)
	close(proceed)
	require.Eventually(t, func() bool {
		a.SendReplica(2, []consensus.Message{Append(count, 9)})
		got := in.All()
		return len(got) > 0 && got[len(got)-1].Sent == count
	}, timeout, 10*time.Millisecond, "later messages arrive")
	got := in.All()
	arrived := 0
	for i := 1; i < len(got) && got[i].Sent < count; i++ {
		require.Less(t, got[i-1].Sent, got[i].Sent)
		arrived = i
	}
	require.Greater(t, arrived, outbox.MaxReplicaCount-2)
	require.Less(t, arrived, 3*outbox.MaxReplicaCount, "the queue, and what was in flight")
}

func testReplicaAbsent(t *testing.T, n ReplicaNet) {
	in := new(ReplicaInbox)
	a, _, _ := startReplicas(t, n, in)
	began := time.Now()
	for i := range 50_000 {
		a.SendReplica(3, []consensus.Message{Append(i, 9)})
	}
	require.Less(t, time.Since(began), 10*time.Second, "senders do not block")
	a.SendReplica(2, []consensus.Message{Append(1, 0)})
	in.Await(t, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	require.Error(t, a.SendSnapshot(ctx, 3, &consensus.Message{}, rowsOf(nil)))
	require.Error(t, a.SendSnapshot(ctx, 1, &consensus.Message{}, rowsOf(nil)), "to itself")
}

func testReplicaRestart(t *testing.T, n ReplicaNet) {
	first, second := new(ReplicaInbox), new(ReplicaInbox)
	a, b, _ := startReplicas(t, n, first)
	stop := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
				a.SendReplica(2, []consensus.Message{Append(i, 9)})
			}
		}
	})
	first.Await(t, 20)
	require.NoError(t, b.Close())
	b = n.StartReplicas(t, 2, func([]*msg.Envelope) {}, second)
	defer b.Close()
	second.Await(t, 20)
	close(stop)
	sender.Wait()
	requireIncreasing(t, append(first.All(), second.All()...))
}

func testReplicaClose(t *testing.T, n ReplicaNet) {
	in := new(ReplicaInbox)
	a, b, _ := startReplicas(t, n, in)
	for i := range 5000 {
		a.SendReplica(2, []consensus.Message{Append(i, 9)})
	}
	in.Await(t, 1)
	require.NoError(t, b.Close())
	count := len(in.All())
	a.SendReplica(2, []consensus.Message{Append(9999, 9)})
	b.SendReplica(1, []consensus.Message{Append(9999, 9)})
	require.Error(t, b.SendSnapshot(context.Background(), 1, &consensus.Message{}, rowsOf(nil)))
	require.Eventually(t, func() bool { return !a.Up(2) }, timeout, time.Millisecond)
	require.Len(t, in.All(), count)
}

func testNoReplicas(t *testing.T, n ReplicaNet) {
	a, _, _ := startReplicas(t, n, new(ReplicaInbox))
	envs := new(Inbox)
	c := n.StartReplicas(t, 3, envs.Handle, nil)
	defer c.Close()
	awaitUp(t, a, 3)
	a.SendReplica(3, []consensus.Message{Append(1, 0)})
	err := a.SendSnapshot(context.Background(), 3, &consensus.Message{}, rowsOf([]byte("rows")))
	require.ErrorContains(t, err, "no replicas")
	a.Send(3, []*msg.Envelope{Release(1)})
	envs.Await(t, 1)
}

// rowsOf returns chunks for SendSnapshot.
func rowsOf(chunks ...[]byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(chunks) == 0 {
			return nil, nil
		}
		c := chunks[0]
		chunks = chunks[1:]
		return c, nil
	}
}

// endless are chunks without end.
func endless() ([]byte, error) { return make([]byte, 1<<20), nil }

// readAll reads chunks until the last one, or an error.
func readAll(next func() ([]byte, error)) (chunks [][]byte, err error) {
	for {
		c, err := next()
		if c == nil || err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
}

func testSnapshot(t *testing.T, n ReplicaNet) {
	var got [][]byte
	var first consensus.Message
	in := &ReplicaInbox{Snapshot: func(_ context.Context, m *consensus.Message, next func() ([]byte, error)) (err error) {
		first = *m
		got, err = readAll(next)
		if err == nil {
			_, err = next() // again nil
		}
		return err
	}}
	a, _, _ := startReplicas(t, n, in)
	position := raftpb.SnapshotMetadata{Index: 7, Term: 5, ConfState: raftpb.ConfState{Voters: []uint64{1}}}
	m := consensus.Message{Group: 3, Raft: raftpb.Message{Type: raftpb.MsgSnap,
		Snapshot: &raftpb.Snapshot{Data: []byte("s"), Metadata: position}}}
	var want [][]byte
	buf, source, i := make([]byte, 1<<20), rand.NewChaCha8([32]byte{}), 0
	next := func() ([]byte, error) {
		sizes := []int{1 << 20, 1, 0, 1 << 20, 70_000, 1 << 20}
		if i == len(sizes) {
			return nil, nil
		}
		chunk := buf[:sizes[i]] // is reused
		source.Read(chunk)
		i++
		if len(chunk) > 0 {
			want = append(want, bytes.Clone(chunk))
		}
		return chunk, nil
	}
	require.NoError(t, a.SendSnapshot(context.Background(), 2, &m, next))
	require.Equal(t, m, first)
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, bytes.Equal(want[i], got[i]), "chunk %d", i)
	}
	require.NoError(t, a.SendSnapshot(context.Background(), 2, &m, rowsOf()), "without rows")
	require.Empty(t, got)
}

func testBlockedSnapshot(t *testing.T, n ReplicaNet) {
	entered, proceed, received := make(chan struct{}), make(chan struct{}), 0
	in := &ReplicaInbox{Snapshot: func(_ context.Context, _ *consensus.Message, next func() ([]byte, error)) error {
		close(entered)
		<-proceed
		chunks, err := readAll(next)
		received = len(chunks)
		return err
	}}
	a, _, envs := startReplicas(t, n, in)
	chunks := make([][]byte, 30)
	for i := range chunks {
		chunks[i] = make([]byte, 1<<20)
	}
	result := make(chan error, 1)
	go func() { result <- a.SendSnapshot(context.Background(), 2, &consensus.Message{}, rowsOf(chunks...)) }()
	<-entered
	for i := range 100 {
		a.SendReplica(2, []consensus.Message{Append(i, 10_000)})
		a.Send(2, []*msg.Envelope{Release(i)})
		in.Await(t, i+1)
		envs.Await(t, i+1)
	}
	require.Empty(t, result)
	close(proceed)
	require.NoError(t, <-result)
	require.Len(t, chunks, received)
}

func testSnapshotError(t *testing.T, n ReplicaNet) {
	in := &ReplicaInbox{Snapshot: func(context.Context, *consensus.Message, func() ([]byte, error)) error {
		return errors.New("the disk is full")
	}}
	a, _, _ := startReplicas(t, n, in)
	for range transport.MaxSnapshots + 1 { // each leaves its place to the next
		require.ErrorContains(t, a.SendSnapshot(context.Background(), 2, &consensus.Message{}, endless), "the disk is full")
	}
	in.Snapshot = func(_ context.Context, _ *consensus.Message, next func() ([]byte, error)) error {
		_, err := readAll(next)
		return errors.Join(err, errors.New("a checksum is wrong"))
	}
	err := a.SendSnapshot(context.Background(), 2, &consensus.Message{}, rowsOf([]byte("rows")))
	require.ErrorContains(t, err, "a checksum is wrong")
	in.Snapshot = func(context.Context, *consensus.Message, func() ([]byte, error)) error { return nil }
	require.NoError(t, a.SendSnapshot(context.Background(), 2, &consensus.Message{}, endless), "enough was read")
}

func testSnapshotSourceError(t *testing.T, n ReplicaNet) {
	began, received := make(chan struct{}), make(chan error, 1)
	in := &ReplicaInbox{Snapshot: func(_ context.Context, _ *consensus.Message, next func() ([]byte, error)) error {
		began <- struct{}{}
		_, err := readAll(next)
		received <- err
		return err
	}}
	a, _, _ := startReplicas(t, n, in)
	for _, c := range []struct {
		rows []byte
		err  error
		text string
	}{
		{nil, errors.New("the store is closed"), "the store is closed"},
		{make([]byte, kv.MaxNodeMessageBytes+1), nil, "the limit is"},
	} {
		sent := 0
		err := a.SendSnapshot(context.Background(), 2, &consensus.Message{}, func() ([]byte, error) {
			sent++
			if sent <= 3 {
				return []byte("rows"), nil
			}
			<-began
			return c.rows, c.err
		})
		require.ErrorContains(t, err, c.text)
		require.True(t, c.err == nil || errors.Is(err, c.err))
		require.Error(t, <-received, "not the end: what was received is not whole")
	}
}

// SendSnapshot sends a Raft snapshot to node 2, also if the handlers of earlier ones are about to return.
func SendSnapshot(ctx context.Context, from transport.Replicas, next func() ([]byte, error)) error {
	for {
		err := from.SendSnapshot(ctx, 2, &consensus.Message{}, next)
		if err == nil || !strings.Contains(err.Error(), transport.TooManySnapshots(2, 1).Error()) {
			return err
		}
	}
}

// waiting is a snapshot handler that reports when it begins, and then waits until its context ends.
func waiting(began chan<- struct{}, ended chan<- error) func(context.Context, *consensus.Message,
	func() ([]byte, error)) error {
	return func(ctx context.Context, _ *consensus.Message, next func() ([]byte, error)) error {
		began <- struct{}{}
		<-ctx.Done()
		for {
			if c, err := next(); c == nil {
				ended <- err
				return err
			}
		}
	}
}

func testSnapshotCancel(t *testing.T, n ReplicaNet) {
	began, ended := make(chan struct{}, 9), make(chan error, 9)
	in := &ReplicaInbox{Snapshot: waiting(began, ended)}
	a, _, _ := startReplicas(t, n, in)
	for range transport.MaxSnapshots + 1 {
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() {
			result <- SendSnapshot(ctx, a, endless)
		}()
		<-began
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		require.Error(t, <-ended)
	}
}

func testSnapshotClose(t *testing.T, n ReplicaNet) {
	began, ended := make(chan struct{}, 9), make(chan error, 9)
	a, b, _ := startReplicas(t, n, &ReplicaInbox{Snapshot: waiting(began, ended)})
	c := n.StartReplicas(t, 3, func([]*msg.Envelope) {}, &ReplicaInbox{Snapshot: waiting(began, ended)})
	defer c.Close()
	awaitUp(t, a, 3)
	results := make(chan error, 2)
	for _, to := range []kv.NodeID{2, 3} {
		go func() {
			results <- a.SendSnapshot(context.Background(), to, &consensus.Message{}, endless)
		}()
		<-began
	}
	require.NoError(t, b.Close())
	require.Error(t, <-ended, "Close waits for the handler")
	require.Error(t, <-results)
	require.NoError(t, a.Close())
	require.Error(t, <-results)
	require.Error(t, <-ended)
}

func testSnapshotLimit(t *testing.T, n ReplicaNet) {
	began, proceed := make(chan struct{}, 9), make(chan struct{})
	a, _, _ := startReplicas(t, n, &ReplicaInbox{Snapshot: func(context.Context, *consensus.Message,
		func() ([]byte, error)) error {
		began <- struct{}{}
		<-proceed
		return nil
	}})
	results := make(chan error, transport.MaxSnapshots)
	send := func() error {
		return a.SendSnapshot(context.Background(), 2, &consensus.Message{}, rowsOf([]byte("rows")))
	}
	for range transport.MaxSnapshots {
		go func() { results <- send() }()
		<-began
	}
	require.ErrorContains(t, send(), transport.TooManySnapshots(2, 1).Error())
	close(proceed)
	for range transport.MaxSnapshots {
		require.NoError(t, <-results)
	}
	require.NoError(t, send())
}

// TestReplicaDelay requires a network with a one-way delay to delay what replicas send.
func TestReplicaDelay(t *testing.T, n ReplicaNet, delay time.Duration) {
	in, back := new(ReplicaInbox), new(ReplicaInbox)
	in.Snapshot = func(_ context.Context, _ *consensus.Message, next func() ([]byte, error)) error {
		_, err := readAll(next)
		return err
	}
	a := n.StartReplicas(t, 1, func([]*msg.Envelope) {}, back)
	defer a.Close()
	b := n.StartReplicas(t, 2, func([]*msg.Envelope) {}, in)
	defer b.Close()
	for i := range 3 { // the first messages also open streams
		began := time.Now()
		a.SendReplica(2, []consensus.Message{Append(i, 0)})
		in.Await(t, i+1)
		b.SendReplica(1, []consensus.Message{Append(i, 0)})
		back.Await(t, i+1)
		require.GreaterOrEqual(t, time.Since(began), 2*delay, "there and back")
	}
	began := time.Now()
	require.NoError(t, a.SendSnapshot(context.Background(), 2, &consensus.Message{}, rowsOf([]byte("rows"))))
	require.GreaterOrEqual(t, time.Since(began), 2*delay, "there and back")
	const chunks = 40
	rows := make([][]byte, chunks)
	for i := range rows {
		rows[i] = []byte("rows")
	}
	began = time.Now()
	require.NoError(t, a.SendSnapshot(context.Background(), 2, &consensus.Message{}, rowsOf(rows...)))
	require.Less(t, time.Since(began), chunks*delay, "chunks are in flight together")
}
