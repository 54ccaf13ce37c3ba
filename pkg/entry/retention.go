package entry

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Has reports whether everything that is visible at a CSN is there.
func (r *Retention) Has(csn kv.CSN) bool {
	_, retained := slices.BinarySearch(r.Retained, csn)
	return retained || csn >= r.SafePoint
}
