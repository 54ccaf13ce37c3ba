package node_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
	"github.com/linchpindb/linchpin/pkg/node/balance"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/transport/mem"
)

// group is a cluster whose shards have three replicas.
type group struct {
	t       *testing.T
	net     *mem.Network
	router  *hotshard.Router
	members [3]*groupMember
	logged  logged
	// hold, checkEvery and balance are groups.Replication's. hold is 200 ms by default.
	hold, checkEvery, truncateEvery time.Duration
	balance                         balance.Config
	// snapshots configures retained snapshots; by default there are none.
	snapshots shard.SnapshotConfig
	// logs are the options of the logs.
	logs raftlog.Options
	// arriving is called with each Raft snapshot before its rows arrive; nil for nothing.
	arriving func(*consensus.Message)
	// batches counts calls of SendReplica, messages what they send.
	batches, messages atomic.Int64
	// failures is called with errors other than unknown outcomes; nil if they are expected.
	failures func(*kv.Error)
}

type groupMember struct {
	*node.Node
	id        kv.NodeID
	rows, log *memstore.Store
	logs      *raftlog.Store
	// up is nil while the node is stopped. disk has log while it runs; stamp numbers the disks that it has had.
	up    atomic.Pointer[node.Node]
	disk  *logDisk
	stamp atomic.Uint64
	// damaged: no rows can be replaced.
	damaged atomic.Bool
	// unreadable: no row of shard 1 can be read.
	unreadable atomic.Bool
	// replicaReads counts the reads that its replicas have begun to serve (package snapshotreads).
	replicaReads atomic.Int64
}

// rowsDisk is the store of a member.
type rowsDisk struct {
	engine.Engine
	m *groupMember
}

func (d rowsDisk) ReplaceShard(s kv.ShardID) (engine.ShardWriter, error) {
	if d.m.damaged.Load() {
		return nil, kv.Errorf(kv.KindCorrupt, "the rows of %v cannot be replaced", s)
	}
	return d.Engine.ReplaceShard(s)
}

func (d rowsDisk) ReadShard(s kv.ShardID) (engine.ShardReader, error) {
	if s == 1 && d.m.unreadable.Load() {
		return nil, kv.Errorf(kv.KindCorrupt, "the rows of %v cannot be read", s)
	}
	return d.Engine.ReadShard(s)
}

func (d rowsDisk) Read(s kv.ShardID, r entry.Read) entry.ReadResult {
	if r.Kind == entry.ReadRow && r.Table == entry.TableReplica {
		d.m.replicaReads.Add(1)
	}
	if s == 1 && d.m.unreadable.Load() {
		return entry.ReadResult{Err: kv.Errorf(kv.KindCorrupt, "the rows of %v cannot be read", s)}
	}
	return d.Engine.Read(s, r)
}

// direct sends the messages of replicas to the other nodes of the group, which share nothing with the sender.
type direct struct {
	g    *group
	from kv.NodeID
}

func (d direct) SendReplica(to kv.NodeID, msgs []consensus.Message) {
	n := d.g.members[to-1].up.Load()
	if n == nil || d.g.members[d.from-1].up.Load() == nil {
		return
	}
	d.g.batches.Add(1)
	d.g.messages.Add(int64(len(msgs)))
	out := make([]consensus.Message, len(msgs))
	for i := range msgs {
		out[i] = copyOf(&msgs[i])
	}
	n.Groups().ReceiveReplica(d.from, out)
}

func copyOf(m *consensus.Message) consensus.Message {
	c := *m
	b, err := m.Raft.Marshal()
	c.Raft = raftpb.Message{}
	if err == nil {
		err = c.Raft.Unmarshal(b)
	}
	if err != nil {
		panic(err)
	}
	return c
}

