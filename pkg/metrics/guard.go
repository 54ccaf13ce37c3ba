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
		"Connections closed before their caller was known, by which limit was met: connections, strangers, address, failures or timeout.", []string{"limit"}, nil)
	guardCalls = prometheus.NewDesc("linchpin_authentications_total",
		"Calls at the gate, by what became of them: ok, unauthenticated, denied, or unavailable because the users are not known.", []string{"result"}, nil)
	guardTableAge = prometheus.NewDesc("linchpin_users_age_seconds", "How long ago the table of users was read.", nil, nil)
	guardReloads  = prometheus.NewDesc("linchpin_certificate_reloads_total", "Changed certificates, by what became of them: taken or refused.", []string{"result"}, nil)
	guardExpires  = prometheus.NewDesc("linchpin_certificate_expires_seconds",
		"When a certificate expires, in seconds since 1970; of several authorities, the first one.", []string{"certificate"}, nil)
)

// guardDescs are all of them.
var guardDescs = []*prometheus.Desc{guardConnections, guardRefused, guardCalls, guardTableAge, guardReloads, guardExpires}

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
