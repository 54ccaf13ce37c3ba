package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// hotOptions are those of the comparison of commit orders.
type hotOptions struct {
	*options
	clients    int
	saturating []int
	settle     time.Duration
	delays     []time.Duration
	fsync      bool
	// json is the file that gets the comparison of the orders, empty for none.
	json string
	// replicas is the number of replicas of each shard.
	replicas int
}

func hotCommand(o *options) *cobra.Command {
	h := hotOptions{options: o, replicas: 1}
	c := &cobra.Command{
		Use:   "hot",
		Short: "Increments of one hot key and one other, hot-last against parallel",
		Long: `A cluster of three nodes, in this process, with a delay between any two of them.
Clients are goroutines, spread over the gateways. Each transaction is one-shot
and increments one key that all share, on the hot shard, and one of many on the
other shards.

Then it finds the saturated throughput at several delays: with the hot key on the
hot shard from the beginning, with one that moves there by itself, and with
transactions that increment two such keys.

What is compared are increments that return the sum: they exclude each other, as
any read-modify-write does. Blind increments commute, so that neither order has
anything to wait for; they are shown beside.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return hot(c.Context(), c.OutOrStdout(), &h) },
	}
	f := c.Flags()
	f.IntVar(&h.clients, "clients", 64, "clients of the comparison at 1 ms")
	h.delayFlags(f)
	f.DurationVar(&h.settle, "settle", 3*time.Second, "how long keys have to move by themselves, besides --warm")
	f.StringVar(&h.json, "json", "", "a file for the figures that pages quote (docs/figures/hot.json)")
	f.BoolVar(&h.fsync, "fsync", false, "with fsync; the default leaves the disk out of it")
	return c
}

func (h *hotOptions) delayFlags(f *pflag.FlagSet) {
	f.IntSliceVar(&h.saturating, "saturating", []int{256, 512, 1024},
		"clients per ms of delay, at least this many, to try for saturated throughput")
	f.DurationSliceVar(&h.delays, "delays", []time.Duration{200 * time.Microsecond, time.Millisecond,
		5 * time.Millisecond}, "one-way delays for saturated throughput")
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
	if err := cs.saturated(w, "the hot key on the hot shard from the beginning", false, returning); err != nil {
		return err
	}
	if err := cs.saturated(w, "the hot key moves by itself", true, returning); err != nil {
		return err
	}
	return cs.saturated(w, "two hot keys a transaction, which move by themselves", true, returningTwo)
}

// clusters are made when they are needed, and stay until stop.
type clusters struct {
	ctx context.Context
	h   *hotOptions
	dir string
	all []*cluster
}

func (cs *clusters) get(kind clusterKind) (*cluster, error) {
	for _, c := range cs.all {
		if c.clusterKind == kind {
			return c, nil
		}
	}
	dir, err := os.MkdirTemp(cs.dir, "cluster")
	if err != nil {
		return nil, err
	}
	c := &cluster{clusterKind: kind, dir: dir}
	o := embed.ClusterOptions{Dir: dir, Protocol: embed.Protocol{Order: kind.order, Hot: hotshard.ModeAuto},
		Delay: kind.delay, NoSync: !cs.h.fsync, CacheBytes: 64 << 20, Replicas: cs.h.replicas}
	if !kind.auto {
		o.HotKeys, o.Hot = [][]byte{sharedKey}, hotshard.ModePinned // and no pin: nothing moves
	}
	c.Cluster, err = embed.StartCluster(o)
	if err != nil {
		return nil, err
	}
	cs.all = append(cs.all, c)
	return c, c.load(cs.ctx, cs.h.keys)
}

// stop ends all clusters and removes what they stored.
func (cs *clusters) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var errs []error
	for _, c := range cs.all {
		errs = append(errs, c.Stop(ctx), os.RemoveAll(c.dir))
	}
	cs.all = nil
	return errors.Join(errs...)
}

// run measures one workload on a cluster.
func (cs *clusters) run(kind clusterKind, clients int, ops increment) (rounds.Load, error) {
	c, err := cs.get(kind)
	if err != nil {
		return rounds.Load{}, err
	}
	warm := cs.h.warm
	if kind.auto {
		warm += cs.h.settle
	}
	return rounds.Loop{Callers: clients, Warm: warm, Measure: cs.h.measure, Latencies: true,
		Do: func(ctx context.Context, i int) error { return c.increment(ctx, i, ops) }}.Run(cs.ctx)
}

// runAlone is run on a new cluster, with no other one in the process: one that
// is idle still weighs on the garbage collector, and one that has worked has
// compactions left to do.
func (cs *clusters) runAlone(kind clusterKind, clients int, ops increment) (l rounds.Load, err error) {
	if err := cs.stop(); err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, cs.stop()) }()
	return cs.run(kind, clients, ops)
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
				l, err := cs.run(clusterKind{order: order, delay: time.Millisecond}, cs.h.clients, wl.ops)
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
	compared := func(name string) string {
		if i := slices.Index(names, name); i%2 == 1 {
			return names[i-1]
		}
		return ""
	}
	figures := rounds.NewFigures("go run ./test/bench hot", cs.h.rounds, s, compared, names...)
	if err := figures.Write(cs.h.json); err != nil {
		return err
	}
	return rounds.Print(w, "per second", s, targets, names...)
}

// saturated compares hot-last's greatest throughput at several delays, each
// time on a cluster of its own. With too few clients they wait for the delay,
// with too many the queues cost more than they give; the best number counts.
func (cs *clusters) saturated(w io.Writer, what string, auto bool, ops increment) error {
	if !cs.h.selectsName(what) {
		return nil
	}
	fmt.Fprintf(w, "\nSaturated throughput of hot-last, increments that return, %s:\n", what)
	var vs []rounds.Variant
	p50 := rounds.Series{}
	for _, d := range cs.h.delays {
		for _, per := range cs.h.saturating {
			clients := max(per, int(float64(per)*float64(d)/float64(time.Millisecond)))
			name := saturatedName(d, per)
			vs = append(vs, rounds.Variant{Name: name, Run: func() (float64, error) {
				l, err := cs.runAlone(clusterKind{txn.HotLast, d, auto}, clients, ops)
				p50[name] = append(p50[name], float64(l.P50)/float64(time.Millisecond))
				return l.PerSecond(), err
			}})
		}
	}
	s, err := rounds.Run(cs.h.rounds, w, vs...)
	if err != nil || len(vs) == 0 {
		return err
	}
	return cs.printSaturated(w, s, p50)
}

func saturatedName(d time.Duration, per int) string { return fmt.Sprintf("%v, %d per ms", d, per) }

func (cs *clusters) printSaturated(w io.Writer, s, p50 rounds.Series) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "\nDELAY ONE WAY, CLIENTS\tMEDIAN PER SECOND\tLEAST\tMOST\tP50\n")
	var best []float64
	for _, d := range cs.h.delays {
		best = append(best, 0)
		for _, per := range cs.h.saturating {
			name := saturatedName(d, per)
			m := rounds.Median(s[name])
			best[len(best)-1] = max(best[len(best)-1], m)
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s ms\n", name, rounds.Number(m), rounds.Number(slices.Min(s[name])),
				rounds.Number(slices.Max(s[name])), rounds.Number(rounds.Median(p50[name])))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	spread := slices.Max(best)/slices.Min(best) - 1
	return rounds.Print(w, "", nil, []rounds.Target{{What: "most / least - 1, best of each delay", Got: spread,
		Low: spread, High: spread, AtMost: 0.2}})
}
