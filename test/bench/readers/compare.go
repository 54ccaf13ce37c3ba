// Package readers compares readers in snapshot-queues with locking readers: a workload runs in turn on two clusters
// in this process that differ in nothing else.
//
// Each cluster has three nodes that serve gRPC on the loopback, and runs all mixes and rounds; each mix has its own
// keys. Reported are medians over the rounds.
package readers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/clientstore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// Options are the parameters of a comparison.
type Options struct {
	// Dir holds the clusters' stores. It must exist.
	Dir string
	// Mixes are run one after the other, each in Rounds rounds.
	Mixes  []workload.NamedOptions
	Rounds int
	// Progress receives a line for each round.
	Progress io.Writer
}

// Side is what readers of one kind did, medians over the rounds.
type Side struct {
	PerSecond float64
	// ReadAborts counts attempts of read-only transactions that were aborted,
	// of all rounds together; Failed transactions that did not commit.
	ReadAborts, Failed uint64
	// Why those attempts were aborted, by reason.
	Why map[string]uint64
	// HeldPercent is the part of the updates' latency for which readers held
	// them; one that is held on two shards at once counts twice.
	HeldPercent float64
	// In milliseconds.
	ReadP50, ReadP99, UpdateP50, UpdateP99 float64
}

// Row compares them on one mix. Ratio is of throughput, the median of the
// rounds' own between the least and the greatest.
type Row struct {
	Mix               string
	Snapshot, Locking Side
	Ratio, Low, High  float64
}

// cluster is one of the two.
type cluster struct {
	*embed.Cluster
	reads txn.Reads
	store *clientstore.Store
}

// Run makes the clusters, runs all mixes and ends the clusters.
func Run(ctx context.Context, o Options) (rows []Row, err error) {
	var both [2]*cluster
	for i, reads := range []txn.Reads{txn.SnapshotReads, txn.LockingReads} {
		both[i], err = start(ctx, &o, reads)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, both[i].stop()) }()
	}
	for _, mix := range o.Mixes {
		row, err := compare(ctx, &o, mix, both)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", mix.Name, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func start(ctx context.Context, o *Options, reads txn.Reads) (*cluster, error) {
	dir := filepath.Join(o.Dir, reads.String())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	c := &cluster{reads: reads}
	var err error
	// To fix a state of the history holds updates, whatever readers do.
	c.Cluster, err = embed.StartCluster(embed.ClusterOptions{Dir: dir,
		Protocol: embed.Protocol{Reads: reads, HistoryEvery: -1}, NoSync: true, Listen: true, CacheBytes: 32 << 20})
	if err != nil {
		return nil, err
	}
	c.store, err = clientstore.Open(ctx, c.Addrs(), 0)
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *cluster) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var err error
	if c.store != nil {
		err = c.store.Close()
	}
	return errors.Join(err, c.Stop(ctx))
}

// held is for how long updates have been held on all shards so far.
func (c *cluster) held() (sum time.Duration) {
	for i := range c.Addrs() {
		n := c.Node(kv.NodeID(i + 1))
		n.CheckPeers()
		for _, s := range n.ShardStats(0) {
			sum += time.Duration(s.Queues.HeldNanos)
		}
	}
	return sum
}

// compare runs one mix.
func compare(ctx context.Context, o *Options, mix workload.NamedOptions, both [2]*cluster) (Row, error) {
	mix.FreshKeys = false
	mix.Prefix = fmt.Sprintf("mix/%s/", mix.Name)
	for _, c := range both {
		if err := load(ctx, c, mix.Options); err != nil {
			return Row{}, err
		}
	}
	var measured [2][]Side
	for r := range max(o.Rounds, 1) {
		for i := range both {
			turn := (r + i) % 2
			s, err := measure(ctx, both[turn], mix.Options, r)
			if err != nil {
				return Row{}, err
			}
			measured[turn] = append(measured[turn], s)
		}
		fmt.Fprintf(o.Progress, "  %s, round %d of %d: snapshot %.0f, locking %.0f\n", mix.Name, r+1, max(o.Rounds, 1),
			measured[0][r].PerSecond, measured[1][r].PerSecond)
	}
	row := Row{Mix: mix.Name, Snapshot: medians(measured[0]), Locking: medians(measured[1])}
	var ratios []float64
	for r := range measured[0] {
		ratios = append(ratios, measured[0][r].PerSecond/measured[1][r].PerSecond)
	}
	row.Ratio, row.Low, row.High = rounds.Median(ratios), slices.Min(ratios), slices.Max(ratios)
	return row, nil
}

func load(ctx context.Context, c *cluster, o workload.Options) error {
	_, err := workload.Load(ctx, c.store, workload.LoadOptions{Keys: o.Keys, Prefix: o.Prefix, ValueBytes: o.ValueBytes})
	return err
}

// measure runs the mix once.
func measure(ctx context.Context, c *cluster, o workload.Options, round int) (Side, error) {
	o.Seed += uint64(round)
	var err error
	if o.Locality > 0 {
		o.Homes, err = c.store.Homes(ctx)
		if err != nil {
			return Side{}, err
		}
	}
	run, err := workload.New(c.store, o)
	if err != nil {
		return Side{}, err
	}
	before := c.held()
	res, err := run.Run(ctx)
	if err != nil {
		return Side{}, err
	}
	if res.Interrupted {
		return Side{}, context.Cause(ctx)
	}
	reads := res.Kinds[workload.ReadOnly]
	s := Side{PerSecond: res.All.ThroughputPer, ReadAborts: reads.Retries, Why: res.ReadAborts,
		Failed:  res.All.Failed + res.All.Unknown,
		ReadP50: reads.Latency.P50, ReadP99: reads.Latency.P99, UpdateP50: res.Updates.Latency.P50,
		UpdateP99: res.Updates.Latency.P99}
	// The warm-up holds updates, too; it is taken to be like the rest.
	share := res.ElapsedS / (res.ElapsedS + o.Warmup.Seconds())
	if all := res.Updates.Latency.Mean * float64(res.Updates.Committed); all > 0 {
		s.HeldPercent = 100 * share * float64(c.held()-before) / float64(time.Millisecond) / all
	}
	return s, nil
}

// medians takes the median of each number, and the sum of what is counted.
func medians(all []Side) (m Side) {
	of := func(f func(Side) float64) float64 {
		var xs []float64
		for _, s := range all {
			xs = append(xs, f(s))
		}
		return rounds.Median(xs)
	}
	m.Why = make(map[string]uint64)
	for _, s := range all {
		m.ReadAborts += s.ReadAborts
		for why, n := range s.Why {
			m.Why[why] += n
		}
		m.Failed += s.Failed
	}
	m.PerSecond, m.HeldPercent = of(func(s Side) float64 { return s.PerSecond }),
		of(func(s Side) float64 { return s.HeldPercent })
	m.ReadP50, m.ReadP99 = of(func(s Side) float64 { return s.ReadP50 }), of(func(s Side) float64 { return s.ReadP99 })
	m.UpdateP50, m.UpdateP99 = of(func(s Side) float64 { return s.UpdateP50 }),
		of(func(s Side) float64 { return s.UpdateP99 })
	return m
}