func (d direct) SendSnapshot(ctx context.Context, to kv.NodeID, m *consensus.Message,
	next func() ([]byte, error)) error {
	n := d.g.members[to-1].up.Load()
	if n == nil {
		return kv.Errorf(kv.KindUnavailable, "the node is down")
	}
	c := copyOf(m)
	if d.g.arriving != nil {
		d.g.arriving(&c)
	}
	return n.Groups().ReceiveSnapshot(ctx, d.from, &c, next)
}

func newGroup(t *testing.T, shards int) *group { return newGroupWith(t, shards, &group{}) }

func newGroupWith(t *testing.T, shards int, g *group) *group {
	p := kv.FirstPlacement(shards+1, 3)
	p.Replicas = 3
	router, err := hotshard.NewPlacedRouter(p, nil)
	require.NoError(t, err)
	network, err := mem.NewNetwork(mem.Options{Isolate: true})
	require.NoError(t, err)
	g.t, g.net, g.router, g.hold = t, network, router, cmp.Or(g.hold, 200*time.Millisecond)
	for i := range g.members {
		g.members[i] = &groupMember{id: kv.NodeID(i + 1), rows: memstore.NewAutoSync(), log: memstore.NewAutoSync()}
	}
	for _, m := range g.members {
		g.start(m)
	}
	t.Cleanup(func() {
		for _, m := range g.members {
			if m.up.Load() != nil {
				g.stop(m)
			}
		}
	})
	return g
}

func (g *group) start(m *groupMember) { require.NoError(g.t, g.tryStart(m)) }

func (g *group) tryStart(m *groupMember) error {
	clk, err := clock.NewReal()
	require.NoError(g.t, err)
	tr, err := g.net.Join(m.id, func(envs []*msg.Envelope) {
		if n := m.up.Load(); n != nil {
			n.Receive(envs)
		}
	})
	require.NoError(g.t, err)
	m.disk = &logDisk{Engine: m.log}
	m.logs = raftlog.New(m.disk, g.logs)
	m.Node, err = node.Start(node.Options{ID: m.id, Router: g.router, Engine: rowsDisk{m.rows, m}, Clock: clk,
		Shard: shard.Config{Snapshots: g.snapshots}, Transport: tr,
		Log: slog.New(slog.NewTextHandler(&g.logged, nil)).With("node", m.id),
		Replication: &node.Replication{Log: m.logs, Send: direct{g, m.id},
			Founding: m.stamp.Load() == 0, Place: kv.PlaceOf(m.id, m.stamp.Load()), Hold: g.hold,
			CheckEvery: g.checkEvery, TruncateEvery: g.truncateEvery, Balance: g.balance,
			PlaceOf: func(n kv.NodeID) (string, bool) { return kv.PlaceOf(n, g.members[n-1].stamp.Load()), true }}})
	if err != nil {
		return errors.Join(err, tr.Close())
	}
	m.up.Store(m.Node)
	return nil
}

func (g *group) stop(m *groupMember) {
	m.up.Store(nil)
	m.Node.Stop()
}

// leader returns the member that leads a shard, when all that are up agree.
func (g *group) leader(s kv.ShardID) (leader *groupMember) {
	require.Eventually(g.t, func() bool {
		leader = nil
		for _, m := range g.members {
			n := m.up.Load()
			if n == nil {
				continue
			}
			for _, st := range n.ShardStats(0) {
				if st.Shard == s {
					leader = m
				}
			}
		}
		return leader != nil
	}, 20*time.Second, 5*time.Millisecond, "shard %v has no leader", s)
	return leader
}

// count increments a counter per gateway until it is stopped, and returns how many increments were acknowledged.
func (g *group) count(stop <-chan struct{}) func() (acknowledged, unknown int) {
	var wg sync.WaitGroup
	var acks, unknown atomic.Int64
	for i, m := range g.members {
		wg.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				default:
				}
				n := m.up.Load()
				if n == nil {
					time.Sleep(time.Millisecond)
					continue
				}
				op := msg.Op{Kind: msg.OpAdd, Key: fmt.Appendf(nil, "k%d", (i+k)%5), Delta: 1}
				res := n.Gateway().Execute(context.Background(), gateway.Request{Ops: []msg.Op{op}})
				switch {
				case res.Err == nil:
					acks.Add(1)
				case res.Err.Kind == kv.KindOutcomeUnknown:
					unknown.Add(1)
				case g.failures != nil:
					g.failures(res.Err)
				}
			}
		})
	}
	return func() (int, int) { wg.Wait(); return int(acks.Load()), int(unknown.Load()) }
}

