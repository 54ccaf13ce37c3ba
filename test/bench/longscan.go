package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// longScanOptions are those of a scan that takes its time.
type longScanOptions struct {
	*options
	scanned      int
	length       time.Duration
	window       time.Duration
	writers      int
	think        time.Duration
	skew         float64
	historyEvery time.Duration
}

func longScanCommand(o *options) *cobra.Command {
	l := longScanOptions{options: o}
	c := &cobra.Command{
		Use:   "longscan",
		Short: "A scan of a million keys that takes five minutes, beside writers of hot keys",
		Long: `A cluster of three nodes, in this process, without fsync. Writers set two keys a
transaction, chosen by a zeta law, and rest a little in between, so that the
machine is not saturated. In the middle of the run one scan reads all keys, at a
steady pace, and the latencies of the writers are kept by windows of time: those
before and after the scan, and those during it.

States of the history are fixed seldom meanwhile: for a moment each of those
holds updates, and what is counted is what the scan does.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return longScan(c.Context(), c.OutOrStdout(), &l) },
	}
	f := c.Flags()
	f.IntVar(&l.scanned, "scanned", 1_000_000, "number of keys")
	f.DurationVar(&l.length, "length", 5*time.Minute, "how long the scan takes")
	f.DurationVar(&l.window, "window", 10*time.Second,
		"length of a window; a fifth of the scan's windows come before it, and after")
	f.IntVar(&l.writers, "writers", 16, "concurrent writers")
	f.DurationVar(&l.think, "think", 10*time.Millisecond, "mean rest of a writer between two transactions")
	f.Float64Var(&l.skew, "skew", 1.2, "skew of the writers' keys")
	f.DurationVar(&l.historyEvery, "history-every", time.Hour, "how often a state of the history is fixed")
	return c
}

func longScan(ctx context.Context, w io.Writer, l *longScanOptions) (err error) {
	dir, remove, err := l.workDir()
	if err != nil {
		return err
	}
	defer remove()
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: dir, NoSync: true, CacheBytes: 64 << 20,
		Protocol: embed.Protocol{HistoryEvery: l.historyEvery}})
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err = errors.Join(err, c.Stop(stop))
	}()
	s := &longScanRun{longScanOptions: l, c: c}
	fmt.Fprintf(w, "%d keys, three nodes, 8 shards and the hot one, %d writers, skew %v; no fsync\n", l.scanned, l.writers,
		l.skew)
	if err := s.load(ctx); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	return s.print(w)
}

type longScanRun struct {
	*longScanOptions
	c      *embed.Cluster
	picker *zipf.Picker

	mu      sync.Mutex
	current *hdrhistogram.Histogram
	// outside are the windows before and after the scan, during those in it.
	outside, during []*hdrhistogram.Histogram
	pairs           int
	scanning        time.Duration
	// holds were counted when the scan's state had been fixed, and at its end.
	holdsFrom, holdsTo uint64
	// memory is the live heap at the scan's begin, and the greatest and the
	// last while it ran.
	memory, most, last uint64
}

func longScanKey(i uint64) []byte { return strconv.AppendUint([]byte("key/"), i, 10) }

func (s *longScanRun) load(ctx context.Context) (err error) {
	s.picker, err = zipf.NewPicker(zipf.Options{Keys: uint64(s.scanned), Skew: s.skew})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	const batch = 500
	for from := 0; from < s.scanned; from += batch {
		g.Go(func() error {
			ops := make([]msg.Op, 0, batch)
			for i := from; i < min(from+batch, s.scanned); i++ {
				ops = append(ops, msg.Op{Kind: msg.OpPut, Key: longScanKey(uint64(i)), Value: make([]byte, 100)})
			}
			return s.execute(ctx, from/batch, ops)
		})
	}
	return g.Wait()
}

func (s *longScanRun) execute(ctx context.Context, client int, ops []msg.Op) error {
	if r := s.c.Node(kv.NodeID(1+client%3)).Gateway().Execute(ctx, gateway.Request{Ops: ops}); r.Err != nil {
		return r.Err
	}
	return nil
}

// run has the writers write while windows pass, and the scan in the middle.
func (s *longScanRun) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.current = newWindow()
	g, writing := errgroup.WithContext(ctx)
	for i := range s.writers {
		g.Go(func() error { return s.write(writing, i) })
	}
	g.Go(func() error {
		defer cancel()
		around := max(int(s.length/s.window)/5, 1)
		s.windows(writing, 1) // to warm up
		s.outside = s.windows(writing, around)
		if err := s.scan(writing); err != nil {
			return err
		}
		s.outside = append(s.outside, s.windows(writing, around)...)
		return nil
	})
	return g.Wait()
}

func newWindow() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(time.Minute/time.Microsecond), 3)
}

func (s *longScanRun) write(ctx context.Context, client int) error {
	r := rand.New(rand.NewPCG(uint64(client), 1))
	for ctx.Err() == nil {
		ops := make([]msg.Op, 2)
		for i := range ops {
			ops[i] = msg.Op{Kind: msg.OpPut, Key: longScanKey(s.picker.Pick(r, 0)), Value: make([]byte, 100)}
		}
		begin := time.Now()
		if err := s.execute(context.WithoutCancel(ctx), client, ops); err != nil {
			return err
		}
		s.mu.Lock()
		_ = s.current.RecordValue(time.Since(begin).Microseconds()) // out of range is beyond any deadline
		s.mu.Unlock()
		rest := time.NewTimer(time.Duration(r.ExpFloat64() * float64(s.think)))
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
		}
	}
	return nil
}

// turn begins a new window and gives the one that has ended.
func (s *longScanRun) turn() *hdrhistogram.Histogram {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.current
	s.current = newWindow()
	return h
}

func (s *longScanRun) windows(ctx context.Context, n int) (out []*hdrhistogram.Histogram) {
	for range n {
		s.turn()
		select {
		case <-ctx.Done():
			return out
		case <-time.After(s.window):
			out = append(out, s.turn())
		}
	}
	return out
}

// scan reads everything at a steady pace.
func (s *longScanRun) scan(ctx context.Context) error {
	s.turn()
	begin, next := time.Now(), time.Now().Add(s.window)
	s.memory = liveHeap()
	o := gateway.ScanOptions{Opened: func(gateway.Opened) error {
		s.holdsFrom = s.holds()
		return nil
	}}
	err := s.c.Node(1).Gateway().Scan(ctx, o, func(ps []msg.Pair) error {
		s.pairs += len(ps)
		due := begin.Add(time.Duration(float64(s.length) * float64(s.pairs) / float64(s.scanned)))
		for wait := time.Until(due); wait > 0; wait = time.Until(due) {
			time.Sleep(min(wait, 100*time.Millisecond))
			if time.Now().After(next) {
				s.during = append(s.during, s.turn())
				next = next.Add(s.window)
				s.last = liveHeap()
				s.most = max(s.most, s.last)
				s.turn() // the collection is not the writers' doing
			}
		}
		return ctx.Err()
	})
	s.scanning, s.holdsTo = time.Since(begin), s.holds()
	return err
}

func (s *longScanRun) holds() (n uint64) {
	for id := range 3 {
		for _, x := range s.c.Node(kv.NodeID(id + 1)).ShardStats(0) {
			n += x.Queues.Holds
		}
	}
	return n
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (s *longScanRun) print(w io.Writer) error {
	if s.pairs != s.scanned {
		return fmt.Errorf("the scan returned %d of %d keys", s.pairs, s.scanned)
	}
	if len(s.during) == 0 || len(s.outside) == 0 {
		return errors.New("no window has passed during the scan, or none beside it: there is nothing to compare")
	}
	for _, h := range slices.Concat(s.outside, s.during) {
		if h.TotalCount() == 0 { // its p99 would be 0, the best there is
			return fmt.Errorf("in a window of %v no transaction has ended", s.window)
		}
	}
	p99 := func(hs []*hdrhistogram.Histogram) (out []float64) {
		for _, h := range hs {
			out = append(out, float64(h.ValueAtQuantile(99))/1000)
		}
		return out
	}
	without, with := p99(s.outside), p99(s.during)
	n := int64(0)
	for _, h := range s.during {
		n += h.TotalCount()
	}
	fmt.Fprintf(w, "%d pairs in %v; %d transactions beside it\n", s.pairs, s.scanning.Round(time.Second), n)
	fmt.Fprintf(w, "updates held once the scan's state was fixed: %d (asked: 0)\n", s.holdsTo-s.holdsFrom)
	fmt.Fprintf(w, "live heap: %d MiB at the begin, %d at the end, %d at most\n", s.memory>>20, s.last>>20, s.most>>20)
	return rounds.Print(w, "ms, p99 of writers, median of windows",
		rounds.Series{"without the scan": without, "with the scan": with}, []rounds.Target{
			one("p99 with the scan, against without it", rounds.Median(with)/rounds.Median(without), 1.25, ""),
			one("live heap at the end, against the begin", float64(s.last)/float64(max(s.memory, 1)), 1.25, ""),
		})
}
