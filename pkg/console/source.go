package console

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Source is where all comes from: the services of the node (package server) in this
// process.
type Source interface {
	Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error)
	HotKeys(context.Context, *pb.HotKeysRequest) (*pb.HotKeysResponse, error)
	Activity(context.Context, *pb.ActivityRequest) (*pb.ActivityResponse, error)
	ListSnapshots(context.Context, *pb.ListSnapshotsRequest) (*pb.ListSnapshotsResponse, error)
}

const (
	// askTimeout bounds the requests for one Document.
	askTimeout = 900 * time.Millisecond
	// snapshotsEvery is the interval of requests for the snapshots, which seldom change.
	snapshotsEvery = 5 * time.Second
	// Limits of the requests to a node, and of a Document.
	maxReceipts = 40
	maxWaits    = 20
	maxKeys     = 15
	maxPairs    = 144
	maxMoves    = 20
	// maxSnapshots bounds the snapshots that are shown.
	maxSnapshots = 100
	// maxShown bounds a key, in bytes.
	maxShown = 160
)

// answers are the responses from which a Document is built.
type answers struct {
	status *pb.StatusResponse
	// nodes has an element for each of status.Members, nil if the node did not respond.
	nodes     []*pb.ActivityResponse
	hot       *pb.HotKeysResponse
	snapshots *pb.ListSnapshotsResponse
	problems  []string
}

// present returns the responses of the nodes.
func (a *answers) present() iter.Seq[*pb.ActivityResponse] {
	return func(yield func(*pb.ActivityResponse) bool) {
		for _, n := range a.nodes {
			if n != nil && !yield(n) {
				return
			}
		}
	}
}

// ask requests the activity of all nodes in parallel. since is the last known second of
// each.
func ask(ctx context.Context, from Source, since map[uint32]int64, snapshots bool) (*answers, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	status, err := from.Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return nil, err
	}
	out := &answers{status: status, nodes: make([]*pb.ActivityResponse, len(status.Members))}
	var mu sync.Mutex
	var wg sync.WaitGroup
	problem := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		out.problems = append(out.problems, fmt.Sprintf(format, args...))
	}
	for i, m := range status.Members {
		if !m.Up {
			continue // documentOf reports it
		}
		wg.Go(func() {
			a, err := from.Activity(ctx, &pb.ActivityRequest{NodeId: m.NodeId, SinceS: since[m.NodeId], MaxReceipts: maxReceipts,
				MaxWaits: maxWaits})
			if err != nil {
				problem("Node n%d did not report its activity: %v", m.NodeId, err)
				return
			}
			out.nodes[i] = a
		})
	}
	wg.Go(func() {
		hot, err := from.HotKeys(ctx, &pb.HotKeysRequest{Limit: 2 * maxKeys})
		if err != nil {
			problem("The hot shard did not report the hot keys: %v", err)
			return
		}
		out.hot = hot
	})
	if snapshots {
		wg.Go(func() {
			l, err := from.ListSnapshots(ctx, &pb.ListSnapshotsRequest{})
			if err != nil {
				problem("Snapshots could not be listed: %v", err)
				return
			}
			out.snapshots = l
		})
	}
	wg.Wait()
	slices.Sort(out.problems)
	return out, nil
}
