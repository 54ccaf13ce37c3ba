// Package dashboards checks deploy/grafana and deploy/prometheus against the program, so that
// a renamed metric or label is found in every dashboard and alert.
//
// Without Prometheus, every query of a panel and every rule is parsed, and each name in it
// must exist: metrics of metrics.Catalog or of the Go runtime, their labels, series that
// rules record. The labels of the result are derived (Types), so that a legend or an
// "on (...)" that names a label which an inner "sum by (...)" has dropped is an error, too.
//
//	boards, err := dashboards.LoadBoards("../../deploy/grafana")
//	rules, err := dashboards.LoadRules("../../deploy/prometheus/rules")
//	known, err := dashboards.NewTypes(rules)
//	labels, err := known.Of("sum by (key) (linchpin_hot_key_waiting)")
//
// With Prometheus of Debian, promtool checks the configuration and the rules and runs the
// tests of the alerts, and TestEveryQueryAnswersOnALiveCluster runs every query on a
// Prometheus that scrapes three nodes under load.
package dashboards
