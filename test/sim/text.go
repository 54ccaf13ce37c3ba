package sim

import (
	"fmt"
	"regexp"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// name returns a transaction's short name in traces.
func name(r kv.TxnRef) string { return fmt.Sprintf("t%d/%d", r.Rand, r.Attempt) }

var ids = regexp.MustCompile(`[0-9a-f]{16}([0-9a-f]{16})/([0-9]+)`)

// shortNames replaces ids in a text by the transactions' short names.
func shortNames(s string) string {
	return ids.ReplaceAllStringFunc(s, func(s string) string {
		var n, a uint64
		fmt.Sscanf(s[16:32], "%x", &n)
		fmt.Sscanf(s[33:], "%d", &a)
		return fmt.Sprintf("t%d/%d", n, a)
	})
}
