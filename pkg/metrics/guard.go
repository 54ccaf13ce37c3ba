package metrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/guard"
)

// GuardStats are the counters of connections, authentication and client memory.
type GuardStats struct {
	guard.Stats
	// MemoryBudget is the memory budget of the process in bytes.
	MemoryBudget int64
	// Certificates is nil without TLS. Then there is no authentication either.
	Certificates *certs.Stats
}

// WatchGuard sets the source of the GuardStats. f is called by any goroutine.
func (m *Node) WatchGuard(f func() GuardStats) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.guard = f
}

func guardDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("linchpin_"+name, help, labels, nil)
}

var (
	guardConnections = guardDesc("connections", "Open connections, by whether the caller is authenticated.",
		"authenticated")
	guardRefused = guardDesc("connections_rejected_total",
		"Connections closed, by limit: connections, unauthenticated, address, failures (of authentication), timeout, "+
			"bytes, user (deleted), memory, or share (of a user's memory).", "limit")
	guardBudget = guardDesc("memory_budget_bytes",
		"Memory budget (--memory-budget) of the process, and the part of it for clients.", "part")
	guardMemory = guardDesc("client_memory_bytes",
		"Memory held for connections, streams, requests and responses of clients.", "kind")
	guardNoMemory = guardDesc("client_memory_rejections_total",
		"Requests and connections rejected because the memory for clients was used up, by kind.", "kind")
	guardCalls = guardDesc("authentications_total",
		"Calls, by result: ok, unauthenticated, denied, or unavailable (the user table is).", "result")
	guardTableAge = guardDesc("user_table_age_seconds", "Time since the user table was read.")
	guardReloads  = guardDesc("certificate_reloads_total", "Changed certificates, loaded or rejected.", "result")
	guardExpires  = guardDesc("certificate_expiry_timestamp_seconds",
		"Unix time at which the certificate expires; of several authorities, the earliest.", "certificate")
)

var guardDescs = []*prometheus.Desc{guardConnections, guardRefused, guardBudget, guardMemory, guardNoMemory, guardCalls,
	guardTableAge, guardReloads, guardExpires}

// collectGuard emits the GuardStats.
func collectGuard(to chan<- prometheus.Metric, s *GuardStats) {
	counts := func(d *prometheus.Desc, by map[string]uint64) {
		for _, label := range slices.Sorted(maps.Keys(by)) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(by[label]), label)
		}
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(guardConnections, float64(s.Open-s.Strangers), "true")
	gauge(guardConnections, float64(s.Strangers), "false")
	counts(guardRefused, s.Refused)
	gauge(guardBudget, float64(s.MemoryBudget), "process")
	gauge(guardBudget, float64(s.Memory.Total), "clients")
	for _, kind := range slices.Sorted(maps.Keys(s.Memory.Used)) {
		gauge(guardMemory, float64(s.Memory.Used[kind]), kind)
	}
	counts(guardNoMemory, s.Memory.Refused)
	if s.Certificates == nil {
		return
	}
	counts(guardCalls, s.Calls)
	counts(guardReloads, map[string]uint64{"loaded": s.Certificates.Reloads,
		"rejected": s.Certificates.Failures})
	gauge(guardTableAge, s.Age.Seconds())
	for _, e := range s.Certificates.Expires {
		gauge(guardExpires, float64(e.At.Unix()), e.Which)
	}
}
