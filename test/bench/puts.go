package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/test/bench/echo"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

func putsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "puts",
		Short: "One-shot puts of 128 bytes on one node with 8 shards, against bare gRPC echoes",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return puts(c.Context(), c.OutOrStdout(), o) },
	}
}

// The names of the variants of puts.
const (
	putsName, getsName        = "linchpin put", "linchpin get"
	unaryName, batchedName    = "unary echo", "batched-stream echo"
	yieldingName, rawName     = "... yielding sender", "... of raw bytes"
	unaryTarget, batchedRatio = 1.5, 0.4
)

func puts(ctx context.Context, w io.Writer, o *options) (err error) {
	dir, remove, err := o.workDir()
	if err != nil {
		return err
	}
	defer remove()
	n, err := startNode(ctx, o, dir, "puts", "--unsafe-no-sync")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	request, answer := echo.Sizes(valueBytes)
	es, err := self(ctx, "echo", "--raw-bytes", strconv.Itoa(answer))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, es.stop()) }()
	ec, err := echo.Dial(es.addr, o.callers, valueBytes)
	if err != nil {
		return err
	}
	defer ec.Close()
	fmt.Fprintf(w, "One-shot puts of %d bytes, 8 shards, no fsync, %d callers; requests of %d and answers of %d bytes\n",
		valueBytes, o.callers, request, answer)

	costs := costs{}
	s, err := rounds.Run(o.rounds, w, o.selected(
		costs.variant(ctx, o, putsName, n.put, n.child),
		costs.variant(ctx, o, getsName, n.get, n.child),
		costs.variant(ctx, o, unaryName, ec.Unary, es),
		costs.variant(ctx, o, batchedName, ec.Stream, es),
		costs.variant(ctx, o, yieldingName, ec.Yielding, es),
		costs.variant(ctx, o, rawName, ec.Raw, es))...)
	if err != nil {
		return err
	}
	u, ul, uh := s.Ratio(putsName, unaryName)
	b, bl, bh := s.Ratio(putsName, batchedName)
	y, yl, yh := s.Ratio(putsName, yieldingName)
	err = rounds.Print(w, "per second", s, []rounds.Target{
		{What: "put / unary echo", Got: u, Low: ul, High: uh, AtLeast: unaryTarget},
		{What: "put / batched-stream echo", Got: b, Low: bl, High: bh, AtLeast: batchedRatio},
		{What: "put / ... yielding sender", Got: y, Low: yl, High: yh},
	}, putsName, getsName, unaryName, batchedName, yieldingName, rawName)
	costs.print(w, putsName, getsName, unaryName, batchedName, yieldingName, rawName)
	return err
}

// costs are the processor times of an operation, by variant and process.
type costs map[string]*cost

type cost struct{ server, client []float64 }

// variant is a Loop whose number is its rate, and whose cost at servers and client is noted.
func (cs costs) variant(ctx context.Context, o *options, name string, do func(context.Context, int) error,
	servers ...*child) rounds.Variant {
	c := &cost{}
	cs[name] = c
	serverCPU := func() (sum time.Duration) {
		for _, s := range servers {
			sum += s.cpu()
		}
		return sum
	}
	return rounds.Variant{Name: name, Run: func() (float64, error) {
		// Warming up costs as much as measuring; the times below are for both.
		self := strconv.Itoa(os.Getpid())
		s0, c0 := serverCPU(), cpuOf(self)
		all := 0
		l, err := rounds.Loop{Callers: o.callers, Warm: o.warm, Measure: o.measure, Do: do}.Run(ctx)
		all = int(l.PerSecond() * (o.warm + o.measure).Seconds())
		per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(max(all, 1)) }
		c.server, c.client = append(c.server, per(serverCPU()-s0)), append(c.client, per(cpuOf(self)-c0))
		return l.PerSecond(), err
	}}
}

func (cs costs) print(w io.Writer, names ...string) {
	fmt.Fprintln(w, "\nProcessor time of one operation, medians, in microseconds:")
	for _, n := range names {
		if cs[n] == nil || len(cs[n].server) == 0 {
			continue
		}
		s, c := rounds.Median(cs[n].server), rounds.Median(cs[n].client)
		fmt.Fprintf(w, "  %-29s server %5.2f  client %5.2f  both %5.2f\n", n, s, c, s+c)
	}
}
