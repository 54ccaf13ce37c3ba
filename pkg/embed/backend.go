package embed

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/node"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// backend is what the gRPC edge sees of a node (server.Backend).
type backend struct {
	*gateway.Gateway
	node    *node.Node
	router  *hotshard.Router
	id      kv.NodeID
	cluster string
	version string
	// userName is the name of an account's user, empty if it is not known.
	userName func(kv.Account) string
	// addresses returns the addresses of the members.
	addresses func() map[kv.NodeID]string
	// metrics may be nil.
	metrics *metrics.Node
	// operations is nil if metrics is.
	operations *operations
	// disks are the node's own.
	disks disks
	// noLeases: leaders have no leases.
	noLeases bool
	// history is how far back the past can be read; 0 if it cannot.
	history time.Duration
	// peers are the other nodes of this process, by id, for numbers of all
	// shards; nil in a server.
	peers func() []*node.Node
}

// Leader names no leader of the hot shard: the gateways of all nodes share the work for a hot key, which its leader
// would have alone otherwise.
func (b *backend) Leader(s kv.ShardID) kv.NodeID {
	if s == b.router.HotShard() {
		return 0
	}
	return b.node.Leader(s)
}

func (b *backend) Submit(req gateway.Request, done func(gateway.Response)) {
	b.operations.count(req.Ops)
	b.Gateway.Submit(req, done)
}

func (b *backend) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	t, err := b.Gateway.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	if b.operations == nil {
		return t, nil
	}
	return &countedTx{t, b.operations}, nil
}

func (b *backend) Identity() *pb.StatusResponse {
	return &pb.StatusResponse{NodeId: uint32(b.id), ClusterId: b.cluster, Version: b.version,
		Shards: uint32(b.router.Shards()), HotShard: uint32(b.router.HotShard()), LeaderLeasesOff: b.noLeases}
}

func (b *backend) Status() *pb.StatusResponse {
	st := b.Identity()
	st.UptimeMs, st.Ready = uint64(b.node.Uptime().Milliseconds()), true
	st.Disk = diskSpace(b.node, b.disks.rows)
	addrs, gs := b.addresses(), b.groups()
	if gs != nil {
		st.Replicas = uint32(b.router.Placement().Replicas)
		st.ClockRates = clockRates(b.node.Groups())
	}
	for i := range b.router.Nodes() {
		id := kv.NodeID(i + 1)
		on := b.router.ShardsOf(id)
		if gs != nil {
			on = gs.led(id)
		}
		m := pb.Member{NodeId: uint32(id), Address: addrs[id], Up: b.node.Up(id), Self: id == b.id,
			Draining: slices.ContainsFunc(on, b.Gateway.IsDraining), KeyspacePercent: b.router.Keyspace(on),
			Replicas: gs.replicasOn(id)}
		for _, s := range on {
			m.Shards = append(m.Shards, uint32(s))
		}
		st.Members = append(st.Members, m)
	}
	return st
}

// diskSpace returns the space of the file system, and what the node rejects because of it.
func diskSpace(n *node.Node, s *pebblestore.Store) pb.DiskSpace {
	r := n.DiskSpace()
	disk, _ := s.Disk() // what is not known is shown as 0
	return pb.DiskSpace{FreeBytes: disk.Free, SizeBytes: disk.Size, ReserveBytes: r.Reserve, Rejects: rejectsAt[r.Level]}
}

var rejectsAt = map[shard.Disk]pb.DiskRejects{shard.DiskEnough: pb.DiskRejects_DISK_REJECTS_NOTHING,
	shard.DiskLow: pb.DiskRejects_DISK_REJECTS_WRITES, shard.DiskFull: pb.DiskRejects_DISK_REJECTS_ALL_WRITES}

func (b *backend) all() []*node.Node {
	if b.peers != nil {
		return b.peers()
	}
	return []*node.Node{b.node}
}

func (b *backend) Shards() []pb.ShardStatus {
	out := make([]pb.ShardStatus, b.router.Shards())
	for i := range out {
		id := kv.ShardID(i)
		n := b.router.Node(id)
		out[i] = pb.ShardStatus{Shard: uint32(i), NodeId: uint32(n), Hot: id == b.router.HotShard(), Up: b.node.Up(n)}
	}
	b.groups().fill(out, b.node.Up)
	for _, n := range b.all() {
		for _, s := range n.ShardStats(0) {
			st := &out[s.Shard]
			st.Incarnation, st.Csn, st.KeysInMemory = uint64(s.Incarnation), uint64(s.CSN), uint64(s.Keys)
			st.LockWaiters, st.Intents, st.DecisionRecords = uint64(s.Waiting), uint64(s.Prepared), uint64(s.Records)
			st.Steps = s.Stats.Steps
			if b.metrics != nil {
				_, took := b.metrics.Shard(s.Shard).Steps()
				st.StepTimeUs = uint64(took.Microseconds())
			}
		}
	}
	return out
}

func (b *backend) HotKeys(n int) (out []hotshard.KeyHeat) {
	for _, x := range b.all() {
		out = append(out, x.HotKeys(n)...)
	}
	slices.SortStableFunc(out, func(a, b hotshard.KeyHeat) int { return cmp.Compare(b.Nanos, a.Nanos) })
	return out[:min(n, len(out))]
}

func (b *backend) Activity(since int64, receipts, waits int) server.Activity {
	g, j := b.Gateway, b.node.Journal()
	out := server.Activity{DiskBytes: b.disks.bytes(), InFlight: g.InFlight(), Open: g.OpenCount(),
		Seconds: j.Seconds(since), Receipts: j.Receipts(receipts), Conflicts: j.Conflicts()}
	if waits > 0 {
		for _, w := range b.node.Waiters(waits) {
			out.Waits = append(out.Waits, server.Wait{Shard: w.Shard, Txn: w.Txn.TxnID, Receipt: w.Receipt,
				User: b.userName(w.User), HolderUser: b.userName(w.HolderUser)})
		}
	}
	return out
}

func (b *backend) Reclaimable() uint64 { return b.disks.rows.Metrics().ReclaimableBytes }

func (b *backend) Reclaim(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error) {
	r, err := b.disks.rows.ReclaimAll(ctx, progress)
	return server.Reclaimed{Before: r.Before, After: r.After, History: b.history}, err
}
