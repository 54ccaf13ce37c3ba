package adt

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// IDs is the number of the type "ids": unique identifiers, the UIdGenerator of Holt 2016, table
// 4.1. They are derived from the identity of the call and not from stored state, so calls never
// block each other, as increments that return the value do. In exchange they are unordered.
//
// An identifier is a UUID of version 8 (RFC 9562, section 5.8) with 122 bits of a hash: among 10^12
// the probability of a collision is about 10^-13. A transaction that is retried with its id gets
// the same identifiers.
//
//	      next
//	next   x
//
// Only deleting the key conflicts with it. The key need not exist.
//
// # Why the pairs commute
//
// A call reads and changes nothing. What could be equal are two results, and they are derived from the ids of different
// calls.
const IDs entry.Type = 8

// MaxIDs is the maximum number of identifiers per call.
const MaxIDs = 1000

const idsNext Kind = 1

type noState struct{}

func init() { Install(idsSpec()) }

func idsSpec() Spec[noState] {
	return Spec[noState]{
		ID: IDs, Name: "ids", Doc: "A source of unique, unordered identifiers. The key need not exist.",
		Zero: func() noState { return noState{} }, Empty: func(noState) bool { return true },
		Encode: func(noState) []byte { return nil }, Decode: func([]byte) (noState, error) { return noState{}, nil },
		Kinds: []KindSpec{{Name: "next"}},
		Methods: []MethodSpec[noState]{{Name: "next", Doc: "Returns n identifiers of 16 bytes, 1 by default.",
			Params: []Param{{Name: "n", Kind: msg.DatumInt, Optional: true}}, Kind: idsNext, Answers: true, Distinct: true,
			Plan: planIDs}},
	}
}

// planIDs derives n identifiers from View.Unique, which is the same in each attempt of the
// transaction. The answer does not depend on any state, so it needs no other lock than one against
// deletion.
func planIDs(v *View[noState], a Args) Plan {
	n := int64(1)
	if len(a) > 0 {
		n = a[0].Int
	}
	if n < 1 || n > MaxIDs {
		return Plan{Err: Errorf(kv.KindInvalid, "n is %d; it must be 1 to %d", n, MaxIDs)}
	}
	p := Plan{Need: idsNext, Answer: make([]msg.Datum, n)}
	for i := range p.Answer {
		from := binary.BigEndian.AppendUint32(append([]byte("linchpin ids "), v.Unique[:]...), uint32(i))
		id := sha256.Sum256(from)
		id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version and variant
		p.Answer[i] = Bytes(append([]byte(nil), id[:16]...))
	}
	return p
}
