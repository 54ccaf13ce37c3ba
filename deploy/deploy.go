// Package deploy is the files of this directory that the program brings along, so that
// who has the program alone has them too: "linchpin cluster init" writes them.
//
//	prometheus/prometheus-tls.yml   a configuration for a cluster with TLS
//	prometheus/rules/*.yml          recording rules and alerts
//
// They are used as they are from here, too; docs/dashboards.md tells how.
package deploy

import "embed"

// PrometheusTLS is the path of the configuration for a cluster with TLS, and
// PrometheusRules the pattern of the rules' paths.
const (
	PrometheusTLS   = "prometheus/prometheus-tls.yml"
	PrometheusRules = "prometheus/rules/*.yml"
)

// Files has both.
//
//go:embed prometheus/prometheus-tls.yml prometheus/rules/*.yml
var Files embed.FS
