package server

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/snapshot"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// plans are the plans as the interface numbers them.
var plans = map[pb.ReadPlan]txn.Plan{
	pb.ReadPlan_PLAN_ANY: txn.PlanAny, pb.ReadPlan_PLAN_ONE_SHARD: txn.PlanOneShard,
	pb.ReadPlan_PLAN_PARALLEL: txn.PlanParallel,
	pb.ReadPlan_PLAN_HOT_LAST: txn.PlanHotLast, pb.ReadPlan_PLAN_INTERACTIVE: txn.PlanInteractive,
	pb.ReadPlan_PLAN_SNAPSHOT: txn.PlanSnapshot,
}

// planOf is the other way round. A test holds it against plans.
func planOf(p txn.Plan) pb.ReadPlan { return pb.ReadPlan(p) }

// how reads the part of a request that says how to read. Most have none.
func (s *service) how(at *pb.At, token []byte, plan pb.ReadPlan) (h txn.TxnOptions, err *kv.Error) {
	if at == nil && len(token) == 0 && plan == pb.ReadPlan_PLAN_ANY {
		return h, nil
	}
	switch p, known := plans[plan]; {
	case !known, p == txn.PlanOneShard, p == txn.PlanInteractive:
		return h, invalid(fmt.Sprintf("read plan %v cannot be requested", plan),
			"use PLAN_PARALLEL, PLAN_HOT_LAST or PLAN_SNAPSHOT, or omit the plan")
	default:
		h.Plan = p
	}
	if len(token) > 0 {
		c, bad := vclock.Decode(token)
		if bad != nil {
			e := errorOf(bad)
			e.Hint = "pass the causality token of a response unchanged, or none"
			return h, e
		}
		h.After = c
	}
	switch a := at.GetAt().(type) {
	case *pb.At_Snapshot:
		h.At, err = s.snapshotNamed(a.Snapshot)
	case *pb.At_AsOfNs:
		h.At.AsOf = a.AsOfNs
		if a.AsOfNs <= 0 {
			err = invalid("as_of is not positive", "set as_of to nanoseconds since 1970")
		}
	default:
		if at != nil {
			err = invalid("the server does not know this kind of read", "set a snapshot, or a time to read as of")
		}
	}
	return h, err
}

// A snapshot's id is "@", the beginning of the cluster's id, "-" and the number
// of the snapshot.
const clusterPrefix = 8

func clusterPart(cluster string) string { return cluster[:min(clusterPrefix, len(cluster))] }

func snapshotID(cluster string, number uint64) string {
	return fmt.Sprintf("@%s-%d", clusterPart(cluster), number)
}

// snapshotNamed reads a name or an id.
func (s *service) snapshotNamed(name string) (at txn.SnapshotRef, err *kv.Error) {
	id, isID := strings.CutPrefix(name, "@")
	if !isID {
		return txn.SnapshotRef{Name: name}, snapshot.CheckName(name)
	}
	i := strings.LastIndexByte(id, '-')
	n, bad := strconv.ParseUint(id[i+1:], 10, 64)
	if i < 0 || bad != nil || n == 0 {
		return at, invalid(fmt.Sprintf("%q is not a snapshot id", name),
			"an id looks like @3f9a01c2-17; responses and the list of snapshots contain ids")
	}
	own := clusterPart(s.backend().Identity().ClusterId)
	if own == "" { // it has just started; others may know
		return at, &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the node has not joined its cluster yet",
			Hint: "retry, or use another node"}
	}
	if id[:i] != own {
		return at, invalid(fmt.Sprintf("snapshot %s belongs to another cluster: ids of this cluster start with @%s", name,
			own), "send the request to the cluster of the snapshot")
	}
	return txn.SnapshotRef{Number: n}, nil
}

// snapshot returns a snapshot in the form that clients receive; nil is nil.
func (s *service) snapshot(p *msg.Snapshot) *pb.Snapshot {
	if p == nil {
		return nil
	}
	return &pb.Snapshot{Id: snapshotID(s.backend().Identity().ClusterId, p.Number), Name: p.Name, TimeNs: p.Time,
		ExpiresNs: p.Expires, CausalityToken: msg.Clock(p.Clock).Encode()}
}

// ttl returns the time to live of a snapshot.
func ttl(ms uint64) (time.Duration, *kv.Error) {
	switch {
	case ms == 0:
		return snapshot.DefaultTTL, nil
	case ms > uint64(snapshot.MaxTTL/time.Millisecond):
		return 0, invalid(fmt.Sprintf("the snapshot's time to live is %d ms", ms),
			fmt.Sprintf("the limit is %.0f h; create another snapshot before this one expires", snapshot.MaxTTL.Hours()))
	}
	return time.Duration(ms) * time.Millisecond, nil
}
