package history

import (
	"fmt"
	"strings"
)

// Anomaly is the name of a result that a strictly serializable store never produces. The names are those of the
// literature where there is one.
type Anomaly string

const (
	// DirtyRead (G1a): a read returned a value of a failed transaction.
	DirtyRead Anomaly = "dirty read"
	// IntermediateRead (G1b): a read returned a value that its own transaction replaced before it ended.
	IntermediateRead Anomaly = "intermediate read"
	// GarbageRead: a read returned a value that no transaction wrote.
	GarbageRead Anomaly = "garbage read"
	// NonRepeatableRead: one transaction read one key twice and observed a change that it did not make itself.
	NonRepeatableRead Anomaly = "non-repeatable read"
	// OwnWriteMissed: a transaction did not read its own write.
	OwnWriteMissed Anomaly = "own write not seen"
	// DirtyWrite (G0): transactions overwrote each other in a cycle.
	DirtyWrite Anomaly = "dirty write"
	// CircularFlow (G1c): transactions read each other's writes in a cycle.
	CircularFlow Anomaly = "circular information flow"
	// LostUpdate: two transactions read one version and both replaced it.
	LostUpdate Anomaly = "lost update"
	// ReadSkew (G-single): a transaction read another's effects in part.
	ReadSkew Anomaly = "read skew"
	// WriteSkew (G2-item): transactions did not read each other's writes.
	WriteSkew Anomaly = "write skew"
	// LongFork: two writes were observed in different orders.
	LongFork Anomaly = "long fork"
	// Phantom: a range read missed a key that appeared.
	Phantom Anomaly = "phantom"
	// RealTimeInversion: a transaction that was later in real time is ordered earlier, as by a stale read.
	RealTimeInversion Anomaly = "real-time inversion"
	// WrongSum: a counter had a sum that no choice of the increments before it yields.
	WrongSum Anomaly = "impossible sum"
	// ImpossibleAbsence: a key was absent (or present) although no order allows it.
	ImpossibleAbsence Anomaly = "impossible absence"
	// BadScan: a scan returned a key outside of its range, or out of order, or more keys than its limit.
	BadScan Anomaly = "scan out of place"
	// NotSerializable: every serial order was tried, and none explains the observations.
	NotSerializable Anomaly = "no serial order exists"

	// LostWrite: a committed write is not in the store.
	LostWrite Anomaly = "committed write lost"
	// DoubleWrite: the store has one write twice, or two at one position.
	DoubleWrite Anomaly = "write applied twice"
	// AbortedWrite: the store has a write of a failed transaction.
	AbortedWrite Anomaly = "failed write applied"
	// HalfApplied: the store has some of a transaction's writes.
	HalfApplied Anomaly = "transaction half applied"
	// WrongFinalState: the store's newest version is not the last one.
	WrongFinalState Anomaly = "wrong final state"
)

// Problem is one anomaly with its explanation, one sentence per line.
type Problem struct {
	Anomaly Anomaly
	Lines   []string
}

func (p Problem) String() string {
	return string(p.Anomaly) + "\n  " + strings.Join(p.Lines, "\n  ")
}

// Verdict is the result of a check.
type Verdict struct {
	// Problems are anomalies, at most five; none if the history is accepted.
	Problems []Problem
	// Exact: the history was accepted and is certainly strictly serializable, since a serial order was constructed.
	// Without it, an accepted history has no anomaly that could be inferred.
	Exact bool
	// Txns is the number of checked transactions, Keys that of keys, Edges that of dependencies, Rounds that of rounds of
	// inference.
	Txns, Keys, Edges, Rounds int
	// Dropped is the number of transactions of unknown outcome that were left out, as no other transaction observed them.
	// Ambiguous is the number of reads that could not be bound to one write.
	Dropped, Ambiguous int
}

// OK reports whether no anomaly was found.
func (v Verdict) OK() bool { return len(v.Problems) == 0 }

// Anomaly returns the name of the first problem, or "".
func (v Verdict) Anomaly() Anomaly {
	if v.OK() {
		return ""
	}
	return v.Problems[0].Anomaly
}

func (v Verdict) String() string {
	var b strings.Builder
	for _, p := range v.Problems {
		fmt.Fprintf(&b, "%v\n", p)
	}
	what := "strictly serializable: a serial order was found"
	switch {
	case !v.OK():
		what = "NOT strictly serializable"
	case !v.Exact:
		what = "no violation found (the order of some transactions is undecided; a shorter history may be decided)"
	}
	fmt.Fprintf(&b, "%s\nchecked %d transactions, %d keys and %d dependencies, in %d rounds of inference", what, v.Txns,
		v.Keys, v.Edges, v.Rounds)
	if v.Dropped > 0 {
		fmt.Fprintf(&b, "; left out %d transactions of unknown outcome that no other one saw", v.Dropped)
	}
	if v.Ambiguous > 0 {
		fmt.Fprintf(&b, "; %d reads match several writes", v.Ambiguous)
	}
	return b.String()
}

// maxProblems bounds the problems of a verdict.
const maxProblems = 5

func (v *Verdict) add(a Anomaly, lines ...string) {
	if len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, Problem{a, lines})
	}
}
