package outcome

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/entry"
)

// TestEachCommittedTimeIsInASpan adds random times, with restarts in between. The spans remain bounded, disjoint and
// in order.
func TestEachCommittedTimeIsInASpan(t *testing.T) {
	const day = int64(24 * time.Hour)
	rapid.Check(t, func(t *rapid.T) {
		c := idTimesOf(&entry.State{}, 0, 0)
		c.reserve()
		var all []int64
		var row entry.State
		c.fill(&row)
		low := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				if rapid.Bool().Draw(t, "clean") {
					c.trimReserve()
					c.fill(&row)
				}
				c = idTimesOf(&row, 0, 0)
				c.reserve()
				c.fill(&row) // each incarnation writes the row before anything else
			case 1:
				low += int64(rapid.IntRange(0, 100).Draw(t, "minutes")) * int64(time.Minute)
				c.drop(low)
				c.fill(&row)
			default:
				id := rapid.SampledFrom([]int64{0, int64(time.Hour), day, math.MaxInt64}).Draw(t, "about")
				id = max(id, low) - int64(rapid.IntRange(0, 300).Draw(t, "seconds"))*int64(time.Second)
				if c.add(id) {
					c.fill(&row)
				}
				all = append(all, id)
			}
			require.LessOrEqual(t, len(c), maxSpans)
			for i := 1; i < len(c); i++ {
				require.Less(t, c[i-1].to, c[i].from)
				require.LessOrEqual(t, c[i].from, c[i].last)
				require.LessOrEqual(t, c[i].last, c[i].to)
			}
			next := idTimesOf(&row, 0, 0)
			for _, id := range all {
				in := false
				for _, s := range next {
					in = in || s.from <= id && id <= s.to
				}
				require.True(t, in, "%v is not in %v", id, row)
			}
		}
	})
}
