package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// rooms queries the free space of the disks of the members that are up. A member that does not respond,
// or denies this caller the query, is left out.
func (s *session) rooms(ctx context.Context, st *pb.StatusResponse) map[uint32]pb.Room {
	ctx, cancel := context.WithTimeout(ctx, otherTimeout)
	defer cancel()
	rooms := map[uint32]pb.Room{st.NodeId: st.Room}
	for i := range st.Members {
		m := &st.Members[i]
		if m.Self || !m.Up || m.NodeId == st.NodeId {
			continue
		}
		a, err := s.db.Activity(ctx, &pb.ActivityRequest{NodeId: m.NodeId, SinceS: time.Now().Unix()})
		if err == nil {
			rooms[m.NodeId] = a.Room
		}
	}
	return rooms
}

// diskAnswer is the free space on the disk of the node that responds. Refuses is "", "writes"
// (deletions excepted) or "all writes".
type diskAnswer struct {
	FreeBytes    uint64 `json:"free_bytes"`
	SizeBytes    uint64 `json:"size_bytes"`
	ReserveBytes uint64 `json:"reserve_bytes"`
	Refuses      string `json:"refuses"`
}

var rejectsWords = map[pb.RoomRefuses]string{pb.RoomRefuses_ROOM_REFUSES_WRITES: "writes", pb.RoomRefuses_ROOM_REFUSES_ALL_WRITES: "all writes"}

func diskObject(r *pb.Room) diskAnswer {
	return diskAnswer{FreeBytes: r.FreeBytes, SizeBytes: r.SizeBytes, ReserveBytes: r.ReserveBytes, Refuses: rejectsWords[r.Refuses]}
}

// rejection says what a node with a full disk rejects, and why; "" if it rejects nothing.
func rejection(r *pb.Room) string {
	what := map[pb.RoomRefuses]string{
		pb.RoomRefuses_ROOM_REFUSES_WRITES:     "rejects writes, except deletions",
		pb.RoomRefuses_ROOM_REFUSES_ALL_WRITES: "rejects all writes",
	}[r.Refuses]
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
	r := &st.Room
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
