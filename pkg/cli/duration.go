package cli

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/rpc/detail"
)

// microseconds is a number of microseconds, shown.
func microseconds(us uint64) string { return detail.Duration(time.Duration(us) * time.Microsecond) }

// shownAge shows for how long a state lasts, rounded to a second.
func shownAge(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
