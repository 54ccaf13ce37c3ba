package server

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Requests about the node and the cluster do not say what their client receives. Their responses keep to
// what each does: the lists that are bounded by a number of keys end where those are too long.

// space is how many bytes of a response are left.
type space int

func newSpace() space { return kv.DefaultMaxResponseBytes - kv.ResponseHeadroom }

// elementFrame is more than the tag and the length of an element have.
const elementFrame = 8

// fitting gives the first elements that fit, and takes their space.
func fitting[T any, P interface {
	*T
	Size() int
}](left *space, list []T) []T {
	for i := range list {
		n := space(P(&list[i]).Size() + elementFrame)
		if n > *left {
			return list[:i]
		}
		*left -= n
	}
	return list
}

func fitActivity(out *pb.ActivityResponse) {
	left := newSpace()
	out.Shards = fitting(&left, out.Shards)
	out.Seconds = fitting(&left, out.Seconds)
	out.Waits = fitting(&left, out.Waits)
	out.Receipts = fitting(&left, out.Receipts)
	out.Conflicts = fitting(&left, out.Conflicts)
}

// fitHotKeys leaves the rules, which are at most 1,000 and fit.
func fitHotKeys(out *pb.HotKeysResponse) {
	left := newSpace()
	out.Rules = fitting(&left, out.Rules)
	out.Keys = fitting(&left, out.Keys)
	out.Moves = fitting(&left, out.Moves)
}

// fitSnapshots leaves out the tokens where many shards make them long.
func fitSnapshots(out *pb.ListSnapshotsResponse) {
	if out.Size() <= int(newSpace()) {
		return
	}
	for i := range out.Snapshots {
		out.Snapshots[i].CausalityToken = nil
	}
}
