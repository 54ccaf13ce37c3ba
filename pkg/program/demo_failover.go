package program

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/clientstore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// The last act of the demo: three nodes with three replicas of each shard, of which the one that leads the hot shard is
// stopped under load.
const (
	failoverFor = 5 * time.Second
	// stopAfter is when the node is stopped, within failoverFor.
	stopAfter = 2 * time.Second
	// failoverKeys is the number of counters that are incremented.
	failoverKeys = 100
)

// failover runs a cluster of its own.
func (d *demo) failover(ctx context.Context) (err error) {
	o := embed.ClusterOptions{Protocol: d.cluster.Protocol, Dir: filepath.Join(d.cluster.Dir, "replicas"), Nodes: 3,
		Shards: 4, Replicas: 3, Listen: true, Version: d.cluster.Version, CacheBytes: d.cluster.CacheBytes}
	for i := range uint64(8) {
		o.HotKeys = append(o.HotKeys, workload.CounterKey(prefix, i))
	}
	c, err := embed.StartCluster(o)
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, c.Stop(stop))
	}()
	leader, err := awaitLeader(ctx, c, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nThree replicas of each shard on three nodes; n%d leads the hot shard\n", leader)
	store, err := clientstore.Open(ctx, c.Addrs(), 0)
	if err != nil {
		return err
	}
	defer store.Close()
	stopped := make(chan error, 1)
	timer := time.AfterFunc(stopAfter, func() {
		fmt.Fprintf(d.out, "  n%d is stopped under load\n", leader)
		stopped <- c.StopNode(leader)
	})
	defer timer.Stop()
	result, err := d.load(ctx, store, workload.Options{Keys: failoverKeys, Skew: d.run.Skew, Clients: d.run.Clients,
		Duration: failoverFor, Seed: d.run.Seed, Prefix: prefix, Ops: 1,
		Mix: workload.Mix{ReadOnly: 40, WriteOnly: 20, Increment: 40}})
	if err != nil {
		return err
	}
	if err := <-stopped; err != nil {
		return err
	}
	next, err := awaitLeader(ctx, c, leader)
	if err != nil {
		return err
	}
	return d.reportFailover(ctx, c, result, next)
}

// reportFailover writes how long requests waited, and whether the counters have all acknowledged increments.
func (d *demo) reportFailover(ctx context.Context, c *embed.Cluster, result *workload.Result, leader kv.NodeID) error {
	fmt.Fprintf(d.out, "  n%d leads the hot shard now; %.0f transactions/s in all\n", leader, result.All.ThroughputPer)
	for _, k := range result.Kinds {
		if k.Committed > 0 {
			fmt.Fprintf(d.out, "  longest wait of %-12s %6.0f ms, p50 %.1f ms, %d committed, %d failed\n", k.Kind+":",
				k.Latency.Max, k.Latency.P50, k.Committed, k.Failed)
		}
	}
	acknowledged := result.Kinds[workload.Increment].Committed
	var ops []msg.Op
	for i := range uint64(failoverKeys) {
		ops = append(ops, msg.Op{Kind: msg.OpGet, Key: workload.CounterKey(prefix, i)})
	}
	res := c.Node(leader).Gateway().Execute(ctx, gateway.Request{Ops: ops})
	if res.Err != nil {
		return res.Err
	}
	sum := uint64(0)
	for i := range res.Results {
		if res.Results[i].Found {
			n, err := adt.DecodeCounter(res.Results[i].Value)
			if err != nil {
				return err
			}
			sum += uint64(n)
		}
	}
	if sum < acknowledged {
		return &kv.Error{Kind: kv.KindInternal, Op: -1,
			Text: fmt.Sprintf("%d increments were acknowledged, and the counters have %d", acknowledged, sum)}
	}
	fmt.Fprintf(d.out, "  no acknowledged write was lost: %d increments, the counters have %d\n", acknowledged, sum)
	return nil
}

// awaitLeader returns the node that leads the hot shard, as soon as another node than not does.
func awaitLeader(ctx context.Context, c *embed.Cluster, not kv.NodeID) (kv.NodeID, error) {
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for {
		for id := range kv.NodeID(3) {
			if id+1 != not && c.Node(id+1).HasSnapshotRegistry() {
				return id + 1, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-t.C:
		}
	}
}
