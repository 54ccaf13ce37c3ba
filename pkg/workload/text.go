package workload

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteText writes r for people. What was not asked for and what did not happen
// has no line; programs read the JSON, where everything is. The report of an
// application has its own sections in the place of those about scans and locality.
func (r *Result) WriteText(w io.Writer) error {
	var b bytes.Buffer
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s ", name)
		fmt.Fprintf(&b, format+"\n", args...)
	}
	line("workload", "%s", r.Workload)
	line("mix", "%s", r.Workload.mix())
	line("load", "%s", r.Workload.load())
	line("host", "%d CPUs (%d used), %s/%s, %s", r.Host.CPUs, r.Host.GoMaxProcs, r.Host.OS, r.Host.Arch, r.Host.Go)
	line("started", "%s", r.Started.Format("2006-01-02 15:04:05 MST"))
	line("measured", "%.3f s after %.3f s of warm-up%s", r.ElapsedS, r.Workload.WarmupS, r.remark())
	line("throughput", "%.1f transactions/s", r.All.ThroughputPer)
	line("retries", "%d (%.3f per committed transaction), %d of them by read-only transactions", r.All.Retries,
		ratio(r.All.Retries, r.All.Committed), r.readRetries())
	if r.Workload.RatePerS > 0 {
		line("start lag", "p50 %.3f ms, p99 %.3f ms, max %.3f ms", r.Lag.P50, r.Lag.P99, r.Lag.Max)
	}
	if r.Backlog > 0 {
		line("backlog", "%d transactions due and not started", r.Backlog)
	}
	if app := r.Workload.App; app != nil {
		line("loaded", "%s", app.Loaded)
	}
	if r.ResultsLost > 0 {
		line("lost results", "%d committed transactions, of which it is not known what they read", r.ResultsLost)
	}
	if r.Scans.any() {
		line("scans", "%s", r.Scans)
	}
	if w := r.Workload; w.Locality > 0 {
		line("locality", "%v%% of the keys asked for on the client's node, %v%% were there", w.Locality, r.NearKeys)
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, "%-18s %10s %8s %8s %9s %11s %10s %10s %10s %10s %10s %10s\n", "kind", "committed", "failed", "unknown",
		"retries", "tx/s", "mean ms", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms")
	for _, k := range append(slices.Clone(r.Kinds), r.Updates, r.All) {
		if k.Kind != r.All.Kind && k.Committed+k.Failed+k.Unknown+k.Retries == 0 {
			continue
		}
		l := k.Latency
		fmt.Fprintf(&b, "%-18s %10d %8d %8d %9d %11.1f %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f\n", k.Kind, k.Committed,
			k.Failed, k.Unknown, k.Retries, k.ThroughputPer, l.Mean, l.P50, l.P90, l.P99, l.P999, l.Max)
	}
	writeCounts(&b, "aborted attempts by reason", r.Aborts)
	writeCounts(&b, "aborted attempts of read-only transactions by reason", r.ReadAborts)
	writeCounts(&b, "errors by kind", r.Errors)
	r.writeDown(&b)
	writeCounts(&b, "failed scans by kind of error", r.Scans.Errors)
	r.writeInvariants(&b)
	fmt.Fprintf(&b, "\n%-12s %d\n", "seed", r.Workload.Seed)
	if r.Command != "" {
		line("repeat with", "%s", r.Command)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeInvariants writes what an application promises and whether it was kept.
func (r *Result) writeInvariants(b *bytes.Buffer) {
	if r.Workload.App == nil {
		return
	}
	b.WriteString("\ninvariants\n")
	for _, i := range r.Invariants {
		fmt.Fprintf(b, "  %-12s  %s: %s\n", strings.ToUpper(string(i.Verdict)), i.Name, i.Text)
	}
	if len(r.Invariants) == 0 {
		b.WriteString("  none was checked\n")
	}
}

// mix says which kinds of transactions come how often.
func (w Workload) mix() string {
	if w.App != nil {
		return w.App.Mix
	}
	return w.Mix.String()
}

// readRetries counts the retries of transactions that change nothing.
func (r *Result) readRetries() uint64 {
	if r.Workload.App != nil {
		return r.All.Retries - r.Updates.Retries
	}
	return r.kind(ReadOnly.String()).Retries + r.kind(InteractiveRead.String()).Retries
}

// remark says what is special about the end of the run.
func (r *Result) remark() string {
	if r.Interrupted {
		return ", interrupted"
	}
	return ""
}

// any reports whether there were scans.
func (s ScanResult) any() bool { return s.Complete+s.CutShort+s.Failed > 0 }

// writeCounts writes counts by name, if there are any.
func writeCounts(b *bytes.Buffer, title string, counts map[string]uint64) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, "  %-18s %10d\n", name, counts[name])
	}
}

