package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// viewsOptions are those of writers beside short views.
type viewsOptions struct {
	*options
	nodes, writers, width int
	views, oneShots       []int
	lengths               []time.Duration
	viewKeys              []int
	noSync                bool
	settle, cell          time.Duration
}

func viewsCommand(o *options) *cobra.Command {
	v := viewsOptions{options: o}
	c := &cobra.Command{
		Use:   "views",
		Short: "Writers beside views and one-shot readers that overlap on their keys",
		Long: `A cluster in this process. Writers put keys in a closed loop: half of them one, half
of them several, which are on several shards. Beside them run views that read the same
keys, four times two of them, and are open for some time, one after another; or one-shot
readers of three keys, back to back. All read without locks.

What is printed of each: puts a second of one key and of several, together relative to
what they are beside a single view of the same keys (20 ms); the longest time of a put and
of a reader's call; and how many readers failed, which is never to be other than none.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return v.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.IntVar(&v.nodes, "nodes", 3, "nodes of the cluster")
	f.IntVar(&v.writers, "writers", 16, "concurrent writers")
	f.IntVar(&v.width, "width", 3, "keys that every other writer puts together")
	f.IntSliceVar(&v.views, "views", []int{1, 2, 8, 16, 32}, "concurrent views")
	f.IntSliceVar(&v.oneShots, "one-shots", []int{1, 8, 32}, "concurrent one-shot readers")
	f.DurationSliceVar(&v.lengths, "lengths", []time.Duration{5 * time.Millisecond, 20 * time.Millisecond,
		45 * time.Millisecond, 60 * time.Millisecond, 200 * time.Millisecond}, "how long views are open")
	f.IntSliceVar(&v.viewKeys, "view-keys", []int{1, 24, 1000}, "keys that are written and read")
	f.BoolVar(&v.noSync, "no-sync", false, "without fsync")
	f.DurationVar(&v.settle, "settle", 300*time.Millisecond, "time before a cell is measured")
	f.DurationVar(&v.cell, "cell", 2*time.Second, "for how long it is")
	return c
}

// viewsCell is what runs together.
type viewsCell struct {
	c                     *embed.Cluster
	keys, views, oneShots int
	length                time.Duration
	nodes, writers, width int

	mu                    sync.Mutex
	counting              bool
	one, several, readers int
	put, wait             time.Duration
	failed                []error
}

func (v *viewsOptions) run(ctx context.Context, w io.Writer) (err error) {
	dir, remove, err := v.workDir()
	if err != nil {
		return err
	}
	defer remove()
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: dir, Nodes: v.nodes, NoSync: v.noSync})
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err = errors.Join(err, c.Stop(stop))
	}()
	fmt.Fprintf(w, "%d nodes, fsync: %t, %d writers, every other of %d keys; cells of %v\n\n", v.nodes, !v.noSync,
		v.writers, v.width, v.cell)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "keys\treaders\tputs/s of one\tof several\tbeside one view\tlongest put\treaders/s\tlongest "+
		"read\tfailed\t")
	for _, keys := range v.viewKeys {
		cell := func(views, oneShots int, length time.Duration) (*viewsCell, error) {
			x := &viewsCell{c: c, keys: keys, views: views, oneShots: oneShots, length: length, nodes: v.nodes,
				writers: v.writers, width: v.width}
			return x, x.run(ctx, v.settle, v.cell)
		}
		if _, err := cell(1, 0, 20*time.Millisecond); err != nil { // the first is slower
			return err
		}
		alone, err := cell(1, 0, 20*time.Millisecond)
		if err != nil {
			return err
		}
		for _, length := range v.lengths {
			for _, n := range v.views {
				x, err := cell(n, 0, length)
				if err != nil {
					return err
				}
				x.print(out, alone, v.cell, fmt.Sprintf("%d views of %v", n, length))
			}
		}
		for _, n := range v.oneShots {
			x, err := cell(0, n, 0)
			if err != nil {
				return err
			}
			x.print(out, alone, v.cell, fmt.Sprintf("%d one-shots", n))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (x *viewsCell) print(w io.Writer, alone *viewsCell, length time.Duration, readers string) {
	ms := func(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
	per := func(n int) string { return strconv.Itoa(int(float64(n) / length.Seconds())) }
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%.0f%%\t%s\t%s\t%s\t%d\t\n", x.keys, readers, per(x.one), per(x.several),
		100*float64(x.one+x.several)/float64(max(alone.one+alone.several, 1)), ms(x.put), per(x.readers), ms(x.wait),
		len(x.failed))
	for _, err := range x.failed[:min(len(x.failed), 3)] {
		fmt.Fprintf(w, "\t%v\t\t\t\t\t\t\t\t\n", err)
	}
}

// run has all of it go on until the cell has been measured.
func (x *viewsCell) run(ctx context.Context, settle, length time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	for i := range x.writers {
		g.Go(func() error { return x.write(ctx, i) })
	}
	for i := range x.views {
		g.Go(func() error { x.view(ctx, i); return nil })
	}
	for i := range x.oneShots {
		g.Go(func() error { x.read(ctx, i); return nil })
	}
	g.Go(func() error {
		defer cancel()
		wait(ctx, settle)
		x.count(true)
		wait(ctx, length)
		x.count(false)
		return nil
	})
	return g.Wait()
}

func (x *viewsCell) count(on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counting = on
}

// wait lets time pass, or ends early.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (x *viewsCell) gateway(i int) *gateway.Gateway {
	return x.c.Node(kv.NodeID(1 + i%x.nodes)).Gateway()
}

// some are n operations on different keys.
func (x *viewsCell) some(r *rand.Rand, n int, op msg.Op) (ops []msg.Op) {
	n = min(n, x.keys)
	for at := r.IntN(x.keys); len(ops) < n; at++ {
		op.Key = fmt.Appendf(nil, "view/%d/%d", x.keys, at%x.keys)
		ops = append(ops, op)
	}
	return ops
}

func (x *viewsCell) write(ctx context.Context, i int) error {
	r, width := rand.New(rand.NewPCG(uint64(i), 1)), 1
	if i%2 == 1 {
		width = x.width
	}
	for ctx.Err() == nil {
		ops := x.some(r, width, msg.Op{Kind: msg.OpPut, Value: make([]byte, 100)})
		begin := time.Now()
		if a := x.gateway(i).Execute(context.WithoutCancel(ctx), gateway.Request{Ops: ops}); a.Err != nil {
			return a.Err
		}
		x.wrote(len(ops) > 1, time.Since(begin))
	}
	return nil
}

func (x *viewsCell) wrote(several bool, took time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.counting {
		return
	}
	x.put = max(x.put, took)
	if several {
		x.several++
	} else {
		x.one++
	}
}

// answered takes down a call of a reader, the last if it ends the reader.
func (x *viewsCell) answered(took time.Duration, last bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.failed = append(x.failed, err)
	}
	if !x.counting {
		return
	}
	x.wait = max(x.wait, took)
	if last {
		x.readers++
	}
}

func (x *viewsCell) view(ctx context.Context, i int) {
	r := rand.New(rand.NewPCG(uint64(i), 2))
	wait(ctx, time.Duration(r.Int64N(int64(x.length))))
	for ctx.Err() == nil {
		if err := x.look(context.WithoutCancel(ctx), i, r); err != nil {
			x.answered(0, true, err)
		}
	}
}

// look is one view.
func (x *viewsCell) look(ctx context.Context, i int, r *rand.Rand) error {
	t, err := x.gateway(i).Begin(ctx, gateway.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	for range 4 {
		begin := time.Now()
		if _, err := t.Do(ctx, x.some(r, 2, msg.Op{Kind: msg.OpGet})); err != nil {
			return err
		}
		x.answered(time.Since(begin), false, nil)
		wait(ctx, x.length/4)
	}
	begin := time.Now()
	if a := t.Commit(ctx); a.Err != nil {
		return a.Err
	}
	x.answered(time.Since(begin), true, nil)
	return nil
}

func (x *viewsCell) read(ctx context.Context, i int) {
	r := rand.New(rand.NewPCG(uint64(i), 3))
	for ctx.Err() == nil {
		begin := time.Now()
		a := x.gateway(i).Execute(context.WithoutCancel(ctx), gateway.Request{Ops: x.some(r, 3, msg.Op{Kind: msg.OpGet})})
		var err error
		if a.Err != nil {
			err = a.Err
		}
		x.answered(time.Since(begin), true, err)
	}
}
