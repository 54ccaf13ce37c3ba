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

// registers is the number of registers. The standard error of the estimate is 1.04 divided by its square
// root: 2.3 %.
const registers = 2048

// sketch is a value: each register is 1 plus the longest run of leading zeros in the hashes of its
// items. It is a string because values are immutable.
type sketch string

// Kinds of lock. Their order is stored: append new ones.
const (
	addKind adt.Kind = iota + 1
	knownKind
	countKind
)

// distinct estimates the number of distinct items without storing them: a HyperLogLog (Flajolet, Fusy,
// Gandouet and Meunier 2007) in 2 KiB. Each register is a maximum, so additions commute.
//
//	       add  known  count
//	add     x     x      .
//	known   x     x      x     an addition that changes no register
//	count   .     x      x
var distinct = adt.Spec[sketch]{
	ID: 128, Name: "distinct", Doc: "An estimate of the number of distinct items, within about 2.3 %, in 2 KiB.",
	Zero: func() sketch { return sketch(make([]byte, registers)) }, Encode: func(s sketch) []byte { return []byte(s) },
	Decode:  decode,
	Kinds:   []adt.KindSpec{{Name: "add", Changes: true}, {Name: "known"}, {Name: "count"}},
	Commute: []adt.Commutes{{A: addKind, B: addKind, When: adt.Always}, {A: addKind, B: knownKind, When: adt.Always}},
	Methods: []adt.MethodSpec[sketch]{
		{Name: "add", Doc: "Adds items.", Params: []adt.Param{{Name: "item", Kind: msg.DatumBytes, Many: true}},
			Kind:  addKind,
			Apply: add, Plan: planAdd, Combine: combine},
		{Name: "count", Doc: "Returns an estimate of the number of distinct items.", Kind: countKind, Answer: count},
	},
}

// place returns the register of an item and its rank.
func place(item []byte) (register int, rank byte) {
	h := sha256.Sum256(item)
	n := binary.BigEndian.Uint64(h[:])
	return int(n % registers), byte(bits.LeadingZeros64(n|registers-1) + 1)
}

// planAdd needs only the lock known if no register changes.
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

// combine merges two consecutive calls of a transaction.
func combine(first, then adt.Args) (adt.Args, bool) {
	return append(first[:len(first):len(first)], then...), len(first)+len(then) < 1000
}

// count is the harmonic mean of the registers' estimates, or linear counting while many registers are
// empty (sections 2 and 4 of the paper).
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
