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
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// ownCluster is a cluster in this process, if it is wanted.
type ownCluster struct {
	on                bool
	options           embed.ClusterOptions
	fsync             bool
	hot, order, reads string
}

// ownFlags are those that only a cluster of zetaload's own has.
var ownFlags = []string{"nodes", "shards", "fsync", "delay-net", "locks", "phasing", "combining", "hot", "commit-order", "reads"}

func (o *ownCluster) add(fs *pflag.FlagSet) {
	c := &o.options
	fs.BoolVar(&o.on, "own-cluster", false, "start a cluster in this process, and remove it in the end; the following are its flags")
	fs.IntVar(&c.Nodes, "nodes", ownNodes, "number of nodes")
	fs.IntVar(&c.Shards, "shards", 8, "number of shards, besides the hot one")
	fs.BoolVar(&o.fsync, "fsync", false, "with fsync; the default leaves the disk out of it")
	fs.DurationVar(&c.Delay, "delay-net", 0, "what a message between two nodes takes, one way, beyond what it takes anyway")
	addSharing(fs, &c.Sharing)
	fs.StringVar(&o.hot, "hot", hotshard.ModeAuto.String(), "which keys are moved to the hot shard: off, pinned, or auto")
	fs.StringVar(&o.order, "commit-order", txn.HotLast.String(), "hot-last, or parallel: ordinary two-phase commit, for comparison")
	fs.StringVar(&o.reads, "reads", txn.SnapshotReads.String(), "how read-only transactions read: snapshot, or locking like updates, for comparison")
}

// sharingFlags are those that addSharing adds.
var sharingFlags = []string{"locks", "phasing", "combining"}

// addSharing adds the flags that switch off, on clusters in this process, what is
// made of it that operations commute.
func addSharing(fs *pflag.FlagSet, s *shard.Sharing) {
	fs.Var(&s.Locks, "locks", "what locks go by: abstract, which operations commute, or rw, which of them write, for comparison")
	fs.Var(&s.Phasing, "phasing", "whether operations join those that hold a lock now, past older ones that wait; off for comparison")
	fs.Var(&s.Combining, "combining", "whether changes of a key in one step are written as one; off for comparison")
}

// complete reads the flags.
func (o *ownCluster) complete(changed func(string) bool) (err error) {
	if !o.on {
		for _, flag := range ownFlags {
			if changed(flag) {
				return usage("--%s is of a cluster in this process; add --own-cluster, or give it to the servers", flag)
			}
		}
		return nil
	}
	for _, flag := range append([]string{"addr", "connections"}, identity.Names...) {
		if changed(flag) {
			return usage("--%s has no meaning with --own-cluster: the cluster is new, and in this process", flag)
		}
	}
	c := &o.options
	if c.Nodes < 1 || c.Nodes > 9 || c.Shards < 1 || c.Shards > 1000 || c.Delay < 0 {
		return usage("%d nodes, %d shards and a delay of %v; want 1 to 9, 1 to 1000 and no less than 0", c.Nodes, c.Shards, c.Delay)
	}
	c.Hot, err = hotshard.ParseMode(o.hot)
	if err != nil {
		return usage("--hot is %q; want off, pinned or auto", o.hot)
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

// ownCache is each node's memory for keys, and again for blocks.
const ownCache = 64 << 20

// start starts the cluster, if it is wanted, and says what to connect to.
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
