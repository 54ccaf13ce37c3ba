package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

const (
	// wholeWithin bounds the wait until a cluster is whole: an emptied disk is filled meanwhile.
	wholeWithin = 2 * time.Minute
	// mostLag is how many committed entries a replica that has caught up may lack, since the load goes on.
	mostLag = 100
	// hotCounters is the number of counters on the hot shard.
	hotCounters = 4
)

// failoverCluster are three processes, with a client of each for questions about its shards.
type failoverCluster struct {
	*trio
	router  *hotshard.Router
	control [3]*client.DB
	// ids are the nodes of the processes.
	ids [3]kv.NodeID
	// counters are those of kills and drains; an emptied disk has its own, so that its history is whole.
	counters *counters
}

func startFailoverCluster(ctx context.Context, f *failoverOptions, dir string) (*failoverCluster, error) {
	flags := []string{"--shards", "0", "--replicas", "3", "--hot-mode", hotshard.ModePinned.String()}
	var hot [][]byte
	for generation := range f.wipes + 1 {
		for i := range hotCounters {
			hot = append(hot, []byte(hotCounter(generation, i)))
			flags = append(flags, "--hot-key", hotCounter(generation, i))
		}
	}
	if f.logs != "" {
		flags = append(flags, "--logs", f.logs)
	}
	t, err := startTrio(ctx, f.options, dir, "node", flags...)
	if err != nil {
		return nil, err
	}
	c := &failoverCluster{trio: t}
	if err := c.connect(ctx, hot); err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.counters = c.newCounters(0)
	if err := load(ctx, c.control[0], keys(f.keys)); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *failoverCluster) connect(ctx context.Context, hot [][]byte) error {
	for i, addr := range c.addrs {
		db, err := client.Open(ctx, []string{addr})
		if err != nil {
			return err
		}
		c.control[i] = db
		st, err := admin.New(db).Status(ctx)
		if err != nil {
			return err
		}
		c.ids[i] = kv.NodeID(st.Node)
		c.router, err = hotshard.NewRouter(st.Shards-1, len(c.addrs), hot)
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *failoverCluster) close() error {
	for _, db := range c.control {
		if db != nil {
			_ = db.Close()
		}
	}
	return c.stop()
}

// kill ends a process by SIGKILL. It returns when that was sent, and when the process had ended.
func (c *failoverCluster) kill(i int) (sent, ended time.Time) {
	sent = time.Now()
	_ = c.nodes[i].cmd.Process.Kill()
	_ = c.nodes[i].stop() // it was killed
	return sent, time.Now()
}

// empty removes the directory of a process that has ended.
func (c *failoverCluster) empty(i int) error { return os.RemoveAll(c.stores[i]) }

// leaders returns the process that leads each shard, by the number of the shard, or why the cluster is not whole: each
// node reaches the others, and each shard has a leader with a lease and three replicas that respond and have its log.
func (c *failoverCluster) leaders(ctx context.Context) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var all [3][]admin.Shard
	var g errgroup.Group
	for i, db := range c.control {
		g.Go(func() (err error) {
			a := admin.New(db)
			st, err := a.Status(ctx)
			if err != nil {
				return err
			}
			for _, m := range st.Members {
				if !m.Up || m.Draining {
					return fmt.Errorf("n%d does not reach n%d", st.Node, m.Node)
				}
			}
			all[i], err = a.Shards(ctx)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	leaders := make([]int, c.router.Shards())
	for s := range leaders {
		at, err := leaderOf(&all, s)
		if err != nil {
			return nil, err
		}
		leaders[s] = at
	}
	return leaders, nil
}

// leaderOf returns the process that leads a shard, by what all three report.
func leaderOf(all *[3][]admin.Shard, shard int) (leader int, err error) {
	leader = -1
	for i := range all {
		x := &all[i][shard]
		if x.Failure != "" {
			return 0, fmt.Errorf("shard %d: a replica has failed: %s", shard, x.Failure)
		}
		if !x.Up || len(x.Replicas) != len(all) {
			return 0, fmt.Errorf("shard %d has %d replicas at process %d, its leader is known: %v", shard, len(x.Replicas), i,
				x.Up)
		}
		if x.Lease == 0 {
			continue
		}
		if x.Missing > 0 || x.Changing {
			return 0, fmt.Errorf("shard %d lacks replicas: %s", shard, x.MissingReason)
		}
		for _, r := range x.Replicas {
			if r.Learner || r.Damaged || r.Silent > 0 || r.Lag > mostLag {
				return 0, fmt.Errorf("shard %d has a replica that is not ready: %+v", shard, r)
			}
		}
		leader = i
	}
	if leader < 0 {
		return 0, fmt.Errorf("shard %d has no leader", shard)
	}
	return leader, nil
}

// awaitWhole waits until the cluster is whole, and returns the leaders.
func (c *failoverCluster) awaitWhole(ctx context.Context) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeWithin)
	defer cancel()
	for {
		leaders, err := c.leaders(ctx)
		if err == nil {
			return leaders, nil
		}
		if !workload.Sleep(ctx, 20*time.Millisecond) {
			return nil, fmt.Errorf("the cluster is not whole after %v: %w", wholeWithin, err)
		}
	}
}

func hotCounter(generation, i int) string { return fmt.Sprintf("failover/hot/%d/%d", generation, i) }

// newCounters returns the counters of a generation: those of the hot shard, and two on each ordinary shard.
func (c *failoverCluster) newCounters(generation int) *counters {
	hot := c.router.HotShard()
	out := &counters{keys: make([][]string, c.router.Shards()), acknowledged: map[string]int64{}}
	for i := range hotCounters {
		out.keys[hot] = append(out.keys[hot], hotCounter(generation, i))
	}
	out.shared = slices.Clone(out.keys)
	for n, missing := 0, 2*int(hot); missing > 0; n++ {
		key := fmt.Sprintf("failover/%d/%d", generation, n)
		s := c.router.Shard([]byte(key))
		switch {
		case len(out.keys[s]) == 0:
			out.keys[s] = []string{key}
		case len(out.shared[s]) == 0:
			out.shared[s] = []string{key}
		default:
			continue
		}
		missing--
	}
	return out
}
