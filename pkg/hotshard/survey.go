package hotshard

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

const (
	// LoadReportKeys bounds the keys of a load report, MapKeys those of a heat map.
	LoadReportKeys = 32
	MapKeys        = 128
	// LeastHeat is the waiting from which on a key is reported: 10 ms per second. Keys of uniform loads stay
	// far below it.
	LeastHeat = float64(10 * time.Millisecond)
	// maxMapBytes bounds the total length of the keys in a heat map.
	maxMapBytes = 64 << 10
	// reportPeriods is the number of periods for which a load report counts.
	reportPeriods = 4
)

// Survey merges the load reports of the shards. It is part of the planner on the hot shard.
type Survey struct {
	every   int64
	reports map[kv.ShardID]loadReport
	// published: the last heat map contained keys.
	published bool
}

type loadReport struct {
	at   int64
	keys []msg.KeyHeat
}

// NewSurvey returns a survey of reports that arrive once per period.
func NewSurvey(every time.Duration) *Survey {
	return &Survey{every: int64(every), reports: map[kv.ShardID]loadReport{}}
}

// Apply replaces the load report of a shard.
func (s *Survey) Apply(now int64, d *msg.LoadReport) {
	if len(d.Keys) == 0 {
		delete(s.reports, d.Shard)
		return
	}
	s.reports[d.Shard] = loadReport{now, d.Keys}
}

// Active reports whether there is anything to publish: some key is hot, or the last map had keys.
func (s *Survey) Active() bool { return len(s.reports) > 0 || s.published }

// Map returns the heat map: the hottest keys of all shards, hottest first; nil if there is nothing to
// publish. When the last key has cooled down, one empty map is published.
func (s *Survey) Map(now int64) *msg.HeatMap {
	var all []msg.KeyHeat
	for _, id := range slices.Sorted(maps.Keys(s.reports)) {
		d := s.reports[id]
		if now-d.at > reportPeriods*s.every {
			delete(s.reports, id)
			continue
		}
		all = append(all, d.keys...)
	}
	slices.SortStableFunc(all, func(a, b msg.KeyHeat) int {
		return cmp.Or(cmp.Compare(b.Heat, a.Heat), bytes.Compare(a.Key, b.Key))
	})
	// A key that was just moved is in the reports of two shards.
	seen := make(map[string]bool, len(all))
	all = slices.DeleteFunc(all, func(k msg.KeyHeat) bool {
		again := seen[string(k.Key)]
		seen[string(k.Key)] = true
		return again
	})
	size := 0
	for i := range all {
		size += len(all[i].Key)
		if i == MapKeys || size > maxMapBytes {
			all = all[:i]
			break
		}
	}
	if len(all) == 0 && !s.published {
		return nil
	}
	for i := range all {
		all[i].Waits = msg.KeyWaits{}
	}
	s.published = len(all) > 0
	return &msg.HeatMap{Keys: all}
}
