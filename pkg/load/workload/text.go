package workload

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// margin is where the text of a report's lines begins.
const margin = 13

// WriteText writes r for people, at most 80 columns wide. What was not asked for and what did
// not happen has no line; programs read the JSON, which has everything. The report of an
// application has its own sections in place of those about scans and locality.
func (r *Result) WriteText(w io.Writer) error {
	var b bytes.Buffer
	r.writeRun(&b)
	r.writeKinds(&b)
	writeReasons(&b, "retries by reason (a retry is not a failed transaction)", r.Aborts)
	writeReasons(&b, "retries of read-only transactions by reason", r.ReadAborts)
	writeCounts(&b, "transactions that did not commit, by error", r.Errors)
	r.writeDown(&b)
	writeCounts(&b, "scans that failed, by error", r.Scans.Errors)
	r.writeInvariants(&b)
	if r.Command != "" {
		fmt.Fprintf(&b, "\n%-*s%s\n", margin, "repeat with", wrapCommand(r.Command, margin))
	} else {
		fmt.Fprintf(&b, "\n%-*s%d\n", margin, "seed", r.Workload.Seed)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeRun writes what was run and how it went as a whole.
func (r *Result) writeRun(b *bytes.Buffer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-*s%s\n", margin, name, wrap(fmt.Sprintf(format, args...), margin))
	}
	line("workload", "%s", r.Workload)
	line("mix", "%s", r.Workload.mix())
	line("load", "%s", r.Workload.load())
	line("host", "%d CPUs (%d used), %s/%s, %s", r.Host.CPUs, r.Host.GoMaxProcs, r.Host.OS, r.Host.Arch, r.Host.Go)
	line("started", "%s", r.Started.Format("2006-01-02 15:04:05 MST"))
	line("measured", "%.3f s after %.3f s of warm-up%s", r.ElapsedS, r.Workload.WarmupS, r.remark())
	line("throughput", "%.1f transactions/s", r.All.ThroughputPer)
	if r.All.Retries == 0 {
		line("retries", "0")
	} else {
		line("retries", "%d (%.3f per committed transaction), %d of them by read-only transactions", r.All.Retries,
			ratio(r.All.Retries, r.All.Committed), r.readRetries())
	}
	if r.Workload.RatePerS > 0 {
		line("start lag", "p50 %.3f ms, p99 %.3f ms, max %.3f ms", r.Lag.P50, r.Lag.P99, r.Lag.Max)
	}
	if r.Backlog > 0 {
		line("backlog", "%d transactions were due and not started", r.Backlog)
	}
	if app := r.Workload.App; app != nil {
		line("loaded", "%s", app.Loaded)
	}
	if r.ResultsLost > 0 {
		line("lost results", "%d transactions committed and their response was lost", r.ResultsLost)
	}
	if r.Scans.any() {
		line("scans", "%s", r.Scans)
	}
	if w := r.Workload; w.Locality > 0 {
		line("locality", "%v%% of the keys requested on the client's node, %v%% were there", w.Locality, r.NearKeys)
	}
}

// writeKinds writes the table of the kinds of transactions, and another of those that did
// not commit if there are any.
func (r *Result) writeKinds(b *bytes.Buffer) {
	rows := r.rows()
	fmt.Fprintf(b, "\n%-17s %9s %7s %8s %8s %8s %8s %8s\n", "kind", "committed", "retries", "tx/s",
		"p50 ms", "p99 ms", "p99.9 ms", "max ms")
	bad := false
	for _, k := range rows {
		bad = bad || k.Failed+k.Unknown > 0
		l := k.Latency
		fmt.Fprintf(b, "%-17s %9d %7d %8.1f %8s %8s %8s %8s\n", k.Kind, k.Committed, k.Retries, k.ThroughputPer,
			digits(l.P50), digits(l.P99), digits(l.P999), digits(l.Max))
	}
	if !bad {
		return
	}
	fmt.Fprintf(b, "\n%-17s %9s %15s\n", "kind", "failed", "unknown outcome")
	for _, k := range rows {
		if k.Failed+k.Unknown > 0 {
			fmt.Fprintf(b, "%-17s %9d %15d\n", k.Kind, k.Failed, k.Unknown)
		}
	}
}

// rows are the kinds that occurred, and their sums: of the updates and of all, each if it
// sums up more than one row and less than all of them.
func (r *Result) rows() (rows []KindResult) {
	for _, k := range r.Kinds {
		if k.occurred() {
			rows = append(rows, k)
		}
	}
	if len(rows) == 1 {
		return rows
	}
	same := func(k KindResult) bool {
		return k.Committed == r.Updates.Committed && k.Failed == r.Updates.Failed && k.Unknown == r.Updates.Unknown
	}
	if r.Updates.occurred() && !same(r.All) && !slices.ContainsFunc(rows, same) {
		rows = append(rows, r.Updates)
	}
	return append(rows, r.All)
}

// occurred reports whether there were transactions of the kind.
func (k KindResult) occurred() bool { return k.Committed+k.Failed+k.Unknown+k.Retries > 0 }

// digits is a number of milliseconds with at least three digits.
func digits(ms float64) string {
	switch {
	case ms < 9.995:
		return fmt.Sprintf("%.2f", ms)
	case ms < 99.95:
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}

// writeInvariants writes the invariants of an application with their verdicts.
func (r *Result) writeInvariants(b *bytes.Buffer) {
	if r.Workload.App == nil {
		return
	}
	const indent = 16
	b.WriteString("\ninvariants\n")
	for _, i := range r.Invariants {
		fmt.Fprintf(b, "  %-12s  %s\n", strings.ToUpper(string(i.Verdict)), wrap(i.Name+": "+i.Text, indent))
	}
	if len(r.Invariants) == 0 {
		b.WriteString("  not checked\n")
	}
}

// mix describes the kinds of transactions and their shares.
func (w Workload) mix() string {
	if w.App != nil {
		return w.App.Mix
	}
	return w.Mix.String()
}

// readRetries counts the retries of read-only transactions.
func (r *Result) readRetries() uint64 {
	if r.Workload.App != nil {
		return r.All.Retries - r.Updates.Retries
	}
	return r.kind(ReadOnly.String()).Retries + r.kind(InteractiveRead.String()).Retries
}

// remark says whether the run was interrupted.
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
		fmt.Fprintf(b, "  %-23s %8d\n", name, counts[name])
	}
}

