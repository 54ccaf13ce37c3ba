// Package dashboards holds deploy/grafana and deploy/prometheus against the
// program: whoever renames a metric, or a label, and forgets a dashboard or an
// alert, hears of it here.
//
// Without a Prometheus, every query of a panel and every rule is parsed, and what
// it names must exist: metrics in metrics.Catalog or the Go runtime's, labels of
// these, series that rules record. Of each expression the labels of its result
// are derived (Types), so that a legend or an "on (...)" that names a label which
// an inner "sum by (...)" has dropped is a mistake, too.
//
//	boards, err := dashboards.LoadBoards("../../deploy/grafana")
//	rules, err := dashboards.LoadRules("../../deploy/prometheus/rules")
//	known, err := dashboards.NewTypes(rules)
//	labels, err := known.Of("sum by (key) (linchpin_hot_key_waiting)")
//
// With Debian's Prometheus, promtool checks configuration and rules and plays the
// alerts' tests, and TestEveryQueryAnswersOnALiveCluster has Prometheus scrape
// three nodes under load, and asks it every query.
package dashboards
