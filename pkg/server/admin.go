package server

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/guard"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Status returns the node's view of the cluster.
func (s *service) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	st := s.backend().Status()
	out := &pb.StatusResponse{NodeId: uint32(st.Node), ClusterId: st.ClusterID, Version: st.Version,
		UptimeMs: uint64(st.Uptime.Milliseconds()), Ready: st.Ready, Shards: uint32(st.Shards), HotShard: uint32(st.HotShard),
		Disk:             room(st.Room),
		ReclaimableBytes: s.backend().Reclaimable()}
	for _, m := range st.Members {
		member := pb.Member{NodeId: uint32(m.Node), Address: m.Address, Up: m.Up, Self: m.Self, Draining: m.Draining,
			KeyspacePercent: m.Keyspace}
		for _, s := range m.Shards {
			member.Shards = append(member.Shards, uint32(s))
		}
		out.Members = append(out.Members, member)
	}
	if s.opts.RefusedAddresses != nil && guard.CallerOf(ctx).May(guard.NeedMonitor,
		"the list of refused addresses") == nil {
		for _, a := range s.opts.RefusedAddresses() {
			out.RefusedAddresses = append(out.RefusedAddresses,
				pb.RefusedAddress{Address: a.Address, Failures: uint32(a.Failures),
					RemainingMs: uint64(a.Remaining.Milliseconds()), Slowed: a.Slowed})
		}
	}
	return out, nil
}

var refuses = map[Refuses]pb.DiskRejects{RefusesNothing: pb.DiskRejects_DISK_REJECTS_NOTHING,
	RefusesWrites: pb.DiskRejects_DISK_REJECTS_WRITES, RefusesAllWrites: pb.DiskRejects_DISK_REJECTS_ALL_WRITES}

func room(r Room) pb.DiskSpace {
	return pb.DiskSpace{FreeBytes: r.Free, SizeBytes: r.Size, ReserveBytes: r.Reserve, Rejects: refuses[r.Refuses]}
}

// Shards lists the shards of the cluster.
func (s *service) Shards(context.Context, *pb.ShardsRequest) (*pb.ShardsResponse, error) {
	out := new(pb.ShardsResponse)
	for _, sh := range s.backend().Shards() {
		out.Shards = append(out.Shards, shardStatus(&sh))
	}
	return out, nil
}

func shardStatus(sh *ShardStatus) pb.ShardStatus {
	return pb.ShardStatus{Shard: uint32(sh.Shard), NodeId: uint32(sh.Node), Hot: sh.Hot, Up: sh.Up,
		Incarnation: uint64(sh.Incarnation), Csn: uint64(sh.CSN), KeysInMemory: sh.KeysInMemory, LockWaiters: sh.Waiting,
		Intents: sh.Intents, DecisionRecords: sh.Records, Steps: sh.Steps, StepTimeUs: uint64(sh.StepTime.Microseconds())}
}