// String describes the keys and the transactions.
func (w Workload) String() string {
	if w.App != nil {
		return w.App.String()
	}
	s := fmt.Sprintf("%d keys, Zipf skew %v, %s", w.Keys, w.Skew, w.order())
	if w.Name != "" {
		s = w.Name + ": " + s
	}
	if w.MoveHotEveryS > 0 {
		s += fmt.Sprintf(", hot spot moves every %v s", w.MoveHotEveryS)
	}
	return s + fmt.Sprintf(", %s, values of %d bytes, %s", w.perTxn(), w.ValueBytes, w.calls())
}

// perTxn describes the number of keys of transactions.
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

// calls describes how operations are sent.
func (w Workload) calls() string {
	s := "one-shot"
	if w.Interactive {
		s = "interactive"
	} else if w.InteractiveReads > 0 {
		s = fmt.Sprintf("one-shot, %v%% of the read-only transactions interactive", w.InteractiveReads)
	}
	if w.ThinkTimeMs > 0 {
		s += fmt.Sprintf(", %v ms of think time between reads", w.ThinkTimeMs)
	}
	return s
}

func (w Workload) order() string {
	if w.Shuffle {
		return "shuffled"
	}
	return "in rank order"
}

// load describes the rate and the number of clients.
func (w Workload) load() string {
	s := fmt.Sprintf("closed loop, %d clients", w.Clients)
	if w.RatePerS > 0 {
		s = fmt.Sprintf("open loop, %v transactions/s, at most %d clients", w.RatePerS, w.Clients)
	}
	if w.Scanners > 0 {
		s += fmt.Sprintf(", %d scanners", w.Scanners)
	}
	if w.ScanPacePerS > 0 {
		s += fmt.Sprintf(" at %v pairs/s each", w.ScanPacePerS)
	}
	if w.DurationS > 0 {
		s += fmt.Sprintf(", for %v s", w.DurationS)
	}
	if w.Count > 0 {
		s += fmt.Sprintf(", %d transactions", w.Count)
	}
	return s
}

// String gives the shares above 0 in per cent.
func (m Mix) String() string {
	shares := m.shares()
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	var parts []string
	for _, k := range []Kind{ReadOnly, WriteOnly, ReadModifyWrite, Increment} {
		if shares[k] == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%.4g%% %s", 100*shares[k]/max(sum, 1e-300), k))
	}
	return strings.Join(parts, ", ")
}

// String gives counts, throughput and the latency of complete scans.
func (s ScanResult) String() string {
	l := s.Latency
	return fmt.Sprintf("%d complete, %d cut short by the end, %d failed; %.1f pairs/s; p50 %s ms, p99 %s ms, max %s ms",
		s.Complete, s.CutShort, s.Failed, s.PairsPer, digits(l.P50), digits(l.P99), digits(l.Max))
}

// ratio is a/b, 0 when b is.
func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
