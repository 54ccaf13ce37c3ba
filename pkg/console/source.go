package console

import (
	"context"
	"fmt"
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

// ask requests the activity of all nodes in parallel. since is the last known second of
// each. The Document has only the responses and the problems.
func ask(ctx context.Context, from Source, since map[uint32]int64, snapshots bool) (*Document, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	status, err := from.Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return nil, err
	}
	status.RefusedAddresses = nil // the page does not show them
	out := &Document{Status: status, Nodes: make([]*pb.ActivityResponse, len(status.Members)), Problems: []string{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	problem := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		out.Problems = append(out.Problems, fmt.Sprintf(format, args...))
	}
	for i, m := range status.Members {
		if !m.Up {
			continue // describeProblems reports it
		}
		wg.Go(func() {
			a, err := from.Activity(ctx, &pb.ActivityRequest{NodeId: m.NodeId, SinceS: since[m.NodeId], MaxReceipts: maxReceipts,
				MaxWaits: maxWaits})
			if err != nil {
				problem("Node n%d did not report its activity: %v", m.NodeId, err)
				return
			}
			out.Nodes[i] = a
		})
	}
	wg.Go(func() {
		hot, err := from.HotKeys(ctx, &pb.HotKeysRequest{Limit: 2 * maxKeys})
		if err != nil {
			problem("The hot shard did not report the hot keys: %v", err)
			return
		}
		out.Hot = hot
	})
	if snapshots {
		wg.Go(func() {
			l, err := from.ListSnapshots(ctx, &pb.ListSnapshotsRequest{})
			if err != nil {
				problem("Snapshots could not be listed: %v", err)
				return
			}
			slices.Reverse(l.Snapshots) // newest first
			l.Snapshots = first(maxSnapshots, l.Snapshots, nil)
			out.Snapshots = l
		})
	}
	wg.Wait()
	slices.Sort(out.Problems)
	return out, nil
}
