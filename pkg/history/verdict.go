package history

import (
	"fmt"
	"strings"
)

// Anomaly names what a strictly serializable store never shows. The names
// are those of the literature where it has one.
type Anomaly string

const (
	// DirtyRead (G1a): a value was read whose transaction failed.
	DirtyRead Anomaly = "dirty read"
	// IntermediateRead (G1b): a value was read which its own transaction
	// replaced before it ended.
	IntermediateRead Anomaly = "intermediate read"
	// GarbageRead: a value was read that no transaction wrote.
	GarbageRead Anomaly = "garbage read"
	// NonRepeatableRead: one transaction read one key twice and saw a change
	// it did not make itself.
	NonRepeatableRead Anomaly = "non-repeatable read"
	// OwnWriteMissed: a transaction did not see its own write.
	OwnWriteMissed Anomaly = "own write not seen"
	// DirtyWrite (G0): transactions overwrote each other in a cycle.
	DirtyWrite Anomaly = "dirty write"
	// CircularFlow (G1c): transactions read each other's writes in a cycle.
	CircularFlow Anomaly = "circular information flow"
	// LostUpdate: two transactions read one version and both replaced it.
	LostUpdate Anomaly = "lost update"
	// ReadSkew (G-single): a transaction saw another's effects in part.
	ReadSkew Anomaly = "read skew"
	// WriteSkew (G2-item): transactions did not see each other's writes.
	WriteSkew Anomaly = "write skew"
	// LongFork: two writes were seen in different orders.
	LongFork Anomaly = "long fork"
	// Phantom: a range read missed a key's appearance.
	Phantom Anomaly = "phantom"
	// RealTimeInversion: what came later in real time was placed earlier, as
	// by a stale read.
	RealTimeInversion Anomaly = "real-time inversion"
	// WrongSum: a counter was seen at a sum that no choice of the increments
	// before it makes.
	WrongSum Anomaly = "impossible sum"
	// ImpossibleAbsence: a key was seen absent (or present) when no order
	// allows it.
	ImpossibleAbsence Anomaly = "impossible absence"
	// BadScan: a scan returned a key outside of its range, or out of order, or
	// more keys than it was to.
	BadScan Anomaly = "scan out of place"
	// NotSerializable: every serial order was tried and none explains what
	// was seen.
	NotSerializable Anomaly = "no serial order exists"

	// LostWrite: a committed write is not in the store.
	LostWrite Anomaly = "committed write lost"
	// DoubleWrite: one write, or two at one place, stand in the store.
	DoubleWrite Anomaly = "write applied twice"
	// AbortedWrite: the store holds a write of a failed transaction.
	AbortedWrite Anomaly = "failed write applied"
	// HalfApplied: the store holds some of a transaction's writes.
	HalfApplied Anomaly = "transaction half applied"
	// WrongFinalState: the store ends with another version than the last.
	WrongFinalState Anomaly = "wrong final state"
)

// Problem is one anomaly with its explanation, a sentence per line.
type Problem struct {
	Anomaly Anomaly
	Lines   []string
}

func (p Problem) String() string {
	return string(p.Anomaly) + "\n  " + strings.Join(p.Lines, "\n  ")
}

// Verdict is the result of a check.
type Verdict struct {
	// Problems are anomalies, at most a handful; none if the history is
	// accepted.
	Problems []Problem
	// Exact: the history was accepted and is certainly strictly
	// serializable, by a serial order that was constructed. Without it, an
	// accepted history shows no anomaly that could be inferred.
	Exact bool
	// Txns is how many transactions were checked, Keys how many keys they
	// touched, Edges how many dependencies were established, Rounds how
	// often they were extended by inference.
	Txns, Keys, Edges, Rounds int
	// Dropped is how many transactions of unknown outcome were left out as no
	// other one saw them, Ambiguous how many reads could not be tied to one
	// write.
	Dropped, Ambiguous int
}

// OK reports whether no anomaly was found.
func (v Verdict) OK() bool { return len(v.Problems) == 0 }

// Anomaly is the name of the first problem, or "".
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
	fmt.Fprintf(&b, "%s\nchecked %d transactions, %d keys and %d dependencies, in %d rounds of inference", what, v.Txns, v.Keys, v.Edges, v.Rounds)
	if v.Dropped > 0 {
		fmt.Fprintf(&b, "; left out %d transactions of unknown outcome that no other one saw", v.Dropped)
	}
	if v.Ambiguous > 0 {
		fmt.Fprintf(&b, "; %d reads match several writes", v.Ambiguous)
	}
	return b.String()
}

// maxProblems bounds what a verdict lists: the first few tell the story.
const maxProblems = 5

func (v *Verdict) add(a Anomaly, lines ...string) {
	if len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, Problem{a, lines})
	}
}
