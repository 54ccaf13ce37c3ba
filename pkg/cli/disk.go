package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// disks queries the free space of the disks of the members that are up. A member that does not respond,
// or denies this caller the query, is left out.
func (s *session) disks(ctx context.Context, st *pb.StatusResponse) map[uint32]pb.DiskSpace {
	ctx, cancel := context.WithTimeout(ctx, otherTimeout)
	defer cancel()
	disks := map[uint32]pb.DiskSpace{st.NodeId: st.Disk}
	for i := range st.Members {
		m := &st.Members[i]
		if m.Self || !m.Up || m.NodeId == st.NodeId {
			continue
		}
		a, err := s.db.Activity(ctx, &pb.ActivityRequest{NodeId: m.NodeId, SinceS: time.Now().Unix()})
		if err == nil {
			disks[m.NodeId] = a.Disk
		}
	}
	return disks
}

// diskAnswer is the free space on the disk of the node that responds. Rejects is "", "writes"
// (deletions excepted) or "all writes".
type diskAnswer struct {
	FreeBytes    uint64 `json:"free_bytes"`
	SizeBytes    uint64 `json:"size_bytes"`
	ReserveBytes uint64 `json:"reserve_bytes"`
	Rejects      string `json:"rejects"`
}

var rejectsWords = map[pb.DiskRejects]string{pb.DiskRejects_DISK_REJECTS_WRITES: "writes", pb.DiskRejects_DISK_REJECTS_ALL_WRITES: "all writes"}

func diskObject(r *pb.DiskSpace) diskAnswer {
	return diskAnswer{FreeBytes: r.FreeBytes, SizeBytes: r.SizeBytes, ReserveBytes: r.ReserveBytes, Rejects: rejectsWords[r.Rejects]}
}

// rejection says what a node with a full disk rejects, and why; "" if it rejects nothing.
func rejection(r *pb.DiskSpace) string {
	what := map[pb.DiskRejects]string{
		pb.DiskRejects_DISK_REJECTS_WRITES:     "rejects writes, except deletions",
		pb.DiskRejects_DISK_REJECTS_ALL_WRITES: "rejects all writes",
	}[r.Rejects]
	if what == "" {
		return ""
	}
	return fmt.Sprintf("%s: its disk has %s free, less than the reserve of %s (--disk-reserve-mb); free space on it", what,
		kv.ShownBytes(r.FreeBytes), kv.ShownBytes(r.ReserveBytes))
}

// leastReclaimable is the least number of bytes that "status" shows as reclaimable.
const leastReclaimable = 1 << 20

// printDisk shows the free space of the node that responds, if it is known.
func (s *session) printDisk(st *pb.StatusResponse) error {
	r := &st.Disk
	reclaimable := ""
	if st.ReclaimableBytes >= leastReclaimable {
		reclaimable = fmt.Sprintf("about %s of the store is deleted data; \"linchpin reclaim\" frees the space\n", kv.ShownBytes(st.ReclaimableBytes))
	}
	if why := rejection(r); why != "" {
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
