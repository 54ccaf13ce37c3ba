package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// hotOptions are those of the comparison of commit orders.
type hotOptions struct {
	*options
	clients, saturating int
	delays              []time.Duration
	fsync               bool
}

func hotCommand(o *options) *cobra.Command {
	h := hotOptions{options: o}
	c := &cobra.Command{
		Use:   "hot",
		Short: "Increments of one hot key and one other, hot-last against parallel",
		Long: `A cluster of three nodes, in this process, with a delay between any two of them.
Clients are goroutines, spread over the gateways. Each transaction is one-shot
and increments one key that all share, on the hot shard, and one of many on the
other shards.

What is compared are increments that return the sum: they exclude each other, as
any read-modify-write does. Blind increments commute, so that neither order has
anything to wait for; they are shown beside.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return hot(c.Context(), c.OutOrStdout(), &h) },
	}
	f := c.Flags()
	f.IntVar(&h.clients, "clients", 64, "clients of the comparison at 1 ms")
	f.IntVar(&h.saturating, "saturating", 512, "clients per ms of delay, at least this many, for saturated throughput")
	f.DurationSliceVar(&h.delays, "delays", []time.Duration{200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond}, "one-way delays for saturated throughput")
	f.BoolVar(&h.fsync, "fsync", false, "with fsync; the default leaves the disk out of it")
	return c
}

// workloads by name, the compared one first.
var workloads = []struct {
	name string
	ops  increment
}{
	{"increments that return", returning},
	{"read for update, put", reading},
	{"blind increments", blind},
}

func hot(ctx context.Context, w io.Writer, h *hotOptions) (err error) {
	dir, remove, err := h.workDir()
	if err != nil {
		return err
	}
	defer remove()
	cs := &clusters{ctx: ctx, h: h, dir: dir}
	defer func() { err = errors.Join(err, cs.stop()) }()
	fmt.Fprintf(w, "One hot key and one of %d others, three nodes, 8 shards and the hot one; fsync: %v\n", h.keys, h.fsync)
	fmt.Fprintf(w, "\n%d clients, 1 ms one way:\n", h.clients)
	if err := cs.orders(w); err != nil {
		return err
	}
	return cs.saturated(w)
}

// clusters are made when they are needed, and stay for all rounds.
type clusters struct {
	ctx context.Context
	h   *hotOptions
	dir string
	all []*cluster
}

func (cs *clusters) get(order txn.Order, delay time.Duration) (*cluster, error) {
	for _, c := range cs.all {
		if c.order == order && c.delay == delay {
			return c, nil
		}
	}
	dir := filepath.Join(cs.dir, fmt.Sprintf("%v-%v", order, delay))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	c := &cluster{order: order, delay: delay}
	var err error
	c.Cluster, err = embed.StartCluster(embed.ClusterOptions{Dir: dir, HotKeys: [][]byte{sharedKey}, Order: order, Delay: delay,
		NoSync: !cs.h.fsync, CacheBytes: 64 << 20})
	if err != nil {
		return nil, err
	}
	cs.all = append(cs.all, c)
	return c, c.load(cs.ctx, cs.h.keys)
}

func (cs *clusters) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var errs []error
	for _, c := range cs.all {
		errs = append(errs, c.Stop(ctx))
	}
	return errors.Join(errs...)
}

// run measures one workload on a cluster.
func (cs *clusters) run(order txn.Order, delay time.Duration, clients int, ops increment) (rounds.Load, error) {
	c, err := cs.get(order, delay)
	if err != nil {
		return rounds.Load{}, err
	}
	return rounds.Loop{Callers: clients, Warm: cs.h.warm, Measure: cs.h.measure, Latencies: true,
		Do: func(ctx context.Context, i int) error { return c.increment(ctx, i, ops) }}.Run(cs.ctx)
}

// orders compares the commit orders.
func (cs *clusters) orders(w io.Writer) error {
	var vs []rounds.Variant
	var names []string
	for _, wl := range workloads {
		for _, order := range []txn.Order{txn.HotLast, txn.Parallel} {
			name := fmt.Sprintf("%v, %s", order, wl.name)
			names = append(names, name)
			vs = append(vs, rounds.Variant{Name: name, Run: func() (float64, error) {
				l, err := cs.run(order, time.Millisecond, cs.h.clients, wl.ops)
				return l.PerSecond(), err
			}})
		}
	}
	s, err := rounds.Run(cs.h.rounds, w, cs.h.selected(vs...)...)
	if err != nil {
		return err
	}
	var targets []rounds.Target
	for i, wl := range workloads {
		r, lo, hi := s.Ratio(names[2*i], names[2*i+1])
		t := rounds.Target{What: "hot-last / parallel, " + wl.name, Got: r, Low: lo, High: hi}
		if i == 0 {
			t.AtLeast = 20
		}
		targets = append(targets, t)
	}
	return rounds.Print(w, "per second", s, targets, names...)
}

// saturated compares hot-last's greatest throughput at several delays.
func (cs *clusters) saturated(w io.Writer) error {
	fmt.Fprintf(w, "\nSaturated throughput of hot-last, increments that return:\n")
	var vs []rounds.Variant
	clients, p50 := map[string]int{}, rounds.Series{}
	for _, d := range cs.h.delays {
		name := d.String()
		clients[name] = max(cs.h.saturating, int(float64(cs.h.saturating)*float64(d)/float64(time.Millisecond)))
		vs = append(vs, rounds.Variant{Name: name, Run: func() (float64, error) {
			l, err := cs.run(txn.HotLast, d, clients[name], returning)
			p50[name] = append(p50[name], float64(l.P50)/float64(time.Millisecond))
			return l.PerSecond(), err
		}})
	}
	s, err := rounds.Run(cs.h.rounds, w, vs...)
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "\nDELAY ONE WAY\tCLIENTS\tMEDIAN PER SECOND\tLEAST\tMOST\tP50\n")
	var medians []float64
	for _, v := range vs {
		m := rounds.Median(s[v.Name])
		medians = append(medians, m)
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s ms\n", v.Name, clients[v.Name], rounds.Number(m), rounds.Number(slices.Min(s[v.Name])),
			rounds.Number(slices.Max(s[v.Name])), rounds.Number(rounds.Median(p50[v.Name])))
	}
	if err := tw.Flush(); err != nil || len(medians) == 0 {
		return err
	}
	spread := slices.Max(medians)/slices.Min(medians) - 1
	return rounds.Print(w, "", nil, []rounds.Target{{What: "most / least - 1", Got: spread, Low: spread, High: spread, AtMost: 0.2}})
}
