package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// registers is how many of them a counter has. The estimate is off by 2.3 % in the
// mean, which is 1.04 divided by the root of it.
const registers = 2048

// sketch is a counter: each register is the longest run of zeros, and one more, that
// the hash of any of its items began with. It is a string because a value is never
// changed, only replaced.
type sketch string

// Kinds of lock. Their order is in the log: a new one goes to the end.
const (
	addKind adt.Kind = iota + 1
	knownKind
	countKind
)

// distinct counts how many different items it was given without keeping them: a
// HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007) in 2 KiB. Its registers
// only rise, each to the greatest it was given, so that the order of additions does
// not matter, and what has risen once stays.
//
//	       add  known  count
//	add     x     x      .
//	known   x     x      x     an addition that raises nothing
//	count   .     x      x
var distinct = adt.Spec[sketch]{
	ID: 128, Name: "distinct", Doc: "How many different items were added, to 2.3 % or so, in 2 KiB.",
	Zero: func() sketch { return sketch(make([]byte, registers)) }, Encode: func(s sketch) []byte { return []byte(s) },
	Decode:  decode,
	Kinds:   []adt.KindSpec{{Name: "add", Changes: true}, {Name: "known"}, {Name: "count"}},
	Commute: []adt.Commutes{{A: addKind, B: addKind, When: adt.Always}, {A: addKind, B: knownKind, When: adt.Always}},
	Methods: []adt.MethodSpec[sketch]{
		{Name: "add", Doc: "Adds items.", Params: []adt.Param{{Name: "item", Kind: msg.DatumBytes, Many: true}}, Kind: addKind,
			Apply: add, Plan: planAdd, Combine: combine},
		{Name: "count", Doc: "Returns an estimate of the number of distinct items.", Kind: countKind, Answer: count},
	},
}

// place is the register of an item, and what it rises to.
func place(item []byte) (register int, rank byte) {
	h := sha256.Sum256(item)
	n := binary.BigEndian.Uint64(h[:])
	return int(n % registers), byte(bits.LeadingZeros64(n|registers-1) + 1)
}

// planAdd needs no more than that it stay so where all items are known.
func planAdd(v *adt.View[sketch], items adt.Args) adt.Plan {
	for _, item := range items {
		if r, rank := place(item.Bytes); v.State[r] < rank {
			return adt.As(addKind, 1, items)
		}
	}
	return adt.Plan{Need: knownKind}
}

func add(s sketch, items adt.Args) (sketch, error) {
	out := []byte(s)
	for _, item := range items {
		r, rank := place(item.Bytes)
		out[r] = max(out[r], rank)
	}
	return sketch(out), nil
}

// combine makes one call of two that follow each other in a transaction.
func combine(first, then adt.Args) (adt.Args, bool) {
	return append(first[:len(first):len(first)], then...), len(first)+len(then) < 1000
}

// count is the harmonic mean of what the registers tell, and, while many of them are
// empty, what their number tells (sections 2 and 4 of the paper).
func count(s sketch, _ adt.Args) ([]msg.Datum, error) {
	sum, empty := 0.0, 0
	for i := range len(s) {
		sum += math.Ldexp(1, -int(s[i]))
		if s[i] == 0 {
			empty++
		}
	}
	estimate := 0.7213 / (1 + 1.079/registers) * registers * registers / sum
	if empty > 0 && estimate <= 2.5*registers {
		estimate = registers * math.Log(registers/float64(empty))
	}
	return []msg.Datum{adt.Int(int64(math.Round(estimate)))}, nil
}

func decode(stored []byte) (sketch, error) {
	if len(stored) != registers {
		return "", errors.New("a counter has 2048 registers")
	}
	return sketch(stored), nil
}
