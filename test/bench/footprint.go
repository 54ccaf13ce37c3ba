package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// footprintOptions are those of the costs of being there.
type footprintOptions struct {
	*options
	idle time.Duration
	many int
}

func footprintCommand(o *options) *cobra.Command {
	f := footprintOptions{options: o}
	c := &cobra.Command{
		Use:   "footprint",
		Short: "The program's size, the demo's memory, the cost of an idle cluster, the time to start",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return footprint(c.Context(), c.OutOrStdout(), &f) },
	}
	c.Flags().DurationVar(&f.idle, "idle", 20*time.Second, "how long the idle cluster is watched")
	c.Flags().IntVar(&f.many, "many", 1_000_000, "number of keys of the node that is started")
	return c
}

func footprint(ctx context.Context, w io.Writer, f *footprintOptions) error {
	dir, remove, err := f.workDir()
	if err != nil {
		return err
	}
	defer remove()
	var ts []rounds.Target
	for _, part := range []func(context.Context, string) ([]rounds.Target, error){f.size, f.demo, f.start} {
		t, err := part(ctx, dir)
		if err != nil {
			return err
		}
		ts = append(ts, t...)
	}
	return rounds.Print(w, "", nil, ts)
}

func one(what string, got, atMost float64, note string) rounds.Target {
	return rounds.Target{What: what, Got: got, Low: got, High: got, AtMost: atMost, Note: note}
}

// size builds the program twice.
func (f *footprintOptions) size(ctx context.Context, dir string) (ts []rounds.Target, err error) {
	for _, v := range []struct{ name, flags string }{{"linchpin", ""}, {"linchpin-stripped", "-s -w"}} {
		path := filepath.Join(dir, v.name)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", v.flags, "-o", path,
			"github.com/linchpindb/linchpin/cmd/linchpin")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building: %w\n%s", err, out)
		}
		st, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		ts = append(ts, one("size of "+v.name+", MB", float64(st.Size())/1e6, 60, ""))
	}
	return ts, nil
}

// demo runs the demo as it is, and watches it when it has nothing to do.
func (f *footprintOptions) demo(ctx context.Context, dir string) (ts []rounds.Target, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "linchpin"), "demo", "--stay")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		err = errors.Join(err, cmd.Wait())
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "keeps serving") {
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	pid := strconv.Itoa(cmd.Process.Pid)
	peak, err := peakMemory(pid)
	if err != nil {
		return nil, err
	}
	cooling, err := f.watch(ctx, pid)
	if err != nil {
		return nil, err
	}
	for range 2 { // then the keys that the workload made hot are home again, and cold
		_, err = f.watch(ctx, pid)
		if err != nil {
			return nil, err
		}
	}
	idle, err := f.watch(ctx, pid)
	over := fmt.Sprintf("over %v", f.idle)
	return []rounds.Target{
		one("peak memory of the demo, MiB", peak, 300, "VmHWM after the workload"),
		one("idle three-node demo, % of a core", 100*cooling, 2, over+" after the workload; hot keys cool down and go home"),
		one("the same at rest, % of a core", 100*idle, 2, fmt.Sprintf("%s, %v later", over, 3*f.idle)),
	}, err
}

// watch is in which share of a core a process works in a while.
func (f *footprintOptions) watch(ctx context.Context, pid string) (float64, error) {
	before := cpuOf(pid)
	t := time.NewTimer(f.idle)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return float64(cpuOf(pid)-before) / float64(f.idle), nil
}

// peakMemory reads /proc, in MiB.
func peakMemory(pid string) (float64, error) {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	if !ok {
		return 0, errors.New("/proc does not tell of the greatest memory")
	}
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kb / 1024, err
}

// start fills a node, and starts it again after a clean stop and after a kill.
func (f *footprintOptions) start(ctx context.Context, dir string) ([]rounds.Target, error) {
	o := *f.options
	o.keys = f.many
	n, err := startNode(ctx, &o, dir, "many")
	if err != nil {
		return nil, err
	}
	if err := n.close(); err != nil {
		return nil, err
	}
	o.keys = 0
	again := func() (*node, float64, error) {
		begin := time.Now()
		n, err := startNode(ctx, &o, dir, "many")
		return n, time.Since(begin).Seconds(), err
	}
	n, clean, err := again()
	if err != nil {
		return nil, err
	}
	o.keys = f.many / 10
	fill, err := o.filled(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := fill.cmd.Process.Kill(); err != nil {
		return nil, err
	}
	_ = fill.cmd.Wait() // it was killed, and says so
	o.keys = 0
	n, killed, err := again()
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("%d keys of %d bytes, to the first welcome", f.many, valueBytes)
	return []rounds.Target{one("start after a clean stop, s", clean, 3, note),
		one("start after a kill, s", killed, 3, "a tenth of them just written")}, n.close()
}

// filled puts keys on a node that runs.
func (o *options) filled(ctx context.Context, n *node) (*node, error) {
	n.keys = keys(o.keys)
	return n, load(ctx, n.db, n.keys)
}
