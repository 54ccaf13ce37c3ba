package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/test/bench/rounds"
)

func syncCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "sync",
		Short: "What durability costs: puts with fsync against puts without",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return durability(c.Context(), c.OutOrStdout(), o) },
	}
}

// fsyncDelay is what a slow disk's fsync is imitated with.
const fsyncDelay = 2 * time.Millisecond

// disk is the comparison's servers and clients.
type disk struct {
	o                    *options
	dir                  string
	quick, synced, slow  *node
	syncedHTTP, slowHTTP string
	echo                 *echoServer
}

func durability(ctx context.Context, w io.Writer, o *options) (err error) {
	dir, remove, err := o.workDir()
	if err != nil {
		return err
	}
	defer remove()
	d := &disk{o: o, dir: dir}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(w, "One-shot puts of %d bytes on one node with 8 shards; the store is in %s\n\n%d callers:\n", valueBytes,
		dir, o.callers)
	if err := d.many(ctx, w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n1 caller, milliseconds, medians of each round:\n")
	return d.one(ctx, w)
}

func (d *disk) start(ctx context.Context) (err error) {
	d.syncedHTTP, err = freeAddr()
	if err != nil {
		return err
	}
	d.slowHTTP, err = freeAddr()
	if err != nil {
		return err
	}
	d.quick, err = startNode(ctx, d.o, d.dir, "nosync", "--unsafe-no-sync")
	if err != nil {
		return err
	}
	d.synced, err = startNode(ctx, d.o, d.dir, "sync", "--http", d.syncedHTTP)
	if err != nil {
		return err
	}
	d.slow, err = startNode(ctx, d.o, d.dir, "slow", "--http", d.slowHTTP, "--delay-fsync", fsyncDelay.String())
	if err != nil {
		return err
	}
	d.echo, err = startEcho(ctx)
	return err
}

func (d *disk) stop() error {
	var errs []error
	for _, n := range []*node{d.quick, d.synced, d.slow} {
		if n != nil {
			errs = append(errs, n.close())
		}
	}
	if d.echo != nil {
		errs = append(errs, d.echo.close())
	}
	return errors.Join(errs...)
}

// many compares throughput, and counts commits per fsync.
func (d *disk) many(ctx context.Context, w io.Writer) error {
	const quick, synced, slow = "no fsync", "fsync", "fsync + 2 ms"
	real, delayed := &grouping{url: d.syncedHTTP}, &grouping{url: d.slowHTTP}
	s, err := rounds.Run(d.o.rounds, w,
		rounds.Variant{Name: quick, Run: func() (float64, error) { return d.rate(ctx, d.quick, nil) }},
		rounds.Variant{Name: synced, Run: func() (float64, error) { return d.rate(ctx, d.synced, real) }},
		rounds.Variant{Name: slow, Run: func() (float64, error) { return d.rate(ctx, d.slow, delayed) }})
	if err != nil {
		return err
	}
	r, lo, hi := s.Ratio(synced, quick)
	g, gl, gh := delayed.spread()
	f, fl, fh := real.spread()
	return rounds.Print(w, "per second", s, []rounds.Target{
		{What: "fsync / no fsync", Got: r, Low: lo, High: hi, AtLeast: 0.5},
		{What: "commits an fsync, fsync + 2 ms", Got: g, Low: gl, High: gh, AtLeast: 30},
		{What: "commits an fsync, fsync", Got: f, Low: fl, High: fh},
	}, quick, synced, slow)
}

func (d *disk) rate(ctx context.Context, n *node, g *grouping) (float64, error) {
	before, err := g.fsyncs(ctx)
	if err != nil {
		return 0, err
	}
	l, err := rounds.Loop{Callers: d.o.callers, Warm: d.o.warm, Measure: d.o.measure, Do: n.put}.Run(ctx)
	if err != nil {
		return 0, err
	}
	after, err := g.fsyncs(ctx)
	if g != nil && after > before {
		// The fsyncs of warming up are counted; so are its commits, nearly.
		all := l.PerSecond() * (d.o.warm + d.o.measure).Seconds()
		g.ratios = append(g.ratios, all/(after-before))
	}
	return l.PerSecond(), err
}

// grouping is the commits per fsync of a node with its metrics at url.
type grouping struct {
	url    string
	ratios []float64
}

func (g *grouping) spread() (median, low, high float64) {
	s := rounds.Series{"x": g.ratios, "one": nil}
	for range g.ratios {
		s["one"] = append(s["one"], 1)
	}
	return s.Ratio("x", "one")
}

var fsyncsMetric = regexp.MustCompile(`(?m)^linchpin_\w*log_fsyncs_total(?:{.*})? (\S+)$`)

func (g *grouping) fsyncs(ctx context.Context) (float64, error) {
	if g == nil {
		return 0, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.url+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	m := fsyncsMetric.FindSubmatch(body)
	if m == nil {
		return 0, errors.New("the node's metrics do not tell of fsyncs")
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// one compares the latency of a lone caller with what it is made of.
func (d *disk) one(ctx context.Context, w io.Writer) error {
	const put, disk, sum = "put", "one fsync", "sum"
	file, err := newFsyncs(d.dir)
	if err != nil {
		return err
	}
	defer file.Close()
	p50 := func(do func(context.Context, int) error) func() (float64, error) {
		return func() (float64, error) {
			l, err := rounds.Loop{Callers: 1, Warm: d.o.warm / 2, Measure: d.o.measure, Latencies: true, Do: do}.Run(ctx)
			return float64(l.P50.Microseconds()) / 1000, err
		}
	}
	s, err := rounds.Run(d.o.rounds, w, rounds.Variant{Name: put, Run: p50(d.synced.put)},
		rounds.Variant{Name: trip, Run: p50(d.echo.Stream)}, rounds.Variant{Name: disk, Run: p50(file.do)})
	if err != nil {
		return err
	}
	for i := range s[put] {
		s[sum] = append(s[sum], s[trip][i]+s[disk][i])
	}
	r, lo, hi := s.Ratio(put, sum)
	return rounds.Print(w, "ms", s, []rounds.Target{
		{What: "put / (fsync + round trip)", Got: r, Low: lo, High: hi, AtMost: 1.5,
			Note: fmt.Sprintf("file grown by %d bytes", len(file.entry))},
	}, put, trip, disk, sum)
}
