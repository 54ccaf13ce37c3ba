package hotshard

import (
	"fmt"
	"testing"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// BenchmarkPlanner is a period of the planner, when 64 shards tell of as many
// keys as they can, for all of which somebody waits, and the hot shard is full.
func BenchmarkPlanner(b *testing.B) {
	p := NewPlanner(PlannerOptions{Hot: 64, Home: func([]byte) kv.ShardID { return 1 }})
	now, digests := int64(0), []*msg.LoadReport{}
	for s := range kv.ShardID(64) {
		d := &msg.LoadReport{Shard: s}
		for i := range DigestKeys {
			d.Keys = append(d.Keys, msg.KeyHeat{Key: fmt.Appendf(nil, "key/%d/%d", s, i), Heat: 1000, Waited: sec, Would: sec})
		}
		digests = append(digests, d)
	}
	for i := range 256 {
		p.Owned(now, fmt.Appendf(nil, "moved/%d", i), now)
	}
	b.ReportAllocs()
	for range b.N {
		now += int64(quarter)
		for _, d := range digests {
			p.TakeDigest(now, d)
		}
		p.Decide(now)
		p.Tell(now)
	}
}
