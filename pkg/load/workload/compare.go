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
		text := fmt.Sprintf("%s; %s; %s%s", r.Workload, r.Workload.mix(), r.Workload.load(), r.remark())
		fmt.Fprintf(&b, "%s\n  %s\n", r.Name, wrap(text, 2))
	}
	for _, name := range compared(results) {
		compareKind(&b, width, name, results)
	}
	compareScans(&b, width, results)
	_, err := w.Write(b.Bytes())
	return err
}

// compared lists the kinds and sums that any of the results shows by itself, and the sum of all
// if there are several kinds.
func compared(results []NamedResult) (names []string) {
	for _, name := range append(kindsOf(results), "updates", "all") {
		if name == "all" && len(names) > 1 {
			return append(names, name)
		}
		if slices.ContainsFunc(results, func(r NamedResult) bool {
			return slices.ContainsFunc(r.rows(), func(k KindResult) bool { return k.Kind == name })
		}) {
			names = append(names, name)
		}
	}
	return names
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
	fmt.Fprintf(b, "\n%s\n%-*s %9s %7s %8s %8s %8s %11s", name, width, "report", "tx/s", "ratio",
		"p50 ms", "p99 ms", "max ms", "retries/tx")
	bad := slices.ContainsFunc(results, func(r NamedResult) bool { return r.kind(name).Failed+r.kind(name).Unknown > 0 })
	if bad {
		fmt.Fprintf(b, " %7s %7s", "failed", "unknown")
	}
	b.WriteString("\n")
	base := results[0].kind(name).ThroughputPer
	for _, r := range results {
		k := r.kind(name)
		times := "-"
		if base > 0 {
			times = fmt.Sprintf("%.3f", k.ThroughputPer/base)
		}
		l := k.Latency
		fmt.Fprintf(b, "%-*s %9.1f %7s %8s %8s %8s %11.3f", width, r.Name, k.ThroughputPer, times,
			digits(l.P50), digits(l.P99), digits(l.Max), ratio(k.Retries, k.Committed))
		if bad {
			fmt.Fprintf(b, " %7d %7d", k.Failed, k.Unknown)
		}
		b.WriteString("\n")
	}
}

// compareScans writes the table of scans, if there were any.
func compareScans(b *bytes.Buffer, width int, results []NamedResult) {
	if !slices.ContainsFunc(results, func(r NamedResult) bool { return r.Scans.any() }) {
		return
	}
	fmt.Fprintf(b, "\nscans\n%-*s %9s %8s %8s %8s %9s %9s %7s\n", width, "report", "pairs/s", "p50 ms", "p99 ms", "max ms",
		"complete", "cut short", "failed")
	for _, r := range results {
		s := r.Scans
		fmt.Fprintf(b, "%-*s %9.1f %8s %8s %8s %9d %9d %7d\n", width, r.Name, s.PairsPer, digits(s.Latency.P50),
			digits(s.Latency.P99), digits(s.Latency.Max), s.Complete, s.CutShort, s.Failed)
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
