package node_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
)

// disk is an engine that syncs on command.
type disk struct {
	*memstore.Store
	mu       sync.Mutex
	appended sync.Cond
	last     engine.Position
	// waits counts calls of WaitDurable for positions that are not durable.
	waits  int
	closed bool
}

func newDisk() *disk {
	d := &disk{Store: memstore.New()}
	d.appended.L = &d.mu
	return d
}

func (d *disk) Append(groups []entry.Group) (engine.Position, error) {
	at, err := d.Store.Append(groups)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = at
	d.appended.Broadcast()
	return at, err
}

func (d *disk) WaitDurable(p engine.Position) error {
	d.mu.Lock()
	if p > d.Durable() {
		d.waits++
		d.appended.Broadcast()
	}
	d.mu.Unlock()
	return d.Store.WaitDurable(p)
}

// await waits until there is a batch after position p, or the end.
func (d *disk) await(p engine.Position) engine.Position {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.last <= p && !d.closed {
		d.appended.Wait()
	}
	return d.last
}

// awaitWait waits until a goroutine waits for the disk.
func (d *disk) awaitWait() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.waits == 0 {
		d.appended.Wait()
	}
}

// end ends all calls of await.
func (d *disk) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.appended.Broadcast()
}

// notifyingDisk is a disk that calls back with durable positions.
type notifyingDisk struct {
	*disk
	notify func(engine.Position)
}

func (d *notifyingDisk) NotifyDurable(f func(engine.Position)) { d.notify = f }

// start starts a node with one ordinary shard and the hot shard, on a disk that syncs nothing until sync is
// called.
func start(t *testing.T, notifying bool) (n *node.Node, d *disk, sync func(engine.Position)) {
	d = newDisk()
	opt := node.Options{ID: 1, Engine: d}
	notifier := &notifyingDisk{disk: d}
	if notifying {
		opt.Engine = notifier
	}
	sync = func(at engine.Position) {
		d.SyncTo(at)
		if notifier.notify != nil {
			notifier.notify(at)
		}
	}
	var err error
	opt.Router, err = hotshard.NewRouter(1, 1, nil)
	require.NoError(t, err)
	opt.Clock, err = clock.NewReal()
	require.NoError(t, err)
	started := make(chan struct{})
	go func() { // Start waits for the incarnations
		at := d.await(0)
		d.SyncTo(at)
		close(started)
	}()
	n, err = node.Start(opt)
	require.NoError(t, err)
	<-started
	return n, d, sync
}

// keepSyncing syncs every batch as soon as it is appended, until the returned function is called. A node
// that stops appends clean shutdowns of its shards.
func keepSyncing(d *disk, sync func(engine.Position)) (end func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for at, next := engine.Position(0), d.await(0); next > at; next = d.await(at) {
			at = next
			sync(at)
		}
	}()
	return func() {
		d.end()
		<-ended
	}
}

func put(key string) []msg.Op {
	return []msg.Op{{Kind: msg.OpPut, Key: []byte(key), Value: []byte("v")}}
}

// A response waits for the disk, for both kinds of engine and whichever goroutine runs the step.
func TestResponseWaitsForDurability(t *testing.T) {
	for _, tc := range []struct {
		name             string
		notifying, alone bool
	}{
		{"polling engine, step on the shard's goroutine", false, false},
		{"polling engine, step on the caller's goroutine", false, true},
		{"notifying engine, step on the shard's goroutine", true, false},
		{"notifying engine, step on the caller's goroutine", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, d, sync := start(t, tc.notifying)
			for _, key := range []string{"a", "b", "a"} {
				responses := make(chan gateway.Response, 1)
				before := d.await(0)
				n.Gateway().Submit(gateway.Request{Ops: put(key), Alone: tc.alone}, func(r gateway.Response) { responses <- r })
				at := d.await(before)
				require.Empty(t, responses)
				sync(at)
				r := <-responses
				require.Nil(t, r.Err)
			}
			end := keepSyncing(d, sync)
			n.Stop()
			end()
		})
	}
}

// Stop waits until appended entries are durable, and sends their responses.
func TestStopSendsDurableResponses(t *testing.T) {
	for _, notifying := range []bool{false, true} {
		n, d, sync := start(t, notifying)
		responses := make(chan gateway.Response, 1)
		before := d.await(0)
		n.Gateway().Submit(gateway.Request{Ops: put("a"), Alone: true}, func(r gateway.Response) { responses <- r })
		at := d.await(before)
		stopped := make(chan struct{})
		go func() {
			n.Stop()
			close(stopped)
		}()
		if notifying {
			d.awaitWait()
		}
		select {
		case <-stopped:
			t.Fatal("the node has stopped without waiting for the disk")
		default:
		}
		sync(at)
		end := keepSyncing(d, sync)
		<-stopped
		end()
		require.Nil(t, (<-responses).Err)
	}
}

func TestRequestAfterStopChangesNothing(t *testing.T) {
	n, d, sync := start(t, true)
	end := keepSyncing(d, sync)
	n.Stop()
	end()
	before := d.await(0)
	n.Gateway().Submit(gateway.Request{Ops: put("a"), Alone: true}, func(gateway.Response) {})
	require.Equal(t, before, d.await(before-1))
}

// Callers with concurrent and with single transactions all receive responses, on a disk that lags behind.
func TestConcurrentRequestsAreAnswered(t *testing.T) {
	n, d, makeDurable := start(t, true)
	end := keepSyncing(d, makeDurable)
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			for range 200 {
				if r := n.Gateway().Execute(t.Context(), gateway.Request{Ops: put(string(rune('a' + i%5))),
					Alone: i%2 == 0}); r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
	callers.Wait()
	n.Stop()
	end()
}

// taken counts the messages of completed steps of a node's shards.
func taken(n *node.Node) (messages uint64) {
	for _, s := range n.ShardStats(0) {
		messages += s.Stats.Messages
	}
	return messages
}

// A step without entries may report what an earlier step wrote.
func TestReadOfUnsyncedWriteWaits(t *testing.T) {
	for _, alone := range []bool{false, true} {
		n, d, sync := start(t, true)
		written, read := make(chan gateway.Response, 1), make(chan gateway.Response, 1)
		before := d.await(0)
		n.Gateway().Submit(gateway.Request{Ops: put("a"), Alone: alone}, func(r gateway.Response) { written <- r })
		at := d.await(before)
		one := taken(n)
		n.Gateway().Submit(gateway.Request{Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("a")}}, Alone: alone},
			func(r gateway.Response) { read <- r })
		require.Eventually(t, func() bool { return taken(n) > one }, 10*time.Second, time.Millisecond)
		// The response is registered with the releaser once a later batch is appended, and that batch is complete
		// once there is another.
		next := at
		for range 2 {
			n.Gateway().Submit(gateway.Request{Ops: put("b")}, func(gateway.Response) {})
			next = d.await(next)
		}
		require.Empty(t, read, "returned before it was durable")
		sync(at)
		require.True(t, (<-read).Results[0].Found)
		require.Nil(t, (<-written).Err)
		end := keepSyncing(d, sync)
		n.Stop()
		end()
	}
}
