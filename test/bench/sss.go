package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/bench/readers"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// sssOptions are those of the comparison of readers.
type sssOptions struct {
	*options
	nodes   int
	clients []int
	delay   time.Duration
	fsync   time.Duration
	// warm and span are in virtual time.
	virtualWarm, span time.Duration
	message           time.Duration
	parts             []string
	unseal            time.Duration
	lanes             bool
	settle            time.Duration
	speed             float64
	// sharing is what simulated shards make of it that operations commute.
	sharing shard.Sharing
}

// asThePaper is how many clients a node has there.
const asThePaper = 10

func sssCommand(o *options) *cobra.Command {
	s := sssOptions{options: o}
	c := &cobra.Command{
		Use:   "sss",
		Short: "The mixes of the SSS paper, readers without locks against locking ones",
		Long: `First on a simulated cluster: real machines in virtual time, each node a core
with a queue, each message and step charged what it costs (the package comment
of test/bench/simulated tells how). The costs are measured at the start of each
mix. Throughput is that of the best number of clients for either kind of
readers, and, beside it, that with 10 on a node, as the paper has them. The
bound is computed before the mix runs.

Then on three real nodes in this process, on two cores or what there is.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.IntVar(&s.nodes, "nodes", 20, "simulated nodes")
	f.IntSliceVar(&s.clients, "clients", []int{1, 2, asThePaper, 20},
		"clients on each simulated node, to try for saturated throughput")
	f.DurationVar(&s.delay, "delay", 20*time.Microsecond, "time of a simulated message")
	f.DurationVar(&s.fsync, "fsync", 0, "time of a simulated fsync; the paper's store is in memory")
	f.DurationVar(&s.virtualWarm, "virtual-warm", 20*time.Millisecond, "virtual time before each measurement")
	f.DurationVar(&s.span, "span", 60*time.Millisecond,
		"virtual time of each measurement; of skewed mixes four times that")
	f.DurationVar(&s.message, "message", 0,
		"processor time of a simulated message at either end (default: measured by a batched-stream echo)")
	f.Float64Var(&s.speed, "speed", 1, "how many times as fast simulated cores are as what was measured")
	f.DurationVar(&s.unseal, "unseal-after", 0,
		"time after which simulated readers have updates unsealed (default: the shards' own)")
	f.DurationVar(&s.settle, "gather", time.Second, "virtual time before each measurement where keys move by themselves")
	f.BoolVar(&s.lanes, "lanes", true, "simulated cores take what ends something before what begins something, as "+
		"nodes do; false: first come, first served")
	f.Var(&s.sharing.Locks, "locks", "what simulated locks go by: abstract, which operations commute, or rw, which of "+
		"them write")
	f.Var(&s.sharing.Phasing, "phasing", "whether simulated operations join those that hold a lock now, past older "+
		"ones that wait: on or off")
	f.Var(&s.sharing.Combining, "combining",
		"whether simulated changes of a key in one step are written as one: on or off")
	f.StringSliceVar(&s.parts, "parts", []string{"simulated", "real"}, "what to run")
	return c
}

func (s *sssOptions) run(ctx context.Context, w io.Writer) error {
	if slices.Contains(s.parts, "simulated") {
		if err := s.simulated(ctx, w); err != nil {
			return err
		}
	}
	if slices.Contains(s.parts, "real") {
		return s.real(ctx, w)
	}
	return nil
}

// simulatedMixes are the published ones; one of them again with the hottest keys
// where contended keys are to be; and two with keys that move there
// by themselves.
func (s *sssOptions) simulatedMixes() (all []simulatedMix) {
	for _, m := range workload.SSSMixes(s.nodes) {
		all = append(all, simulatedMix{NamedOptions: m})
		if m.Skew > 0 && m.ReadKeys.Max == 2 && m.Mix.ReadOnly == 50 {
			for _, hot := range []int{1, 3} {
				n := m
				n.Name += fmt.Sprintf(", %d on the hot shard", hot)
				all = append(all, simulatedMix{NamedOptions: n, hot: hot})
			}
		}
		if m.Skew > 0 && (m.ReadKeys.Max == 16 || m.Mix.ReadOnly == 50) {
			m.Name += ", keys move"
			all = append(all, simulatedMix{NamedOptions: m, auto: true})
		}
	}
	return slices.DeleteFunc(all, func(m simulatedMix) bool { return !strings.Contains(m.Name, s.only) })
}

func (s *sssOptions) simulated(ctx context.Context, w io.Writer) error {
	if s.message == 0 {
		var err error
		s.message, err = s.messageCost(ctx)
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "%d simulated nodes, one core and one shard each, %v one way, an fsync takes %v; %v of virtual "+
		"time, of skewed mixes four times that.\n", s.nodes, s.delay, s.fsync, s.span)
	fmt.Fprintf(w, "Charged: %v for a message between nodes at either end; for each call of a machine its median, "+
		"measured on the mix;\n", s.message)
	if s.speed != 1 {
		fmt.Fprintf(w, "all that divided by %v; ", s.speed)
	}
	fmt.Fprintf(w, "nothing for a message within a node, nor for a client's call of its own node beyond the gateway's "+
		"work.\n\n")
	var all []*simulatedMix
	for _, m := range s.simulatedMixes() {
		if err := s.simulate(ctx, w, &m); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		all = append(all, &m)
	}
	if err := printSimulated(w, all); err != nil {
		return err
	}
	return rounds.Print(w, "", nil, simulatedTargets(all))
}

// real runs the brief mixes on clusters in this process.
func (s *sssOptions) real(ctx context.Context, w io.Writer) error {
	dir, remove, err := s.workDir()
	if err != nil {
		return err
	}
	defer remove()
	o := readers.Options{Dir: dir, Rounds: s.rounds, Progress: w}
	for _, m := range workload.SSSMixes(3) {
		if m.Brief && strings.Contains(m.Name, s.only) {
			m.Warmup, m.Duration = s.warm, s.measure
			o.Mixes = append(o.Mixes, m)
		}
	}
	fmt.Fprintf(w, "\nThree real nodes in this process, 8 shards, no fsync, 30 clients over gRPC:\n")
	rows, err := readers.Run(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	return readers.Write(w, rows)
}
