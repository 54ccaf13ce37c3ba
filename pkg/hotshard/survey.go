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
	// DigestKeys is how many keys a shard tells of, MapKeys how many gateways
	// hear of.
	DigestKeys = 32
	MapKeys    = 128
	// LeastHeat is how much waiting a key must cause to be told of: a hundredth
	// of all time, or ten milliseconds a second. Keys of uniform loads stay far
	// below that.
	LeastHeat = float64(10 * time.Millisecond)
	// maxMapBytes bounds the keys in a map.
	maxMapBytes = 64 << 10
	// digestLasts is for how many periods a digest counts.
	digestLasts = 4
)

// Survey puts together what shards tell of their hot keys. It lives with the
// planner, on the hot shard.
type Survey struct {
	every   int64
	digests map[kv.ShardID]digest
	// told: gateways have been told of some key.
	told bool
}

type digest struct {
	at   int64
	keys []msg.KeyHeat
}

// NewSurvey makes a survey of digests that come once in a period.
func NewSurvey(every time.Duration) *Survey {
	return &Survey{every: int64(every), digests: map[kv.ShardID]digest{}}
}

// Take takes a shard's digest in the place of its last one.
func (s *Survey) Take(now int64, d *msg.LoadReport) {
	if len(d.Keys) == 0 {
		delete(s.digests, d.Shard)
		return
	}
	s.digests[d.Shard] = digest{now, d.Keys}
}

// Active reports whether there is anything to tell: some key is hot, or was.
func (s *Survey) Active() bool { return len(s.digests) > 0 || s.told }

// Map is what to tell the gateways: the hottest keys of all shards, the hottest
// first; nil if there is nothing to tell. When no key is hot any more they hear
// that once.
func (s *Survey) Map(now int64) *msg.HeatMap {
	var all []msg.KeyHeat
	for _, id := range slices.Sorted(maps.Keys(s.digests)) {
		d := s.digests[id]
		if now-d.at > digestLasts*s.every {
			delete(s.digests, id)
			continue
		}
		all = append(all, d.keys...)
	}
	slices.SortStableFunc(all, func(a, b msg.KeyHeat) int {
		return cmp.Or(cmp.Compare(b.Heat, a.Heat), bytes.Compare(a.Key, b.Key))
	})
	// A key that has just been moved is told of from two places.
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
	if len(all) == 0 && !s.told {
		return nil
	}
	for i := range all {
		all[i].Waits = msg.KeyWaits{}
	}
	s.told = len(all) > 0
	return &msg.HeatMap{Keys: all}
}
