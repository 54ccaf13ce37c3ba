package metrics

import "github.com/prometheus/client_golang/prometheus"

var hotShard = prometheus.NewDesc("linchpin_hot_shard_info", "Which shard is the hot one; always 1. Shown on its node.", []string{"shard"}, nil)

var hotMode = prometheus.NewDesc("linchpin_hot_mode",
	"1 for the mode that says which keys are moved to the hot shard (auto: those for which transactions wait; pinned: only those of the operator's rules; off: none), 0 for the others. Shown on its node.",
	[]string{"mode"}, nil)

var hotBegun = prometheus.NewDesc("linchpin_hot_moves_begun_total",
	"Moves that were begun, to the hot shard (in) and home (out), by reason: waiting (transactions wait for the key), together (it is written with such a key), pinned, "+
		"quiet (nobody waits any more), busy (the hot shard has too much to do), room (it has too many keys), or ordered (by the operator). Shown on its node.",
	[]string{"direction", "reason"}, nil)

// collectPlanner tells of what has keys moved.
func collectPlanner(to chan<- prometheus.Metric, h *HotStats) {
	to <- prometheus.MustNewConstMetric(hotShard, prometheus.GaugeValue, 1, itoa(uint16(h.Shard)))
	for _, mode := range h.Modes {
		is := 0.0
		if mode == h.Mode {
			is = 1
		}
		to <- prometheus.MustNewConstMetric(hotMode, prometheus.GaugeValue, is, mode)
	}
	for _, m := range h.Begun {
		direction := "out"
		if m.In {
			direction = "in"
		}
		to <- prometheus.MustNewConstMetric(hotBegun, prometheus.CounterValue, float64(m.Count), direction, m.Reason)
	}
}