// view has a view at each node read twice, some milliseconds apart, until stop is closed. It returns the failures.
func (g *group) view(stop <-chan struct{}) func() []error {
	var wg sync.WaitGroup
	failures := make([][]error, len(g.members))
	for i, m := range g.members {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := readTwice(m.Gateway()); err != nil {
					failures[i] = append(failures[i], err)
				}
			}
		})
	}
	return func() []error { wg.Wait(); return slices.Concat(failures...) }
}

func readTwice(at *gateway.Gateway) error {
	ctx := context.Background()
	tx, err := at.Begin(ctx, gateway.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	for k := range 2 { // two keys of a shard
		op := msg.Op{Kind: msg.OpGet, Key: fmt.Appendf(nil, "{view}%d", k)}
		if _, err := tx.Do(ctx, []msg.Op{op}); err != nil {
			return err
		}
		time.Sleep(3 * time.Millisecond)
	}
	if res := tx.Commit(ctx); res.Err != nil {
		return res.Err
	}
	return nil
}

// sum reads the counters at one node, in one transaction.
func (g *group) sum(at *groupMember) (sum int64) {
	var ops []msg.Op
	for k := range 5 {
		ops = append(ops, msg.Op{Kind: msg.OpGet, Key: fmt.Appendf(nil, "k%d", k)})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	res := at.Gateway().Execute(ctx, gateway.Request{Ops: ops})
	require.Nil(g.t, res.Err)
	for _, r := range res.Results {
		if r.Found { // it is incremented already
			n, err := adt.DecodeCounter(r.Value)
			require.NoError(g.t, err)
			sum += n
		}
	}
	return sum
}

// TestLeaderFailsUnderLoad: nodes are stopped one after the other while all gateways increment counters, and started
// again. What was acknowledged is there, and nothing else (R10.1).
func TestLeaderFailsUnderLoad(t *testing.T) {
	g := newGroup(t, 3)
	hot := g.router.HotShard()
	g.leader(hot)
	stop := make(chan struct{})
	finish := g.count(stop)
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		m := g.leader(0)
		g.stop(m)
		next := g.leader(0)
		require.NotEqual(t, m.id, next.id)
		time.Sleep(200 * time.Millisecond)
		g.start(m)
	}
	close(stop)
	acknowledged, unknown := finish()
	sum := g.sum(g.leader(0))
	t.Logf("%d acknowledged, %d unknown, sum %d", acknowledged, unknown, sum)
	require.GreaterOrEqual(t, sum, int64(acknowledged))
	require.LessOrEqual(t, sum, int64(acknowledged+unknown))
	require.Greater(t, acknowledged, 100)
}

// awaitReplaced waits until a node has new replicas of so many shards, and the changes are complete.
func (g *group) awaitReplaced(m *groupMember, shards int) {
	require.Eventually(g.t, func() bool {
		replaced := 0
		for _, st := range m.Groups().Status() {
			isNew := slices.ContainsFunc(st.Members, func(m groups.Member) bool { return m.Replica == 4 && !m.Learner })
			if isNew && !st.Changing {
				replaced++
			}
		}
		return replaced == shards
	}, 30*time.Second, 20*time.Millisecond, "the node has no new replicas")
}

// TestEmptiedDiskIsReplaced: a node returns with an empty disk under load. Its replicas are made again, and then the
// cluster goes on without another node (R7.20).
func TestEmptiedDiskIsReplaced(t *testing.T) {
	g := newGroup(t, 3)
	g.leader(0)
	stop := make(chan struct{})
	finish := g.count(stop)
	time.Sleep(200 * time.Millisecond)
	lost := g.members[2]
	g.empty(lost)
	g.awaitReplaced(lost, g.router.Shards())
	for s := range kv.ShardID(g.router.Shards()) {
		g.leader(s)
	}
	g.stop(g.members[0])
	for s := range kv.ShardID(g.router.Shards()) {
		g.leader(s)
	}
	close(stop)
	acknowledged, unknown := finish()
	sum := g.sum(lost)
	t.Logf("%d acknowledged, %d unknown, sum %d", acknowledged, unknown, sum)
	require.GreaterOrEqual(t, sum, int64(acknowledged))
	require.LessOrEqual(t, sum, int64(acknowledged+unknown))
}

// empty starts a node with an empty disk.
func (g *group) empty(m *groupMember) {
	g.stop(m)
	m.rows, m.log = memstore.NewAutoSync(), memstore.NewAutoSync()
	m.stamp.Store(7)
	g.start(m)
}

// TestLeaderThatCannotSendItsRowsIsReplaced: no client reads the damaged rows, but the Raft snapshot for an empty disk,
// which another leader sends then (R6.15).
func TestLeaderThatCannotSendItsRowsIsReplaced(t *testing.T) {
	g := newGroup(t, 2)
	bad := g.leader(1)
	lost := g.members[bad.id%3]
	bad.unreadable.Store(true)
	g.empty(lost)
	require.Eventually(t, func() bool { return g.leader(1) != bad }, 20*time.Second, 10*time.Millisecond)
	bad.unreadable.Store(false)
	g.awaitReplaced(lost, g.router.Shards())
}

// TestTransferredLeadershipsFailNothing: a node gives its leaderships away under load, and no request fails.
func TestTransferredLeadershipsFailNothing(t *testing.T) {
	g := newGroupWith(t, 3, &group{hold: 800 * time.Millisecond})
	g.leader(0)
	g.failures = func(err *kv.Error) { t.Errorf("a request fails: %v", err) }
	stop := make(chan struct{})
	finish, viewed := g.count(stop), g.view(stop)
	for range 5 {
		time.Sleep(100 * time.Millisecond)
		m := g.leader(g.router.HotShard())
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		left := m.Groups().TransferLeaderships(ctx)
		cancel()
		require.Zero(t, left)
	}
	close(stop)
	acknowledged, unknown := finish()
	require.Empty(t, viewed())
	require.Zero(t, unknown)
	require.Equal(t, int64(acknowledged), g.sum(g.leader(0)))
	t.Logf("%d acknowledged", acknowledged)
}

// TestTransferWaitsForReaders: the gateway of a registered reader has died when leadership is transferred. Updates of
// other keys go on: they do not wait at the next leader until the registration has ended.
func TestTransferWaitsForReaders(t *testing.T) {
	const lease, hold = 1500 * time.Millisecond, 2 * time.Second
	g := newGroupWith(t, 1, &group{hold: hold})
	old := g.leader(0)
	other := g.members[old.id%3]
	add := msg.Op{Kind: msg.OpAdd, Key: []byte("k"), Delta: 1}
	increment := func() time.Duration {
		begin := time.Now()
		res := other.Gateway().Execute(t.Context(), gateway.Request{Ops: []msg.Op{add}})
		require.Nil(t, res.Err)
		return time.Since(begin)
	}
	increment()
	read := msg.ToShard(g.router.Shard(add.Key))
	read.Body = &msg.Read{Reader: kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 1}}, Gateway: 9, Number: 1,
		LeaseNanos: int64(lease), Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("read")}}}
	old.Receive([]*msg.Envelope{read})
	require.Eventually(t, func() bool { return old.InFlight() > 0 }, 10*time.Second, time.Millisecond)
	transferred := make(chan int, 1)
	go func() { transferred <- old.Groups().TransferLeaderships(t.Context()) }()
	longest, after := time.Duration(0), 0
	for done := false; after < 20; {
		longest = max(longest, increment())
		if done {
			after++
			continue
		}
		select {
		case left := <-transferred:
			require.Zero(t, left)
			done = true
		default:
		}
	}
	t.Logf("the longest increment took %v", longest)
	require.Less(t, longest, lease*2/3)
}

