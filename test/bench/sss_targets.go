package main

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// simulatedTargets are what is asked of readers without locks.
func simulatedTargets(all []*simulatedMix) (ts []rounds.Target) {
	aborts := 0
	for _, m := range all {
		snapshot := &m.both[txn.SnapshotReads]
		aborts += snapshot.aborts()
		if m.Skew > 0 && m.Mix.ReadOnly == 50 {
			r, lo, hi := m.ratio(0)
			ts = append(ts, rounds.Target{What: "snapshot / locking, saturated: " + m.Name, Got: r, Low: lo, High: hi,
				AtLeast: 7})
			r, lo, hi = m.ratio(asThePaper)
			ts = append(ts, rounds.Target{What: "snapshot / locking, clients as in the paper: " + m.Name, Got: r, Low: lo,
				High: hi, AtLeast: 7})
		}
		if m.Skew > 0 && !m.auto { // the bound is that of keys which are at home
			r, lo, hi := snapshot.ofBound().Ratio("run", "busiest")
			ts = append(ts, rounds.Target{What: "of the busiest core's bound: " + m.Name, Got: r, Low: lo, High: hi,
				AtLeast: 0.8})
			x := rounds.Series{"bound": snapshot.busiest}
			for _, run := range m.both[txn.LockingReads].runs[m.both[txn.LockingReads].best] {
				x["locking"] = append(x["locking"], run.PerSecond)
			}
			r, lo, hi = x.Ratio("bound", "locking")
			ts = append(ts, rounds.Target{What: "the busiest core's bound / locking, saturated: " + m.Name, Got: r, Low: lo,
				High: hi})
		}
		if m.ReadKeys.Max == 16 {
			r, lo, hi := m.ratio(0)
			ts = append(ts, rounds.Target{What: "snapshot / locking, saturated: " + m.Name, Got: r, Low: lo, High: hi,
				AtLeast: 2.2})
		}
		if m.Skew == 0 {
			r, lo, hi := snapshot.ofBound().Ratio("run", "bound")
			ts = append(ts, rounds.Target{What: "of the bound: " + m.Name, Got: r, Low: lo, High: hi, AtLeast: 0.8})
			x := rounds.Series{"snapshot": snapshot.bounds, "locking": m.both[txn.LockingReads].bounds}
			r, lo, hi = x.Ratio("snapshot", "locking")
			ts = append(ts, rounds.Target{What: "bound / bound of locking: " + m.Name, Got: r, Low: lo, High: hi})
		}
	}
	for _, m := range all {
		ts = append(ts, heldTarget(m, "saturated", m.both[txn.SnapshotReads].best),
			heldTarget(m, "clients as in the paper", asThePaper))
	}
	got := float64(aborts)
	// Print leaves out what is exactly 0, which here is what is asked.
	return append(ts, rounds.Target{What: "1 + aborts of readers, all runs", Got: 1 + got, Low: 1 + got, High: 1 + got,
		AtMost: 1})
}

func heldTarget(m *simulatedMix, which string, clients int) rounds.Target {
	var xs []float64
	for _, r := range m.both[txn.SnapshotReads].runs[clients] {
		xs = append(xs, r.HeldShare)
	}
	if len(xs) == 0 {
		return rounds.Target{}
	}
	return rounds.Target{What: "held, of updates' latency, " + which + ": " + m.Name, Got: rounds.Median(xs),
		Low: slices.Min(xs), High: slices.Max(xs), AtMost: 0.1}
}
