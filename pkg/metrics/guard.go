package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// GuardStats tell of who comes in.
type GuardStats struct {
	// Open counts connections, Strangers those of them whose callers are not known
	// yet. Refused counts those that were closed, by why.
	Open, Strangers int
	Refused         map[string]uint64
	// MemoryBudget is how many bytes the process may have, CallersMemory how many of
	// them callers may. MemoryUsed is what they have, by kind, and MemoryRefused how
	// often there was none.
	MemoryBudget, CallersMemory int64
	MemoryUsed                  map[string]int64
	MemoryRefused               map[string]uint64
	// Secure: there is TLS. The rest is known only then.
	Secure bool
	// Calls counts calls by what became of them at the gate.
	Calls map[string]uint64
	// TableAge is how long ago the table of users was read.
	TableAge time.Duration
	// Reloads and ReloadFailures count changed certificates that were taken, and
	// that were not.
	Reloads, ReloadFailures uint64
	Expires                 []CertificateExpiry
}

// CertificateExpiry is when a certificate expires.
type CertificateExpiry struct {
	// Certificate is "own", "ca" or "client-ca".
	Certificate string
	At          time.Time
}

// WatchGuard sets where the numbers of the gate come from. f is called by any
// goroutine.
func (m *Node) WatchGuard(f func() GuardStats) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	m.sources.guard = f
}

var (
	guardConnections = prometheus.NewDesc("linchpin_connections", "Open connections, by whether the caller is known: yes, or not yet.", []string{"known"}, nil)
	guardRefused     = prometheus.NewDesc("linchpin_connections_refused_total",
		"Connections closed at the door or later, by which limit was met: connections, strangers, address, failures, timeout, bytes, user (it is none any more), memory, or share (of a user).",
		[]string{"limit"}, nil)
	guardBudget = prometheus.NewDesc("linchpin_memory_budget_bytes",
		"How much memory there may be (--memory-budget), by part: process, or callers: what clients may have the node hold.", []string{"part"}, nil)
	guardMemory = prometheus.NewDesc("linchpin_callers_memory_bytes",
		"What clients have the node hold, by kind: connections, streams (open calls), requests that are not complete or not answered, and answers that have not been read.",
		[]string{"kind"}, nil)
	guardNoMemory = prometheus.NewDesc("linchpin_callers_memory_refused_total", "How often a client was refused or kept waiting in vain for want of memory, by kind.",
		[]string{"kind"}, nil)
	guardCalls = prometheus.NewDesc("linchpin_authentications_total",
		"Calls at the gate, by what became of them: ok, unauthenticated, denied, or unavailable because the users are not known.", []string{"result"}, nil)
	guardTableAge = prometheus.NewDesc("linchpin_users_age_seconds", "How long ago the table of users was read.", nil, nil)
	guardReloads  = prometheus.NewDesc("linchpin_certificate_reloads_total", "Changed certificates, by what became of them: taken or refused.", []string{"result"}, nil)
	guardExpires  = prometheus.NewDesc("linchpin_certificate_expires_seconds",
		"When a certificate expires, in seconds since 1970; of several authorities, the first one.", []string{"certificate"}, nil)
)

// guardDescs are all of them.
var guardDescs = []*prometheus.Desc{guardConnections, guardRefused, guardBudget, guardMemory, guardNoMemory, guardCalls, guardTableAge, guardReloads, guardExpires}

// collectGuard shows what is known of the gate.
func collectGuard(to chan<- prometheus.Metric, s *GuardStats) {
	counts := func(d *prometheus.Desc, by map[string]uint64) {
		for _, label := range slices.Sorted(maps.Keys(by)) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(by[label]), label)
		}
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(guardConnections, float64(s.Open-s.Strangers), "yes")
	gauge(guardConnections, float64(s.Strangers), "no")
	counts(guardRefused, s.Refused)
	gauge(guardBudget, float64(s.MemoryBudget), "process")
	gauge(guardBudget, float64(s.CallersMemory), "callers")
	for _, kind := range slices.Sorted(maps.Keys(s.MemoryUsed)) {
		gauge(guardMemory, float64(s.MemoryUsed[kind]), kind)
	}
	counts(guardNoMemory, s.MemoryRefused)
	if !s.Secure {
		return
	}
	counts(guardCalls, s.Calls)
	counts(guardReloads, map[string]uint64{"taken": s.Reloads, "refused": s.ReloadFailures})
	gauge(guardTableAge, s.TableAge.Seconds())
	for _, e := range s.Expires {
		gauge(guardExpires, float64(e.At.Unix()), e.Certificate)
	}
}
