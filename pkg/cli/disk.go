package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// reports queries the activity of the members that are up, except the node that responds. A member that does not
// respond, or denies this caller the query, is left out.
func (s *session) reports(ctx context.Context, st *admin.Status) map[int]admin.Activity {
	ctx, cancel := context.WithTimeout(ctx, otherTimeout)
	defer cancel()
	reports := map[int]admin.Activity{}
	for i := range st.Members {
		m := &st.Members[i]
		if m.Self || !m.Up || m.Node == st.Node {
			continue
		}
		a, err := s.admin().Activity(ctx, admin.ActivityOptions{Node: m.Node, Since: time.Now()})
		if err == nil {
			reports[m.Node] = a
		}
	}
	return reports
}

// disksOf returns the free space of the disks of the members that have reported it.
func disksOf(st *admin.Status, reports map[int]admin.Activity) map[int]admin.Disk {
	disks := map[int]admin.Disk{st.Node: st.Disk}
	for n := range reports {
		disks[n] = reports[n].Disk
	}
	return disks
}

// diskAnswer is the free space on the disk of the node that responds. Rejects is "", "writes"
// (deletions excepted) or "all writes".
type diskAnswer struct {
	FreeBytes    int64  `json:"free_bytes"`
	SizeBytes    int64  `json:"size_bytes"`
	ReserveBytes int64  `json:"reserve_bytes"`
	Rejects      string `json:"rejects"`
}

var rejectsWords = map[string]string{"writes": "writes", "all-writes": "all writes"}

func diskObject(r *admin.Disk) diskAnswer {
	return diskAnswer{FreeBytes: r.FreeBytes, SizeBytes: r.SizeBytes, ReserveBytes: r.ReserveBytes,
		Rejects: rejectsWords[r.Rejects]}
}

// rejection says what a node with a full disk rejects, and why; "" if it rejects nothing.
func rejection(r *admin.Disk) string {
	what := map[string]string{"writes": "rejects writes, except deletions", "all-writes": "rejects all writes"}[r.Rejects]
	if what == "" {
		return ""
	}
	return fmt.Sprintf("%s: its disk has %s free, less than the reserve of %s (--disk-reserve-mb); free space on it", what,
		shownBytes(r.FreeBytes), shownBytes(r.ReserveBytes))
}

// shownBytes shows a size that the API has.
func shownBytes(n int64) string { return kv.FormatBytes(uint64(n)) }

// leastReclaimable is the least number of bytes that "status" shows as reclaimable.
const leastReclaimable = 1 << 20

// printDisk shows the free space of the node that responds, if it is known.
func (s *printer) printDisk(st *admin.Status) error {
	r := &st.Disk
	reclaimable := ""
	if st.ReclaimableBytes >= leastReclaimable {
		reclaimable = fmt.Sprintf("about %s of the store is deleted data; \"linchpin reclaim\" frees the space\n",
			shownBytes(st.ReclaimableBytes))
	}
	if why := rejection(r); why != "" {
		return s.printf("node n%d %s\n%s\n", st.Node, why, reclaimable)
	}
	disk := ""
	if r.SizeBytes != 0 {
		disk = fmt.Sprintf("disk: %s free of %s\n", shownBytes(r.FreeBytes), shownBytes(r.SizeBytes))
	}
	if disk+reclaimable == "" {
		return nil
	}
	return s.printf("%s%s\n", disk, reclaimable)
}
