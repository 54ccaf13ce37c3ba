package hotornot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/clientstore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// prefix begins every key.
const prefix = "zeta/"

// Run measures all points. When ctx ends before that, the result has those
// that were measured, and its field Interrupted is set. It is nil with an error
// only.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	res := newResult(&o)
	all, begun := o.measurements(), time.Now()
	fmt.Fprintf(o.Progress, "%d points in %d rounds: at least %v\n", len(res.Points), o.Rounds,
		o.length().Round(time.Second))
	done := 0
	for r := range o.Rounds {
		for s := range o.Skews {
			for i := range o.Modes {
				p := res.at(s, (r+i)%len(o.Modes))
				m, err := measure(ctx, &o, p.Mode, p.Skew, r)
				if ctx.Err() != nil {
					res.Interrupted = true
					return res, nil
				}
				if err != nil {
					return nil, fmt.Errorf("mode %v, skew %v: %w", p.Mode, p.Skew, err)
				}
				p.add(m)
				done++
				left := time.Since(begun) / time.Duration(done) * time.Duration(all-done)
				fmt.Fprintf(o.Progress, "round %d of %d, skew %v, %s: %.0f per s, p50 %.2f ms, p99 %.2f ms; about %v left\n",
					r+1, o.Rounds, p.Skew, p.Mode.label(), m.PerSecond, m.P50, m.P99, left.Round(time.Second))
			}
		}
	}
	return res, nil
}

// measure measures a point once, on a cluster of its own.
func measure(ctx context.Context, o *Options, mode Mode, skew float64, round int) (m Measured, err error) {
	c, err := start(ctx, o, mode)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if o.Load > 0 {
		if _, err := workload.Load(ctx, c.store, workload.LoadOptions{Keys: o.Load, Prefix: prefix,
			Clients: loaders}); err != nil {
			return m, fmt.Errorf("loading: %w", err)
		}
	}
	w, err := workload.Published("hot-or-not", o.Nodes)
	if err != nil {
		return m, err
	}
	w.Prefix, w.Keys, w.Skew, w.Clients = prefix, o.Keys, skew, o.Clients
	w.Warmup, w.Duration, w.Seed = o.warm(mode), o.Duration, o.Seed+uint64(round)
	run, err := workload.New(c.store, w)
	if err != nil {
		return m, err
	}
	res, err := run.Run(ctx)
	// That nothing commits at some skew is a finding, unless it fails.
	if err != nil && len(res.Errors) > 0 {
		return m, fmt.Errorf("%w; errors by kind: %v", err, res.Errors)
	}
	return measured(res, c.moved()), nil
}

// loaders is how many transactions that load are in flight.
const loaders = 32

// cluster is one with clients.
type cluster struct {
	*embed.Cluster
	dir   string
	store *clientstore.Store
}

func start(ctx context.Context, o *Options, mode Mode) (c *cluster, err error) {
	c = &cluster{}
	c.dir, err = os.MkdirTemp(o.Dir, "cluster-")
	if err != nil {
		return nil, err
	}
	c.Cluster, err = embed.StartCluster(mode.cluster(o, c.dir))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	c.store, err = clientstore.Open(ctx, c.Addrs(), 0)
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// cluster says what a cluster of the mode is made with.
func (m Mode) cluster(o *Options, dir string) embed.ClusterOptions {
	// To fix a state of the history holds updates, whatever the mode.
	// without a pin nothing is moved
	c := embed.ClusterOptions{Dir: dir, Nodes: o.Nodes, Shards: o.Shards, NoSync: !o.Fsync, Delay: o.Delay, Listen: true,
		CacheBytes: 32 << 20, Protocol: embed.Protocol{HistoryEvery: time.Hour, Hot: hotshard.ModePinned}}
	for rank := range m.HotKeys {
		c.HotKeys = append(c.HotKeys, workload.RegisterKey(prefix, uint64(rank)))
	}
	switch {
	case m.Auto:
		c.Hot = hotshard.ModeAuto
	case m.TwoPhaseCommit:
		c.Order, c.Reads = txn.Parallel, txn.LockingReads
	}
	return c
}

// moved is how many keys have been moved to the hot shard.
func (c *cluster) moved() (n int) {
	for i := range c.Addrs() {
		for _, s := range c.Node(kv.NodeID(i + 1)).ShardStats(0) {
			n += s.MovedKeys
		}
	}
	return n
}

func (c *cluster) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var err error
	if c.store != nil {
		err = c.store.Close()
	}
	return errors.Join(err, c.Stop(ctx), os.RemoveAll(c.dir))
}
