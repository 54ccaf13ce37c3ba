package readers

import (
	"bytes"
	"fmt"
	"io"
)

// Write writes the rows as a table of at most 80 columns: for each mix a line with the ratio of
// the throughputs, and one for each way to read.
func Write(w io.Writer, rows []Row) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%-9s %8s %9s %8s %11s %8s %7s %6s %6s\n", "READS", "TX/S", "READ P50", "P99 MS", "UPDATE P50",
		"P99 MS",
		"ABORTS", "HELD", "FAILED")
	for _, r := range rows {
		line := func(reads string, s Side) {
			fmt.Fprintf(&b, "%-9s %8.0f %9.2f %8.2f %11.2f %8.2f %7d %5.1f%% %6d\n", reads, s.PerSecond, s.ReadP50, s.ReadP99,
				s.UpdateP50, s.UpdateP99, s.ReadAborts, s.HeldPercent, s.Failed)
		}
		fmt.Fprintf(&b, "\n%s: snapshot/locking %.2f (%.2f to %.2f)\n", r.Mix, r.Ratio, r.Low, r.High)
		line("snapshot", r.Snapshot)
		line("locking", r.Locking)
	}
	fmt.Fprintf(&b, "\nABORTS: aborted attempts of read-only transactions\n"+
		"HELD: share of the latency of updates for which they waited for reads\n")
	_, err := w.Write(b.Bytes())
	return err
}
