// Command metricsdoc writes docs/metrics.md, the page of the metrics, from what a
// node exposes.
//
//	go run ./tools/metricsdoc           write it
//	go run ./tools/metricsdoc -check    write nothing, and fail if it is stale
//
// It must be run in the module's root.
package main

import (
	"fmt"
	"strings"

	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/tools/generated"
)

const page = "docs/metrics.md"

func main() {
	generated.Main("metricsdoc", func(check bool) error { return run(page, check) })
}

func run(path string, check bool) error {
	all, err := metrics.Catalog()
	if err != nil {
		return err
	}
	return generated.File(path, []byte(write(all)), check)
}

const head = `# Metrics

<!-- Made from the program's metrics by tools/metricsdoc: change those, and run "make generate". -->

What a node tells at ` + "`/metrics`" + ` of its HTTP port, for Prometheus. Times are in seconds and sizes in bytes; what ends in ` + "`_total`" + `
only rises, from the start of the process. [dashboards.md](dashboards.md) tells how to look at them.

A key is named as in a Go string; of one that is longer than 64 bytes that way there are the beginning and a hash. Series of keys
are those of the 20 hottest, and only as long as they are; series of conflicts (` + "`linchpin_contention_...`" + `) are at most 201. All
others are as many as there are shards, peers, methods and kinds of errors. Metrics of the hot shard, of keys and of pins are on one
node: the hot shard's.

Besides, there are those of the Go runtime and of the process: ` + "`go_...` and `process_...`" + `.
`

// groups are the parts of the page, by how names begin.
var groups = []struct{ prefix, title string }{
	{"linchpin_node_", "The node"},
	{"linchpin_transaction", "Transactions"},
	{"linchpin_reads_", "Readers"},
	{"linchpin_scans_", ""},
	{"linchpin_operations_", "Operations"},
	{"linchpin_stage_", "Stages of transactions"},
	{"linchpin_contention_", "Who waits for whom"},
	{"linchpin_gateway_", "The gateway"},
	{"linchpin_shard_", "Shards"},
	{"linchpin_hot_", "The hot shard, and hot keys"},
	{"linchpin_pins", "Snapshots"},
	{"linchpin_oldest_", ""},
	{"linchpin_log_", "The log"},
	{"linchpin_store_", "The store"},
	{"linchpin_peer_", "Peers"},
	{"linchpin_authentications_", "Who comes in"},
	{"linchpin_callers_", ""},
	{"linchpin_certificate_", ""},
	{"linchpin_connections", ""},
	{"linchpin_memory_", ""},
	{"linchpin_users_", ""},
	{"linchpin_", "Others"},
}

// write makes the page.
func write(all []metrics.Metric) string {
	var b strings.Builder
	b.WriteString(head)
	done := map[string]bool{}
	for _, g := range groups {
		var rows strings.Builder
		for _, m := range all {
			if strings.HasPrefix(m.Name, g.prefix) && !done[m.Name] {
				done[m.Name] = true
				fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, strings.Join(m.Labels, ", "), m.Help)
			}
		}
		switch {
		case rows.Len() == 0:
			continue
		case g.title != "":
			fmt.Fprintf(&b, "\n## %s\n\n| metric | type | labels | tells |\n|---|---|---|---|\n", g.title)
		}
		b.WriteString(rows.String())
	}
	return b.String()
}
