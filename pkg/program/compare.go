package program

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/workload"
)

// warming is how long the load runs before the second measurement, so that keys
// have been moved by then.
const warming = 3 * time.Second

// compares: the load runs with the hot shard off, too.
func (d *demo) compares() bool { return d.cluster.Hot == hotshard.ModeAuto }

// compare shows what the hot shard was good for. off is nil if the load has not
// run without it.
func (d *demo) compare(off, on *workload.Result, hot *msg.HotReply) error {
	if off != nil {
		fmt.Fprintln(d.out, "\nThe same load with the hot shard off, and on:")
		w := tabwriter.NewWriter(d.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "  HOT SHARD\tTRANSACTIONS/S\tUPDATES/S\tUPDATES P50\tUPDATES P99\tRETRIES")
		for _, r := range []struct {
			name string
			of   *workload.Result
		}{{"off", off}, {d.cluster.Hot.String(), on}} {
			fmt.Fprintf(w, "  %s\t%.0f\t%.0f\t%.1f ms\t%.1f ms\t%d\n", r.name, r.of.All.ThroughputPer, r.of.Updates.ThroughputPer,
				r.of.Updates.Latency.P50, r.of.Updates.Latency.P99, r.of.All.Retries)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	var moved []*msg.HotState
	for i := range hot.Keys {
		if hot.Keys[i].Since != 0 {
			moved = append(moved, &hot.Keys[i])
		}
	}
	fmt.Fprintf(d.out, "\n%d keys were on the hot shard at the end, which was busy %.0f%% of the time.\n", len(moved), 100*hot.Busy)
	if len(moved) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(d.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "  KEY\tCLASHES/S\tWAIT/S\tWHY")
	for _, k := range moved[:min(len(moved), 10)] {
		fmt.Fprintf(w, "  %q\t%.0f\t%v\t%s\n", k.Key, k.Heat, time.Duration(k.Waited).Round(time.Millisecond), k.Why)
	}
	return w.Flush()
}
