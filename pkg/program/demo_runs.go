package program

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/clientstore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

const (
	// warmup is how long the workload runs before it is measured, at most: long enough for
	// most hot keys to move to the hot shard.
	warmup = 3 * time.Second
	// moveBack is by how much a warm-up with the hot shard off is longer, at most. Keys leave
	// the hot shard at about ten a second.
	moveBack = 8 * time.Second
)

// rounds is how often each mode is measured if two modes are compared.
const rounds = 2

// measurement is one measured run.
type measurement struct {
	mode   hotshard.Mode
	result *workload.Result
	counters
	// moved is the number of keys on the hot shard at its end.
	moved int
}

// modes are the modes of the hot shard, one for each run, in order. Auto is compared with
// off.
func (d *demo) modes() (all []hotshard.Mode) {
	if d.cluster.Hot != hotshard.ModeAuto {
		return []hotshard.Mode{d.cluster.Hot}
	}
	for range rounds {
		all = append(all, hotshard.ModeOff, hotshard.ModeAuto)
	}
	return all
}

// work loads the keys, makes the runs, and reports on them.
func (d *demo) work(ctx context.Context, c *embed.Cluster) error {
	store, err := clientstore.Open(ctx, c.Addrs(), 0)
	if err != nil {
		return err
	}
	defer store.Close()
	begin := time.Now()
	if _, err := workload.Load(ctx, store, workload.LoadOptions{Keys: d.run.Keys, Prefix: prefix}); err != nil {
		return err
	}
	warm := min(warmup, 2*d.run.Duration)
	fmt.Fprintf(d.out, "Loaded %d keys in %v\n\n", d.run.Keys, time.Since(begin).Round(time.Millisecond))
	fmt.Fprintf(d.out, "Workload: %d clients, %d keys a transaction, Zipf skew %g, seed %d\n  %v\n",
		d.run.Clients, d.run.Ops, d.run.Skew, d.run.Seed, d.run.Mix)
	fmt.Fprintf(d.out, "Each run: %v of warm-up, then %v measured\n", warm, d.run.Duration)
	var runs []*measurement
	for i, mode := range d.modes() {
		fmt.Fprintf(d.out, "\nRun %d of %d, hot shard %v\n", i+1, len(d.modes()), mode)
		r, err := d.measure(ctx, c, store, mode, warm)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	if err := d.inside(ctx, c, runs); err != nil {
		return err
	}
	return d.summary(runs)
}

// measure sets the mode, warms up, and measures.
func (d *demo) measure(ctx context.Context, c *embed.Cluster, store workload.Store, mode hotshard.Mode,
	warm time.Duration) (*measurement, error) {
	if _, err := c.Node(1).Gateway().SetHot(ctx, nil, uint32(mode)+1); err != nil {
		return nil, err
	}
	if err := d.warmUp(ctx, c, store, mode, warm); err != nil {
		return nil, err
	}
	o := d.run
	o.Progress = func(s workload.Snapshot) {
		if s.Phase != workload.Finished {
			fmt.Fprintf(d.out, "  %v\n", s)
		}
	}
	before := d.count(c)
	result, err := d.load(ctx, store, o)
	if err != nil {
		return nil, err
	}
	r := &measurement{mode: mode, result: result, counters: *d.count(c)}
	r.subtract(before)
	// Before the keys cool down and move back.
	r.moved, err = movedKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	u := result.Updates.Latency
	fmt.Fprintf(d.out, "  result: %.0f/s, update p50 %.1f ms, p99 %.1f ms, %d retries\n  %d keys on the hot shard\n",
		result.All.ThroughputPer, u.P50, u.P99, result.All.Retries, r.moved)
	return r, nil
}

// warmUp runs the workload, without measuring it, until keys are where the mode wants them.
func (d *demo) warmUp(ctx context.Context, c *embed.Cluster, store workload.Store, mode hotshard.Mode,
	warm time.Duration) error {
	o := d.run
	// Another seed: the transactions that are measured are no repetition of these.
	o.Duration, o.Seed = warm, d.run.Seed+1
	o.Progress = func(s workload.Snapshot) {
		if s.Phase != workload.Finished {
			fmt.Fprintf(d.out, "  warming up, %.0f/s\n", s.Rate)
		}
	}
	for begin := time.Now(); ; o.Duration, o.Seed = time.Second, o.Seed+1 {
		if _, err := d.load(ctx, store, o); err != nil {
			return err
		}
		moved, err := movedKeys(ctx, c)
		if err != nil || mode != hotshard.ModeOff || moved == 0 || time.Since(begin) > warm+moveBack {
			return err
		}
	}
}

// movedKeys is the number of keys that have been moved to the hot shard.
func movedKeys(ctx context.Context, c *embed.Cluster) (n int, err error) {
	hot, err := c.Node(1).Gateway().Hot(ctx)
	if err != nil {
		return 0, err
	}
	for i := range hot.Keys {
		if hot.Keys[i].Since != 0 {
			n++
		}
	}
	return n, nil
}

// load runs a workload to its end.
func (d *demo) load(ctx context.Context, store workload.Store, o workload.Options) (*workload.Result, error) {
	runner, err := workload.New(store, o)
	if err != nil {
		return nil, err
	}
	result, err := runner.Run(ctx)
	if ctx.Err() != nil {
		return nil, &kv.Error{Kind: kv.KindCancelled, Op: -1, Text: "interrupted before the last run ended"}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; errors by kind: %v", err, result.Errors)
	}
	if why := result.Fault(); why != "" {
		return nil, errors.New(why)
	}
	return result, nil
}