// String says which keys are used and how.
func (w Workload) String() string {
	if w.App != nil {
		return w.App.String()
	}
	s := fmt.Sprintf("%d keys, skew %v, %s", w.Keys, w.Skew, w.order())
	if w.Name != "" {
		s = w.Name + ": " + s
	}
	if w.MoveHotEveryS > 0 {
		s += fmt.Sprintf(", hot spot moves every %v s", w.MoveHotEveryS)
	}
	return s + fmt.Sprintf(", %s, values of %d bytes, %s", w.perTxn(), w.ValueBytes, w.calls())
}

// perTxn says how many keys transactions have.
func (w Workload) perTxn() string {
	s := fmt.Sprintf("%d keys a transaction", w.Ops)
	if reads := (KeyCount{w.ReadKeysMin, w.ReadKeysMax}); reads != (KeyCount{}) && reads != (KeyCount{w.Ops, w.Ops}) {
		s = fmt.Sprintf("%d keys an update and %s a read-only transaction", w.Ops, reads)
	}
	if w.Distinct {
		s += " without repeats"
	}
	return s
}

// calls says how operations are sent.
func (w Workload) calls() string {
	s := "one-shot"
	if w.Interactive {
		s = "interactive"
	} else if w.InteractiveReads > 0 {
		s = fmt.Sprintf("one-shot but for %v%% of the read-only transactions", w.InteractiveReads)
	}
	if w.ThinkTimeMs > 0 {
		s += fmt.Sprintf(", readers think for %v ms between reads", w.ThinkTimeMs)
	}
	return s
}

func (w Workload) order() string {
	if w.Shuffle {
		return "shuffled"
	}
	return "in rank order"
}

// load says how hard the store is pressed.
func (w Workload) load() string {
	s := fmt.Sprintf("closed loop, %d clients", w.Clients)
	if w.RatePerS > 0 {
		s = fmt.Sprintf("open loop, %v transactions/s by up to %d clients", w.RatePerS, w.Clients)
	}
	if w.Scanners > 0 {
		s += fmt.Sprintf(", %d scanning", w.Scanners)
	}
	if w.ScanPacePerS > 0 {
		s += fmt.Sprintf(" %v pairs/s each", w.ScanPacePerS)
	}
	if w.DurationS > 0 {
		s += fmt.Sprintf(", for %v s", w.DurationS)
	}
	if w.Count > 0 {
		s += fmt.Sprintf(", %d transactions", w.Count)
	}
	return s
}

// String gives the shares in per cent.
func (m Mix) String() string {
	shares := m.shares()
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	var parts []string
	for _, k := range []Kind{ReadOnly, WriteOnly, ReadModifyWrite, Increment} {
		parts = append(parts, fmt.Sprintf("%.4g%% %s", 100*shares[k]/max(sum, 1e-300), k))
	}
	return strings.Join(parts, ", ")
}

// String says how many there were, and how long the complete ones took.
func (s ScanResult) String() string {
	l := s.Latency
	return fmt.Sprintf("%d complete, %d cut short by the end, %d failed; %.1f pairs/s; p50 %.3f ms, p99 %.3f ms, max %.3f ms",
		s.Complete, s.CutShort, s.Failed, s.PairsPer, l.P50, l.P99, l.Max)
}

// ratio is a/b, 0 when b is.
func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
