package admin

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Status is the state of a node and the members of the cluster as that node sees them.
type Status struct {
	Node    int
	Cluster string
	// Version is that of the program.
	Version string
	Uptime  time.Duration
	// Ready: the cluster is formed and the node serves.
	Ready   bool
	Members []Member
	// Shards is the number of shards of the cluster, the hot one included; HotShard is the number of
	// that.
	Shards, HotShard int
	Disk             Disk
	// RefusedAddresses are those of which too many connections have failed, at most 16.
	RefusedAddresses []RefusedAddress
	// ReclaimableBytes estimates how many bytes of the node's store deleted data still occupies.
	ReclaimableBytes int64
	// Replicas is the number of replicas that each shard should have; 0 if each has one.
	Replicas int
	// LeaderLeasesOff: the cluster relies on no leases of leaders, because clocks cannot be trusted. ClockRates are by how
	// many parts of a million the clocks of members run faster than that of the node that responds, where that is more
	// than 2 %; negative for slower ones.
	LeaderLeasesOff bool
	ClockRates      map[int]int64
}

// Member is a node of the cluster.
type Member struct {
	Node    int
	Address string
	// Up: the node that responds reaches it. Self: it is that node. Draining: nothing new begins on
	// its shards.
	Up, Self, Draining bool
	// Shards are those on it, and Keyspace is their share of the keyspace, 0 to 100 percent. With replicas they are
	// those that it leads.
	Shards   []int
	Keyspace float64
	// Replicas is the number of replicas on it, as far as the node that responds knows; 0 without replicas.
	Replicas int
}

// Disk is the disk of a node's store.
type Disk struct {
	// FreeBytes and SizeBytes are 0 if they are not known. ReserveBytes are kept free.
	FreeBytes, SizeBytes, ReserveBytes int64
	// Rejects is what the node rejects because the disk is full: nothing, writes or all-writes (that
	// includes deletes).
	Rejects string
}

// RefusedAddress is an IP address of which too many connections have failed.
type RefusedAddress struct {
	Address  string
	Failures int
	// Remaining is for how long it is refused or slowed, 0 if only until the next failure.
	Remaining time.Duration
	// Slowed: new connections are served after a delay, and not refused.
	Slowed bool
}

// Status returns the state of the node.
func (a *Admin) Status(ctx context.Context) (Status, error) {
	r, err := ask(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.StatusResponse, error) {
		return c.Status(ctx, &pb.StatusRequest{})
	})
	if err != nil {
		return Status{}, err
	}
	return Status{Node: int(r.NodeId), Cluster: r.ClusterId, Version: r.Version, Uptime: millis(r.UptimeMs),
		Ready:   r.Ready,
		Members: each(r.Members, member), Shards: int(r.Shards), HotShard: int(r.HotShard), Disk: disk(&r.Disk),
		RefusedAddresses: each(r.RefusedAddresses, func(x *pb.RefusedAddress) RefusedAddress {
			return RefusedAddress{x.Address, int(x.Failures), millis(x.RemainingMs), x.Slowed}
		}), ReclaimableBytes: int64(r.ReclaimableBytes), Replicas: int(r.Replicas), LeaderLeasesOff: r.LeaderLeasesOff,
		ClockRates: clockRates(r.ClockRates)}, nil
}

func clockRates(all []pb.ClockRate) map[int]int64 {
	out := map[int]int64{}
	for i := range all {
		out[int(all[i].NodeId)] = all[i].Ppm
	}
	return out
}

func member(m *pb.Member) Member {
	return Member{Node: int(m.NodeId), Address: m.Address, Up: m.Up, Self: m.Self, Draining: m.Draining,
		Shards: ints(m.Shards), Keyspace: m.KeyspacePercent,
		Replicas: int(m.Replicas)}
}

func disk(d *pb.DiskSpace) Disk {
	return Disk{FreeBytes: int64(d.FreeBytes), SizeBytes: int64(d.SizeBytes), ReserveBytes: int64(d.ReserveBytes),
		Rejects: word(d.Rejects.String(), "DISK_REJECTS_")}
}

// Shard is the state of a shard.
type Shard struct {
	// Node is the node of the shard. With replicas it is the leader, 0 if none is known.
	Shard, Node int
	// Hot: it is the hot shard. Up: it can be reached; with replicas, a leader that serves is known.
	Hot, Up bool
	// What follows, up to StepTime, is known only of the shards of the node that responds. Incarnation counts the starts
	// of the shard and CSN the transactions that have become visible.
	Incarnation, CSN uint64
	KeysInMemory     uint64
	// LockWaiters is the number of requests that wait for a lock, Intents that of prepared
	// transactions, DecisionRecords that of outcomes that are kept.
	LockWaiters, Intents, DecisionRecords uint64
	// Steps is how often the shard has run, and StepTime how long in all.
	Steps    uint64
	StepTime time.Duration
	// The rest is zero without replicas. Replicas are those of the shard, as the node that responds knows them, and Term
	// is the term of the leader.
	Replicas []Replica
	Term     uint64
	// Lease is for how long the leader's lease lasts; only the leader knows it.
	Lease time.Duration
	// Changing: a change of the replicas is in progress.
	Changing bool
	// Failure is why the replica of the node that responds has failed, empty if it has not.
	Failure string
	// Missing is how many replicas the shard has less than it should have, not counting those that are silent or
	// damaged, and MissingReason is why. Only the leader knows them.
	Missing       int
	MissingReason string
}

