// Package deploy embeds files of this directory into the program, for "linchpin cluster
// init", which writes them:
//
//	prometheus/prometheus-tls.yml   a configuration for a cluster with TLS
//	prometheus/rules/*.yml          recording rules and alerts
package deploy

import "embed"

// PrometheusTLS is the path of the configuration for a cluster with TLS, PrometheusRules the
// pattern of the paths of the rules.
const (
	PrometheusTLS   = "prometheus/prometheus-tls.yml"
	PrometheusRules = "prometheus/rules/*.yml"
)

// Files contains these files.
//
//go:embed prometheus/prometheus-tls.yml prometheus/rules/*.yml
var Files embed.FS
