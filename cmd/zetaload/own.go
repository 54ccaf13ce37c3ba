package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/cli/identity"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// ownNodes is the number of nodes of a cluster in this process.
const ownNodes = 3

// ownCluster is a cluster in this process, if on.
type ownCluster struct {
	on                bool
	options           embed.ClusterOptions
	fsync             bool
	hot, order, reads string
}

// ownFlags are the flags that need --own-cluster.
var ownFlags = []string{"nodes", "shards", "fsync", "delay-net", "locks", "phasing", "combining", "hot", "commit-order",
	"reads"}

func (o *ownCluster) add(fs *pflag.FlagSet) {
	c := &o.options
	fs.BoolVar(&o.on, "own-cluster", false, "start a cluster in this process and remove it at the end")
	fs.IntVar(&c.Nodes, "nodes", ownNodes, "number of nodes of the own cluster")
	fs.IntVar(&c.Shards, "shards", 8, "number of its shards, without the hot shard")
	fs.BoolVar(&o.fsync, "fsync", false, "use fsync in the own cluster")
	fs.DurationVar(&c.Delay, "delay-net", 0, "delay added to each message between two nodes of the own cluster")
	// These switch off the uses of commutativity.
	fs.Var(&c.Sharing.Locks, "locks",
		"conflicts of locks: abstract (by commutativity), or rw (reads and writes, for comparison)")
	fs.Var(&c.Sharing.Phasing, "phasing", "operations join commuting holders of a lock ahead of older waiters")
	fs.Var(&c.Sharing.Combining, "combining", "updates of a key in one step are combined into one write")
	fs.StringVar(&o.hot, "hot", hotshard.ModeAuto.String(),
		"keys that are moved to the hot shard: off (none), pinned, or auto (hot keys)")
	fs.StringVar(&o.order, "commit-order", txn.HotLast.String(),
		"commit protocol: hot-last, or parallel (two-phase commit, for comparison)")
	fs.StringVar(&o.reads, "reads", txn.SnapshotReads.String(),
		"reads of read-only transactions: snapshot, or locking (for comparison)")
}

// complete parses and validates the flags.
func (o *ownCluster) complete(changed func(string) bool) (err error) {
	if !o.on {
		for _, flag := range ownFlags {
			if changed(flag) {
				return usage("--%s needs --own-cluster; for another cluster it is a flag of linchpin start", flag)
			}
		}
		return nil
	}
	for _, flag := range append([]string{"addr", "connections"}, identity.Names...) {
		if changed(flag) {
			return usage("--%s cannot be used with --own-cluster, which starts a new cluster in this process", flag)
		}
	}
	c := &o.options
	if c.Nodes < 1 || c.Nodes > 9 || c.Shards < 1 || c.Shards > 1000 || c.Delay < 0 {
		return usage("--nodes is %d, --shards %d, --delay-net %v, want 1 to 9, 1 to 1000, and 0 or more", c.Nodes, c.Shards,
			c.Delay)
	}
	c.Hot, err = hotshard.ParseMode(o.hot)
	if err != nil {
		return usage("--hot is %q, want off, pinned or auto", o.hot)
	}
	c.Order, err = txn.ParseOrder(o.order)
	if err != nil {
		return usage("--commit-order: %w", err)
	}
	c.Reads, err = txn.ParseReads(o.reads)
	if err != nil {
		return usage("--reads: %w", err)
	}
	return nil
}

// ownCache is the size of each node's cache of keys, and of its cache of blocks, in bytes.
const ownCache = 64 << 20

// start starts the cluster if there is one, and returns the target and a function that stops it.
func (o *ownCluster) start(to target) (target, func() error, error) {
	if !o.on {
		return to, func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "zetaload-")
	if err != nil {
		return to, nil, err
	}
	c := o.options
	c.Dir, c.Listen, c.NoSync, c.CacheBytes, c.Version = dir, true, !o.fsync, ownCache, "zetaload"
	cluster, err := embed.StartCluster(c)
	if err != nil {
		return to, nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return errors.Join(cluster.Stop(ctx), os.RemoveAll(dir))
	}
	return target{addrs: cluster.Addrs()}, stop, nil
}