// Replica is a replica of a shard.
type Replica struct {
	// Replica is its number, which is never used again.
	Replica, Node int
	// Leader: it leads the shard. Learner: it is new, receives the data, and does not count yet. Damaged: its log or its
	// rows are damaged, and it is to be replaced.
	Leader, Learner, Damaged bool
	// Lag is how many committed entries it does not have, and Silent for how long it has not responded, 0 if it responds.
	// Only the leader knows them.
	Lag    uint64
	Silent time.Duration
}

// Shards returns the shards of the cluster.
func (a *Admin) Shards(ctx context.Context) ([]Shard, error) {
	r, err := ask(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.ShardsResponse, error) {
		return c.Shards(ctx, &pb.ShardsRequest{})
	})
	if err != nil {
		return nil, err
	}
	return each(r.Shards, shard), nil
}

func shard(s *pb.ShardStatus) Shard {
	return Shard{Shard: int(s.Shard), Node: int(s.NodeId), Hot: s.Hot, Up: s.Up, Incarnation: s.Incarnation, CSN: s.Csn,
		KeysInMemory: s.KeysInMemory,
		LockWaiters:  s.LockWaiters, Intents: s.Intents, DecisionRecords: s.DecisionRecords, Steps: s.Steps,
		StepTime: micros(s.StepTimeUs), Replicas: each(s.Replicas, replica), Term: s.Term, Lease: millis(s.LeaseMs),
		Changing: s.Changing, Failure: s.Failure, Missing: int(s.Missing), MissingReason: s.MissingReason}
}

func replica(r *pb.ReplicaStatus) Replica {
	return Replica{Replica: int(r.Replica), Node: int(r.NodeId), Leader: r.Leader, Learner: r.Learner, Damaged: r.Damaged,
		Lag: r.Lag, Silent: millis(r.SilentMs)}
}

// Cancelled is where [Admin.CancelTransaction] has found a transaction.
type Cancelled struct {
	// Nodes are those through which the transaction was in flight, Unreachable those that did not
	// respond.
	Nodes, Unreachable []int
}

// CancelTransaction cancels a transaction that is in flight through any node: its locks are released.
// One that has sent its commit may still commit.
func (a *Admin) CancelTransaction(ctx context.Context, id client.TxID) (Cancelled, error) {
	r, err := change(ctx, a, func(ctx context.Context, c pb.AdminClient) (*pb.CancelTransactionResponse, error) {
		return c.CancelTransaction(ctx, &pb.CancelTransactionRequest{TxnId: stored(id)})
	})
	if err != nil {
		return Cancelled{}, err
	}
	return Cancelled{ints(r.NodeIds), ints(r.UnreachableIds)}, nil
}

func stored(id client.TxID) (out kv.TxnID) {
	if err := out.Unmarshal(id[:]); err != nil {
		panic(err) // it has the size of one
	}
	return out
}

func txID(id kv.TxnID) (out client.TxID) {
	if _, err := id.MarshalTo(out[:]); err != nil {
		panic(err) // it has the size of one
	}
	return out
}

// Outcome is the outcome of a transaction.
type Outcome struct {
	// Outcome is [client.Committed] or [client.NotApplied].
	Outcome client.Outcome
	// Results are those of its operations, in order. ResultsLost: they are no longer kept.
	Results     []Result
	ResultsLost bool
}

// Result is what an operation returned. Fields that the operation does not have are zero.
type Result struct {
	// Operation is its name, as "put" or "set.contains".
	Operation string
	// Found: the key exists, or existed before a delete.
	Found   bool
	Type    client.Type
	Value   []byte
	Number  int64
	Version client.Version
	Entries []client.Entry
	// Count is the number of keys that a delete of a range deleted.
	Count int
	// Data are what a method of a data type returned: []byte, int64, float64, bool or nil.
	Data    []any
	Expires time.Time
}

// Outcome returns the outcome of a transaction, with the names of its operations. See
// [client.DB.Outcome]: if the transaction has not committed, it never will.
func (a *Admin) Outcome(ctx context.Context, id client.TxID) (Outcome, error) {
	r, err := clientlink.Outcome(ctx, a.db, id)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Results: each(r.Results, result), ResultsLost: r.ResultsLost}
	for i := range min(len(out.Results), len(r.Operations)) {
		out.Results[i].Operation = r.Operations[i]
	}
	if r.Decision == pb.Decision_COMMITTED {
		out.Outcome = client.Committed
	}
	return out, nil
}

func result(r *pb.Result) Result {
	e := clientlink.ResultEntry(r).(client.Entry)
	return Result{Found: r.Found, Type: e.Type, Value: e.Value, Number: r.Number, Version: version(r.Version),
		Count: int(r.Count), Entries: each(r.Entries, entry), Data: each(r.Data, datum), Expires: e.Expires}
}

func entry(e *pb.Entry) client.Entry { return clientlink.Entry(e).(client.Entry) }

func version(v kv.Version) client.Version {
	out, err := client.ParseVersion(v.String())
	if err != nil {
		panic(err) // it is the text of one
	}
	return out
}

func datum(d *pb.Datum) any {
	switch x := d.Datum.(type) {
	case *pb.Datum_Bytes:
		return append([]byte{}, x.Bytes...)
	case *pb.Datum_Int:
		return x.Int
	case *pb.Datum_Float:
		return x.Float
	case *pb.Datum_Bool:
		return x.Bool
	}
	return nil
}