// TestDifferingReplicaIsReplaced: a check finds a row that only one replica has (R6.14).
func TestDifferingReplicaIsReplaced(t *testing.T) {
	g := newGroupWith(t, 2, &group{checkEvery: 300 * time.Millisecond})
	g.leader(0)
	stop := make(chan struct{})
	finish := g.count(stop)
	bad := g.members[1]
	g.spoil(bad)
	g.awaitReplaced(bad, 1)
	close(stop)
	acknowledged, unknown := finish()
	sum := g.sum(bad)
	require.GreaterOrEqual(t, sum, int64(acknowledged))
	require.LessOrEqual(t, sum, int64(acknowledged+unknown))
	rows := bad.rows.Read(1, entry.Read{Kind: entry.ReadRows, Table: entry.TableOutcome, Span: kv.Range(nil, nil)}).Rows
	for _, r := range rows {
		require.NotEqual(t, "of no transaction", string(r.Key))
	}
}

// spoil adds a row to shard 1 on one node.
func (g *group) spoil(bad *groupMember) {
	g.stop(bad)
	_, err := bad.rows.Append([]entry.Group{{Shard: 1, Entries: []entry.Entry{
		{Table: entry.TableOutcome, Key: []byte("of no transaction"), Value: []byte{1}}}}})
	require.NoError(g.t, err)
	g.start(bad)
}

