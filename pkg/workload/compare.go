package workload

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// NamedResult is a result with the name under which a table shows it.
type NamedResult struct {
	Name string
	*Result
}

// WriteComparison writes a table of several results: first what was run, then
// for each kind that occurs in any of them a row per result, in the order
// given, with the throughput as a multiple of the first one's.
func WriteComparison(w io.Writer, results []NamedResult) error {
	var b bytes.Buffer
	width := len("report")
	for _, r := range results {
		width = max(width, len(r.Name))
	}
	for _, r := range results {
		fmt.Fprintf(&b, "%-*s  %s; %s; %s%s\n", width, r.Name, r.Workload, r.Workload.mix(), r.Workload.load(), r.remark())
	}
	for _, name := range append(kindsOf(results), "updates") {
		used := false
		for _, r := range results {
			used = used || r.kind(name).any()
		}
		if used {
			compareKind(&b, width, name, results)
		}
	}
	compareKind(&b, width, "all", results)
	compareScans(&b, width, results)
	_, err := w.Write(b.Bytes())
	return err
}

// kindsOf lists the kinds that any of the results names; an older report has
// fewer than a newer one.
func kindsOf(results []NamedResult) (names []string) {
	for _, r := range results {
		for _, k := range r.Kinds {
			if !slices.Contains(names, k.Kind) {
				names = append(names, k.Kind)
			}
		}
	}
	return names
}

func compareKind(b *bytes.Buffer, width int, name string, results []NamedResult) {
	fmt.Fprintf(b, "\n%s\n%-*s %11s %9s %10s %10s %10s %10s %12s %8s %8s\n", name, width, "report", "tx/s", "ratio",
		"p50 ms", "p99 ms", "p99.9 ms", "max ms", "retries/tx", "failed", "unknown")
	base := results[0].kind(name).ThroughputPer
	for _, r := range results {
		k := r.kind(name)
		times := "-"
		if base > 0 {
			times = fmt.Sprintf("%.3f", k.ThroughputPer/base)
		}
		l := k.Latency
		fmt.Fprintf(b, "%-*s %11.1f %9s %10.3f %10.3f %10.3f %10.3f %12.3f %8d %8d\n", width, r.Name, k.ThroughputPer, times,
			l.P50, l.P99, l.P999, l.Max, ratio(k.Retries, k.Committed), k.Failed, k.Unknown)
	}
}

// compareScans writes the table of scans, if there were any.
func compareScans(b *bytes.Buffer, width int, results []NamedResult) {
	if !slices.ContainsFunc(results, func(r NamedResult) bool { return r.Scans.Complete+r.Scans.CutShort+r.Scans.Failed > 0 }) {
		return
	}
	fmt.Fprintf(b, "\nscans\n%-*s %11s %10s %10s %10s %9s %10s %8s\n", width, "report", "pairs/s", "p50 ms", "p99 ms", "max ms",
		"complete", "cut short", "failed")
	for _, r := range results {
		s := r.Scans
		fmt.Fprintf(b, "%-*s %11.1f %10.3f %10.3f %10.3f %9d %10d %8d\n", width, r.Name, s.PairsPer, s.Latency.P50, s.Latency.P99,
			s.Latency.Max, s.Complete, s.CutShort, s.Failed)
	}
}

// kind gives the part of r about a kind, "updates" or "all"; empty if r has
// none.
func (r *Result) kind(name string) KindResult {
	switch name {
	case "all":
		return r.All
	case "updates":
		return r.Updates
	}
	for _, k := range r.Kinds {
		if k.Kind == name {
			return k
		}
	}
	return KindResult{Kind: name}
}

func (k KindResult) any() bool { return k.Committed+k.Failed+k.Unknown > 0 }
