package hotshard

import (
	"fmt"
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// BenchmarkPlanner is one period of the planner: 64 shards send full load reports, transactions wait for
// all keys, and the hot shard is full.
func BenchmarkPlanner(b *testing.B) {
	p := NewPlanner(PlannerOptions{Hot: 64, Home: func([]byte) kv.ShardID { return 1 }})
	now, reports := int64(0), []*msg.LoadReport{}
	for s := range kv.ShardID(64) {
		d := &msg.LoadReport{Shard: s}
		for i := range LoadReportKeys {
			d.Keys = append(d.Keys, msg.KeyHeat{Key: fmt.Appendf(nil, "key/%d/%d", s, i), Heat: 1000, Waited: sec,
				EstimatedWait: sec})
		}
		reports = append(reports, d)
	}
	for i := range 256 {
		p.KeyArrived(now, fmt.Appendf(nil, "moved/%d", i), now)
	}
	b.ReportAllocs()
	for range b.N {
		now += int64(quarter)
		for _, d := range reports {
			p.ApplyLoadReport(now, d)
		}
		p.Decide(now)
		p.HeatMap(now)
	}
}
