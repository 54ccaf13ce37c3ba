package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// failoverOptions are those of the measurement of failovers.
type failoverOptions struct {
	*options
	kills, drains, wipes int
	// hotClients is the number of clients of the hot keys at each node, and pause the time between two requests of each
	// other client.
	hotClients int
	pause      time.Duration
	// logs is the directory for the logs of the nodes, json the file for the figures; empty for none.
	logs, json string
}

// The phases, which --only selects.
const (
	killsPhase  = "kills"
	drainsPhase = "drains"
	diskPhase   = "emptied disk"
)

func failoverCommand(o *options) *cobra.Command {
	f := failoverOptions{options: o}
	c := &cobra.Command{
		Use:   "failover",
		Short: "Three replicas under load: kills of leaders, drains, an emptied disk",
		Long: `Three processes with three replicas of each shard. Clients at each node increment
counters of each shard in closed loops: without a pause on the hot shard, with
--pause on the others. Some increment two shards, some read.

kills         the process that leads the hot shard, or an ordinary one, gets
              SIGKILL. Measured from then to the first commit on that shard of an
              increment that began after the process had ended, by a client of
              another node. The shards that others lead: the longest request on one of
              them that was in flight until then, and their rate as a share of before
drains        linchpin drain and a clean stop, by turns. The longest request that
              was in flight from then to 0.5 s after the end of the process
emptied disk  a process is killed and its directory removed. When all shards have
              leaders again it starts: the time until it is a replica of all
              shards, and the rate of the load meanwhile; the history is checked

After each fault the node starts, and the next fault waits until each shard has
three replicas that have its log. Then each counter must be the number of its
acknowledged increments. If an outcome is unknown, it is queried by its id.

Phases for --only: kills, drains, emptied disk.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout()) },
	}
	fs := c.Flags()
	fs.IntVar(&f.kills, "kills", 100, "kills of the leader of the hot shard, and again of the leader of an ordinary one")
	fs.IntVar(&f.drains, "drains", 20, "drains, every second one a clean stop")
	fs.IntVar(&f.wipes, "wipes", 3, "emptied disks")
	fs.IntVar(&f.hotClients, "hot-clients", 4, "clients of the hot keys at each node")
	fs.DurationVar(&f.pause, "pause", 10*time.Millisecond, "time between two requests of each other client")
	fs.StringVar(&f.logs, "logs", "", "`directory` for the logs of the nodes")
	fs.StringVar(&f.json, "json", "", "a `file` for the figures")
	return c
}

func (f *failoverOptions) run(ctx context.Context, w io.Writer) (err error) {
	dir, remove, err := f.workDir()
	if err != nil {
		return err
	}
	defer remove()
	if f.logs != "" {
		f.logs, err = filepath.Abs(f.logs)
		if err == nil {
			err = os.MkdirAll(f.logs, 0o755)
		}
		if err != nil {
			return err
		}
	}
	c, err := startFailoverCluster(ctx, f, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	fmt.Fprintf(w, "Three nodes, %d shards and the hot one, three replicas, %d keys; %d clients of hot keys a node\n",
		c.router.Shards()-1, f.keys, f.hotClients)
	r := &failoverReport{failures: map[string]int{}}
	for _, phase := range []struct {
		name string
		run  func(context.Context, io.Writer, *failoverCluster, *failoverReport) error
	}{{killsPhase, f.runKills}, {drainsPhase, f.runDrains}, {diskPhase, f.runWipes}} {
		if !f.selectsName(phase.name) {
			continue
		}
		if err := phase.run(ctx, w, c, r); err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	if err := r.print(w); err != nil {
		return err
	}
	return r.write(f.json)
}

// runKills kills the leaders of the hot shard and of ordinary shards, by turns.
func (f *failoverOptions) runKills(ctx context.Context, w io.Writer, c *failoverCluster, r *failoverReport) error {
	for i := range 2 * f.kills {
		k, err := f.kill(ctx, c, i%2 == 0, i/2)
		if err != nil {
			return fmt.Errorf("kill %d: %w", i+1, err)
		}
		fmt.Fprintf(w, "  kill %d of %d: %v, shard %v: first commit after %v, all shards after %v; others: longest %v "+
			"on %v, %.0f %% of the rate; whole %v after the start\n", i+1, 2*f.kills, k.node, k.shard, shown(k.first),
			shown(k.all), shown(k.others), k.on, 100*k.kept, shown(k.whole))
		r.addKill(k, i%2 == 0)
	}
	return nil
}

// runDrains drains the nodes that lead the hot shard and most others.
func (f *failoverOptions) runDrains(ctx context.Context, w io.Writer, c *failoverCluster, r *failoverReport) error {
	for i := range f.drains {
		d, err := f.drain(ctx, c, i)
		if err != nil {
			return fmt.Errorf("drain %d: %w", i+1, err)
		}
		fmt.Fprintf(w, "  drain %d of %d: %v, %d shards led, ended after %v; longest request: %v, of its own clients %v; "+
			"%d failed\n", i+1, f.drains, d.node, d.led, shown(d.took), shown(d.others), shown(d.own), len(d.failures))
		r.addDrain(d)
	}
	return nil
}

// runWipes empties the disk of each node in turn.
func (f *failoverOptions) runWipes(ctx context.Context, w io.Writer, c *failoverCluster, r *failoverReport) error {
	for i := range f.wipes {
		x, err := f.wipe(ctx, c, c.newCounters(i+1), i%len(c.nodes))
		if err != nil {
			return fmt.Errorf("disk %d: %w", i+1, err)
		}
		fmt.Fprintf(w, "  disk %d of %d: %v is a replica of all shards after %v; %.0f/s, before %.0f/s; "+
			"%d transactions checked in %v\n", i+1, f.wipes, x.node, shown(x.whole), x.meanwhile, x.before, x.checked,
			shown(x.checking))
		r.addWipe(x)
	}
	return nil
}

func shown(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
