package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/hotshard"
)

var hotShard = prometheus.NewDesc("linchpin_hot_shard_info", "The number of the hot shard; always 1.",
	[]string{"shard"}, nil)

var hotMode = prometheus.NewDesc("linchpin_hot_mode",
	"1 for the mode of the hot shard, 0 for the others: auto (contended keys move), pinned (only pinned keys), off.",
	[]string{"mode"}, nil)

var hotBegun = prometheus.NewDesc("linchpin_hot_moves_started_total",
	"Moves started, in (key contended, co-located: written with a contended key, or pinned) or out (key idle, hot "+
		"shard overloaded or full, or ordered).",
	[]string{"direction", "reason"}, nil)

// collectPlanner emits the metrics of the planner of moves.
func collectPlanner(to chan<- prometheus.Metric, h *HotStats) {
	to <- prometheus.MustNewConstMetric(hotShard, prometheus.GaugeValue, 1, itoa(uint16(h.Shard)))
	if !h.Planned {
		return
	}
	for _, mode := range []hotshard.Mode{hotshard.ModeAuto, hotshard.ModePinned, hotshard.ModeOff} {
		is := 0.0
		if mode == h.Mode {
			is = 1
		}
		to <- prometheus.MustNewConstMetric(hotMode, prometheus.GaugeValue, is, mode.String())
	}
	for why := range hotshard.NumMoveCauses {
		direction := "out"
		if why.In() {
			direction = "in"
		}
		to <- prometheus.MustNewConstMetric(hotBegun, prometheus.CounterValue, float64(h.Counters.Begun[why]), direction,
			why.String())
	}
}
