package workload

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// The reasons of retries that this package and its stores name themselves.
const (
	// NotReported: the gateway retried, and its response has no reason.
	NotReported = "not reported"
	// OtherReasons sums up the reasons beyond the first maxReasons.
	OtherReasons = "other"
	// AtCommit: the commit of an interactive transaction was rejected.
	AtCommit = "aborted at commit"
	// AtOperation: an operation of an interactive transaction was rejected.
	AtOperation = "aborted at an operation"
)

// legend explains the reasons of retries.
var legend = map[string]string{
	"wounded":           "an older transaction needed a lock it held",
	"stale-grant":       "it had lost a lock",
	"stale-read":        "a key it had read was changed",
	"incarnation":       "a shard had restarted, or had another leader",
	"tombstone":         "its outcome was queried before its commit",
	"refused":           "a shard did not know the transaction",
	"fenced":            "a query of its outcome had aborted it",
	"cancelled":         "its gateway had cancelled it",
	"too-old":           "its id was below the low watermark",
	"exhausted":         "a queue was full",
	"lapsed":            "the registration of a read had expired",
	"late":              "a shard was late for the snapshot of a read",
	"moved":             "a key had moved to another shard",
	"closed":            "readers had held an update for too long",
	"committed":         "another attempt had committed",
	"concurrent-commit": "another commit of it was in flight",
	NotReported:         "the response has no reason",
	OtherReasons:        "all further reasons",
	AtCommit:            "the commit was rejected",
	AtOperation:         "an operation was rejected",
}

// writeReasons writes how often attempts were made again for which reason.
func writeReasons(b *bytes.Buffer, title string, counts map[string]uint64) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		line := fmt.Sprintf("  %-23s %8d", name, counts[name])
		if text := legend[name]; text != "" {
			line += "  " + text
		}
		fmt.Fprintln(b, line)
	}
}
