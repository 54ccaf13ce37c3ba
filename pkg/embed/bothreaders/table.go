package bothreaders

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Write writes the rows as a table: of each mix a line for either kind of
// readers.
func Write(w io.Writer, rows []Row) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "MIX\tREADERS\tPER SECOND\tRATIO\tREADERS' ABORTS\tUPDATES HELD\tREADERS P50, P99\tUPDATES P50, P99\tFAILED\n")
	for _, r := range rows {
		line := func(mix, readers string, s Side, ratio string) {
			fmt.Fprintf(tw, "%s\t%s\t%.0f\t%s\t%d\t%.1f %%\t%.2f, %.2f ms\t%.2f, %.2f ms\t%d\n", mix, readers, s.PerSecond, ratio, s.ReadAborts,
				s.HeldPercent, s.ReadP50, s.ReadP99, s.UpdateP50, s.UpdateP99, s.Failed)
		}
		line(r.Mix, "snapshot", r.Snapshot, fmt.Sprintf("%.2f (%.2f to %.2f)", r.Ratio, r.Low, r.High))
		line("", "locking", r.Locking, "")
	}
	return tw.Flush()
}
