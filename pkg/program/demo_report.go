package program

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// shownKeys is how many keys the report lists.
const shownKeys = 8

// inside reports what the nodes counted: in the last run, and for keys in all runs.
func (d *demo) inside(ctx context.Context, c *embed.Cluster, runs []*measurement) error {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	r := runs[len(runs)-1]
	fmt.Fprintf(d.out, "\nInside the last run (hot shard %v):\n", r.mode)
	fmt.Fprintf(d.out, "  lock waits     %d, %s each; %d transactions wounded\n",
		r.lockWaits, each(r.lockWait, r.lockWaits), r.wounds)
	fmt.Fprintf(d.out, "  reads          %d waited for an update, %s each\n", r.readWaits, each(r.readWait, r.readWaits))
	fmt.Fprintf(d.out, "  updates        %d waited for a read, %s each\n", r.holds, each(r.holdTime, r.holds))
	fmt.Fprintf(d.out, "  fsyncs         %d, %.1f commits each\n",
		r.syncs, float64(r.result.All.Committed)/float64(max(r.syncs, 1)))
	fmt.Fprintf(d.out, "  memory         %d MiB, nodes and clients together\n", mem.Sys>>20)
	var committed, retries uint64
	for _, r := range runs {
		reads := r.result.Kinds[workload.ReadOnly]
		committed += reads.Committed
		retries += reads.Retries
	}
	fmt.Fprintf(d.out, "\nRead-only transactions in all runs: %d committed, %d attempts aborted\n", committed, retries)
	if err := d.past(ctx, c); err != nil {
		return err
	}
	return d.waits(runs)
}

// each is an average time.
func each(sum time.Duration, n uint64) string {
	return fmt.Sprintf("%.1f ms", float64(sum)/float64(max(n, 1))/float64(time.Millisecond))
}

// past reads the hottest register as it is and as it was.
func (d *demo) past(ctx context.Context, c *embed.Cluster) error {
	key := workload.RegisterKey(prefix, 0)
	read := func(how txn.TxnOptions) gateway.Response {
		return c.Node(2).Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{{Kind: msg.OpGet, Key: key}}, How: how})
	}
	ago := min(d.run.Duration/2, 2*time.Second)
	now, then := read(txn.TxnOptions{}), read(txn.TxnOptions{At: txn.SnapshotRef{AsOf: time.Now().Add(-ago).UnixNano()}})
	if now.Err != nil {
		return now.Err
	}
	if kv.KindOf(asError(then.Err)) == kv.KindTooOld {
		return nil // the run was shorter than a step of the history
	} else if then.Err != nil {
		return then.Err
	}
	fmt.Fprintf(d.out, "Read of the past: %s is at version %v;\n  %v ago it was at version %v\n",
		kv.Format(key), now.Results[0].Version, ago, then.Results[0].Version)
	return nil
}

func asError(e *kv.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// waits lists the keys that transactions waited for most in the first run's mode, with
// the time in each mode.
func (d *demo) waits(runs []*measurement) error {
	modes := modesOf(runs)
	perSecond := map[hotshard.Mode]map[string]float64{}
	for _, mode := range modes {
		perSecond[mode] = waitPerSecond(runs, mode)
	}
	first := perSecond[modes[0]]
	keys := slices.SortedFunc(maps.Keys(first), func(a, b string) int {
		return cmp.Or(cmp.Compare(first[b], first[a]), cmp.Compare(a, b))
	})
	fmt.Fprintf(d.out, "\nKeys with the longest waits (ms that transactions waited, together, per second):\n")
	w := tabwriter.NewWriter(d.out, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "  KEY")
	for _, mode := range modes {
		fmt.Fprintf(w, "\tHOT SHARD %s", strings.ToUpper(mode.String()))
	}
	fmt.Fprintln(w)
	for _, key := range keys[:min(len(keys), shownKeys)] {
		fmt.Fprintf(w, "  %s", kv.Format([]byte(key)))
		for _, mode := range modes {
			fmt.Fprintf(w, "\t%.0f", perSecond[mode][key])
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// modesOf lists the modes of runs, each once.
func modesOf(runs []*measurement) (modes []hotshard.Mode) {
	for _, r := range runs {
		if !slices.Contains(modes, r.mode) {
			modes = append(modes, r.mode)
		}
	}
	return modes
}

// waitPerSecond is how long transactions waited for each key in a second of a mode, in ms.
func waitPerSecond(runs []*measurement, mode hotshard.Mode) map[string]float64 {
	sum, seconds := map[string]float64{}, 0.0
	for _, r := range runs {
		if r.mode != mode {
			continue
		}
		seconds += r.result.ElapsedS
		for key, waited := range r.keys {
			sum[key] += float64(waited) / float64(time.Millisecond)
		}
	}
	for key := range sum {
		sum[key] /= max(seconds, 1e-3)
	}
	return sum
}

// summary writes the table of medians.
func (d *demo) summary(runs []*measurement) error {
	modes := modesOf(runs)
	title := "One run"
	if len(runs) > len(modes) {
		title = fmt.Sprintf("The same workload with the hot shard off and on, medians of %d runs each", len(runs)/len(modes))
	}
	fmt.Fprintf(d.out, "\n%s:\n", title)
	w := tabwriter.NewWriter(d.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "  HOT SHARD\tTRANSACTIONS/S\tUPDATES/S\tUPDATE P50\tUPDATE P99\tRETRIES")
	for _, mode := range modes {
		of := func(value func(*workload.Result) float64) float64 { return medianOf(runs, mode, value) }
		fmt.Fprintf(w, "  %v\t%.0f\t%.0f\t%.1f ms\t%.1f ms\t%.0f\n", mode,
			of(func(r *workload.Result) float64 { return r.All.ThroughputPer }),
			of(func(r *workload.Result) float64 { return r.Updates.ThroughputPer }),
			of(func(r *workload.Result) float64 { return r.Updates.Latency.P50 }),
			of(func(r *workload.Result) float64 { return r.Updates.Latency.P99 }),
			of(func(r *workload.Result) float64 { return float64(r.All.Retries) }))
	}
	return w.Flush()
}

// medianOf is the median of a value over the runs of a mode; of two, their mean.
func medianOf(runs []*measurement, mode hotshard.Mode, value func(*workload.Result) float64) float64 {
	var all []float64
	for _, r := range runs {
		if r.mode == mode {
			all = append(all, value(r.result))
		}
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
