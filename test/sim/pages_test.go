package sim

import (
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// inPages has clients read and write sorted sets of many small pages, few of them in memory, while shards restart.
func inPages(o *Options) {
	o.Objects, o.Types, o.Names, o.Padding = 1, []string{"sorted-set"}, 80, 30
	o.Methods = []string{"add", "add", "remove", "increment", "score", "rank", "range-by-rank", "range-by-rev-rank",
		"range-by-score"}
	o.Paging, o.CacheBytes, o.DiskRead = mvcc.Paging{Threshold: 150, MinPageBytes: 60, ChainPages: 3}, 1,
		2*time.Millisecond
	o.Registers, o.Counters, o.Mix.Ops, o.Mix.MaxOps = 1, 1, OpMix{Get: 1}, 4
	o.Mix.OneShot, o.Mix.OneShotRead, o.Mix.Interactive, o.Mix.InteractiveRead, o.Mix.Scan = 10, 8, 3, 3, 0
	o.Clients, o.Txns, o.Mix.Think, o.Slots = 6, 20, 0, 0
	o.Crashes, o.Down, o.Every, o.LogPerShard, o.Faults = 5, 0, 20*time.Millisecond, true, FaultMix{Log: 1}
}

// TestPages runs schedules that are rare in random runs: a piece, or an update prepared before a restart, needs pages
// that no earlier request has loaded.
func TestPages(t *testing.T) {
	sumOf(t, 12, func(seed int64) Options {
		o := Draw(seed + 1)
		inPages(&o)
		return o
	}, func(*sim) {})
}