// TestUnfitReplicaGoesOnWhereItCannotBeReplaced: it is one of a majority while another node is down (R6.15).
func TestUnfitReplicaGoesOnWhereItCannotBeReplaced(t *testing.T) {
	g := newGroupWith(t, 2, &group{checkEvery: 300 * time.Millisecond})
	g.leader(0)
	bad := g.members[1]
	bad.damaged.Store(true)
	g.spoil(bad)
	g.requireLogged("no replica can be made on this node.*the rows of s1 cannot be replaced")
	require.Contains(t, bad.Groups().Status()[1].Failed, "cannot be replaced")
	g.stop(g.members[0])
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for k := range 5 {
		op := msg.Op{Kind: msg.OpAdd, Key: fmt.Appendf(nil, "k%d", k), Delta: 1}
		require.Nil(t, g.members[2].Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{op}}).Err)
	}
	require.Equal(t, int64(5), g.sum(g.members[2]))
	g.start(g.members[0])
	bad.damaged.Store(false)
	g.awaitReplaced(bad, 1)
	require.Empty(t, bad.Groups().Status()[1].Failed)
}

// TestUnfitReplicaGoesOnWhileAnotherNodeIsDown: it is one of a majority, and would end before its successor on the same
// disk has the rows. It is replaced when all other nodes respond.
func TestUnfitReplicaGoesOnWhileAnotherNodeIsDown(t *testing.T) {
	g := newGroupWith(t, 2, &group{})
	bad := g.leader(1)
	down, other := g.members[bad.id%3], g.members[(bad.id+1)%3]
	g.stop(down)
	bad.unreadable.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for k, begin := 0, time.Now(); k < 5 || time.Since(begin) < 2*time.Second; k++ {
		op := msg.Op{Kind: msg.OpAdd, Key: fmt.Appendf(nil, "k%d", k%5), Delta: 1}
		require.Nil(t, other.Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{op}}).Err)
	}
	g.requireLogged("rows or entries of a replica are damaged")
	g.stop(bad)
	require.ErrorContains(t, g.tryStart(bad), "empty the node's directories, and start it again")
	bad.unreadable.Store(false)
	g.start(bad)
	g.start(down)
	g.awaitReplaced(bad, 1)
}
