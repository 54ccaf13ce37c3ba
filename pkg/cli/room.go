package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// rooms asks the members that are up how much room their disks have. One that does not
// answer, or does not tell this caller, is left out.
func (s *session) rooms(ctx context.Context, st *pb.StatusResponse) map[uint32]pb.DiskSpace {
	ctx, cancel := context.WithTimeout(ctx, otherTimeout)
	defer cancel()
	rooms := map[uint32]pb.DiskSpace{st.NodeId: st.Disk}
	for i := range st.Members {
		m := &st.Members[i]
		if m.Self || !m.Up || m.NodeId == st.NodeId {
			continue
		}
		a, err := s.db.Activity(ctx, &pb.ActivityRequest{NodeId: m.NodeId, SinceS: time.Now().Unix()})
		if err == nil {
			rooms[m.NodeId] = a.Disk
		}
	}
	return rooms
}

// roomAnswer is what the disk of the node that answers has left. Refuses is "", "writes"
// (but for deletions) or "all writes".
type roomAnswer struct {
	FreeBytes    uint64 `json:"free_bytes"`
	SizeBytes    uint64 `json:"size_bytes"`
	ReserveBytes uint64 `json:"reserve_bytes"`
	Refuses      string `json:"refuses"`
}

var refusesWords = map[pb.DiskRejects]string{pb.DiskRejects_DISK_REJECTS_WRITES: "writes", pb.DiskRejects_DISK_REJECTS_ALL_WRITES: "all writes"}

func roomObject(r *pb.DiskSpace) roomAnswer {
	return roomAnswer{FreeBytes: r.FreeBytes, SizeBytes: r.SizeBytes, ReserveBytes: r.ReserveBytes, Refuses: refusesWords[r.Rejects]}
}

// refusal says what a node refuses for want of room, and why; "" if it refuses nothing.
func refusal(r *pb.DiskSpace) string {
	what := map[pb.DiskRejects]string{
		pb.DiskRejects_DISK_REJECTS_WRITES:     "refuses writes, but for deletions",
		pb.DiskRejects_DISK_REJECTS_ALL_WRITES: "refuses all writes",
	}[r.Rejects]
	if what == "" {
		return ""
	}
	return fmt.Sprintf("%s: its disk has %s free, and it keeps %s in reserve (--disk-reserve-mb); make room there", what,
		kv.ShownBytes(r.FreeBytes), kv.ShownBytes(r.ReserveBytes))
}

// leastReclaimable is from how many bytes on "status" shows what can be freed.
const leastReclaimable = 1 << 20

// printRoom tells of the disk of the node that answers, if that is known.
func (s *session) printRoom(st *pb.StatusResponse) error {
	r := &st.Disk
	reclaimable := ""
	if st.ReclaimableBytes >= leastReclaimable {
		reclaimable = fmt.Sprintf("deleted data still occupies about %s; \"linchpin reclaim\" frees that\n", kv.ShownBytes(st.ReclaimableBytes))
	}
	if why := refusal(r); why != "" {
		return s.printf("node n%d %s\n%s\n", st.NodeId, why, reclaimable)
	}
	disk := ""
	if r.SizeBytes != 0 {
		disk = fmt.Sprintf("disk: %s free of %s\n", kv.ShownBytes(r.FreeBytes), kv.ShownBytes(r.SizeBytes))
	}
	if disk+reclaimable == "" {
		return nil
	}
	return s.printf("%s%s\n", disk, reclaimable)
}
