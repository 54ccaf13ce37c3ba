package server

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Bounds of a response about a node's activity.
const (
	maxReceipts  = 256
	maxWaits     = 256
	maxConflicts = 1000
)

// Activity returns the recent activity of a node, this one or another.
func (s *service) Activity(ctx context.Context, in *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	out, err := s.activity(ctx, in)
	if err == nil && !guard.CallerOf(ctx).Sees() {
		s.masking.mask(out)
	}
	return out, err
}

func (s *service) activity(ctx context.Context, in *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	if len(in.CancelTxn) > 0 {
		return nil, statusOf(invalid("only nodes may call cancel_txn", "use CancelTransaction"), kv.TxnID{})
	}
	return s.nodeActivity(ctx, in)
}

// nodeActivity asks the node that is meant, for this node too.
func (s *service) nodeActivity(ctx context.Context, in *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	if ctx.Err() != nil {
		return nil, statusOf(expired(ctx), kv.TxnID{})
	}
	st := s.backend().Status()
	if in.NodeId == 0 || in.NodeId == st.NodeId {
		return activityOf(s.backend(), in), nil
	}
	if !hasMember(st, in.NodeId) {
		return nil, statusOf(invalid(fmt.Sprintf("the cluster has no node n%d", in.NodeId),
			`"linchpin status" lists the nodes`), kv.TxnID{})
	}
	question, err := in.Marshal()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := s.backend().AskNode(ctx, kv.NodeID(in.NodeId), question)
	if err != nil {
		return nil, statusOf(err, kv.TxnID{})
	}
	out := new(pb.ActivityResponse)
	if err := out.Unmarshal(answer); err != nil || out.NodeId != in.NodeId {
		return nil, statusOf(kv.Errorf(kv.KindUnavailable,
			"the response of node n%d cannot be decoded; it may run another release", in.NodeId), kv.TxnID{})
	}
	return out, nil
}

// CancelTransaction ends a transaction on every node on which it is in flight.
func (s *service) CancelTransaction(ctx context.Context,
	in *pb.CancelTransactionRequest) (*pb.CancelTransactionResponse, error) {
	id, err := in.TxnId.Marshal()
	if err != nil || in.TxnId.IsZero() || in.TxnId.Masked() {
		return nil, statusOf(invalid("the transaction id is invalid",
			"\\\"linchpin waits\\\" shows the ids of waiting transactions"), kv.TxnID{})
	}
	out := new(pb.CancelTransactionResponse)
	st := s.backend().Status()
	for _, m := range st.Members {
		a, err := s.nodeActivity(ctx, &pb.ActivityRequest{NodeId: m.NodeId, CancelTxn: id, SinceS: math.MaxInt64})
		switch {
		case err != nil:
			out.UnreachableIds = append(out.UnreachableIds, m.NodeId)
		case a.Cancelled:
			out.NodeIds = append(out.NodeIds, m.NodeId)
		}
	}
	return out, nil
}

// askTimeout is how long another node has for an answer. A lost question is not
// repeated, so that to wait longer would be in vain.
const askTimeout = 2 * time.Second

func hasMember(st *pb.StatusResponse, id uint32) bool {
	return slices.ContainsFunc(st.Members, func(m pb.Member) bool { return m.NodeId == id })
}

// AnswerNode answers what another node asks by Backend.AskNode. What cannot be read
// has no answer.
func AnswerNode(b Backend, question []byte) []byte {
	in := new(pb.ActivityRequest)
	if in.Unmarshal(question) != nil {
		return nil
	}
	answer, err := activityOf(b, in).Marshal()
	if err != nil {
		return nil
	}
	return answer
}

func activityOf(b Backend, in *pb.ActivityRequest) *pb.ActivityResponse {
	st, a := b.Status(), b.Activity(in.SinceS, int(min(in.MaxReceipts, maxReceipts)), int(min(in.MaxWaits, maxWaits)))
	out := &pb.ActivityResponse{NodeId: st.NodeId, Version: st.Version, UptimeMs: st.UptimeMs,
		NowNs:      time.Now().UnixNano(),
		StoreBytes: a.DiskBytes, InFlight: uint64(a.InFlight), Interactive: uint64(a.Open), Disk: st.Disk, Seconds: a.Seconds}
	for _, sh := range b.Shards() {
		if sh.NodeId == st.NodeId || sh.Failure != "" {
			out.Shards = append(out.Shards, sh)
		}
	}
	for i := range a.Receipts {
		out.Receipts = append(out.Receipts, recent(&a.Receipts[i]))
	}
	for i := range a.Conflicts[:min(len(a.Conflicts), maxConflicts)] {
		out.Conflicts = append(out.Conflicts, keyConflict(&a.Conflicts[i]))
	}
	if len(in.CancelTxn) > 0 {
		id := kv.TxnID{}
		err := id.Unmarshal(in.CancelTxn)
		out.Cancelled = err == nil && b.CancelTransaction(id)
	}
	for i := range a.Waits {
		w := &a.Waits[i]
		mine, theirs := sides(&w.Receipt)
		out.Waits = append(out.Waits, pb.CurrentWait{TxnId: w.Txn, Shard: uint32(w.Shard),
			WaitedUs: micros(w.Receipt.WaitedNanos), Wait: conflict(&w.Receipt),
			Operations: mine, HolderOperations: theirs, User: w.User, HolderUser: w.HolderUser})
	}
	fitActivity(out)
	return out
}

func recent(r *activity.Ended) pb.RecentReceipt {
	return pb.RecentReceipt{TimeNs: r.At, DurationUs: uint64(r.Took.Microseconds()), TxnId: r.ID, Kind: r.Kind.String(),
		Outcome:  r.Outcome.String(),
		Attempts: uint32(max(r.Attempts, 0)), Receipt: worded(receipt(r.Contention))}
}

func keyConflict(c *activity.Conflict) pb.KeyConflict {
	r := msg.Receipt{Key: c.Key, Mode: c.Mode, HolderMode: c.HolderMode, Methods: c.Methods,
		HolderMethods: c.HolderMethods}
	out := pb.KeyConflict{Key: c.Key, Waits: c.Waits, WaitedUs: micros(c.Nanos), Aborts: c.Aborts, SinceNs: c.Since,
		LastNs: c.Last}
	out.Operations, out.HolderOperations = sides(&r)
	out.Advice = detail.Advice(conflict(&r))
	return out
}

// sides names what both sides of a wait did by the methods, with the data type, and what
// is not known by the lock.
func sides(r *msg.Receipt) (mine, theirs string) {
	return side(r.Mode, r.Methods), side(r.HolderMode, r.HolderMethods)
}

func side(mode, methods uint64) string {
	names := adt.Methods(methods).Calls()
	if name := adt.Mode(mode).KindName(); name != "" && len(names) == 0 {
		return name
	}
	isNamed := len(names) > 0
	for _, m := range adt.Methods(methods).Each() {
		if isNamed && (m == adt.MethodQuery || m == adt.MethodUpdate || m == adt.MethodUpdateGet) {
			continue
		}
		if name := called[m]; name != "" {
			names = append(names, name)
			continue
		}
		names = append(names, m.String())
	}
	if len(names) == 0 && mode != 0 {
		return adt.Mode(mode).String()
	}
	return strings.Join(names, ", ")
}

// called are the methods that go for one type only, with it, and those that have
// another name for operators.
var called = map[adt.Method]string{adt.MethodPut: "value.put", adt.MethodAdd: "counter.add",
	adt.MethodAddGet: "counter.add-get",
	adt.MethodView:   "read-only", adt.MethodOpenView: "read-only"}
