package workload

import (
	"fmt"
	"math"
)

// Kind says what a transaction does.
type Kind uint8

const (
	// ReadOnly transactions are one-shot and read each of their keys.
	ReadOnly Kind = iota
	// InteractiveRead transactions read them one after the other, and may
	// think in between. A Mix has one share for both (see
	// Options.InteractiveReads).
	InteractiveRead
	// WriteOnly transactions put a new value to each, unseen.
	WriteOnly
	// ReadModifyWrite transactions read each and then put a new value.
	ReadModifyWrite
	// Increment transactions add one to each of their counters, without
	// asking for the sum.
	Increment
	kinds
	// LongScan is the kind of what scanners do, which is counted apart
	// (Result.Scans).
	LongScan = kinds
)

var kindNames = [kinds]string{"read-only", "interactive read", "write-only", "read-modify-write", "increment"}

func (k Kind) String() string {
	switch {
	case k < kinds:
		return kindNames[k]
	case k == LongScan:
		return "scan"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Reads reports whether transactions of the kind change nothing.
func (k Kind) Reads() bool { return k == ReadOnly || k == InteractiveRead }

// Kinds lists every kind, in the order of reports.
func Kinds() []Kind {
	return []Kind{ReadOnly, InteractiveRead, WriteOnly, ReadModifyWrite, Increment}
}

// Mix gives the shares of the kinds. They are weights: only their ratios
// count, so 1:1 is the same as 50:50.
type Mix struct {
	ReadOnly        float64 `json:"read_only"`
	WriteOnly       float64 `json:"write_only"`
	ReadModifyWrite float64 `json:"read_modify_write"`
	Increment       float64 `json:"increment"`
}

// DefaultMix is half reads, and most of the rest reading before it writes.
var DefaultMix = Mix{ReadOnly: 50, WriteOnly: 10, ReadModifyWrite: 30, Increment: 10}

func (m Mix) shares() [kinds]float64 {
	return [kinds]float64{ReadOnly: m.ReadOnly, WriteOnly: m.WriteOnly, ReadModifyWrite: m.ReadModifyWrite,
		Increment: m.Increment}
}

// check gives what is wrong with m, or "".
func (m Mix) check() string {
	sum := 0.0
	for k, s := range m.shares() {
		if math.IsNaN(s) || math.IsInf(s, 0) || s < 0 {
			return fmt.Sprintf("the share of %s transactions is %v, want a finite number, 0 or more", Kind(k), s)
		}
		sum += s
	}
	if math.IsInf(sum, 0) {
		return "the shares add up to more than a number can hold"
	}
	return ""
}

// pick chooses a kind by a number in [0, 1).
func (m Mix) pick(uniform float64) Kind {
	shares := m.shares()
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	left, last := uniform*sum, ReadOnly
	for k, s := range shares {
		if s == 0 {
			continue
		}
		last = Kind(k)
		if left < s {
			break
		}
		left -= s
	}
	return last
}

// counterReads is the part of the reads that goes to counters: reads look at
// what the other transactions change, in proportion, so that a checker of the
// history sees increments too.
func (m Mix) counterReads() float64 {
	if m.Increment == 0 {
		return 0
	}
	return m.Increment / (m.Increment + m.WriteOnly + m.ReadModifyWrite)
}
