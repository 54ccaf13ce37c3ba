package adt

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Mode is an abstract lock mode: what an operation needs on a key or range. It is one of four
// generic modes, which are independent of the data type, or a mode of a data type: one of the
// type's kinds and a part of the value.
//
//	bits  0-7   kind
//	      8-15  data type, 0 for the generic modes
//	     16-63  hash of the part, 0 for the whole value
//
// Modes are in the log while a transaction is prepared, and in messages: numbers and the hash never
// change.
type Mode uint64

const (
	// ModeNone needs no lock.
	ModeNone Mode = iota
	// ModeRead reads the state.
	ModeRead
	// ModeAdd changes a counter in a way that commutes with other adds, without reading it.
	ModeAdd
	// ModeWrite changes and reads the state in any way.
	ModeWrite
	numModes
)

// newMode returns a mode of a data type; part 0 is the whole value.
func newMode(t entry.Type, k Kind, part uint64) Mode {
	return Mode(k) | Mode(t)<<8 | Mode(part)<<16
}

// Type returns the data type of the mode; ok is false for the generic modes.
func (m Mode) Type() (t entry.Type, ok bool) { return entry.Type(m >> 8), m >= numModes }

// Kind returns the kind of lock of a mode of a data type.
func (m Mode) Kind() Kind { return Kind(m) }

// Part returns the hash of the part, of 48 bits; 0 is the whole value.
func (m Mode) Part() uint64 { return uint64(m >> 16) }

// OfPart reports whether the mode concerns a part of the value only.
func (m Mode) OfPart() bool { return m >= numModes && m.Part() != 0 }

// String returns the name of the mode with the hash of its part, for logs and tests.
func (m Mode) String() string {
	if m < numModes {
		return [...]string{"none", "read", "add", "write"}[m]
	}
	t := Lookup(entry.Type(m >> 8))
	if t == nil || m.Kind() == 0 || int(m.Kind()) > len(t.Kinds) {
		return fmt.Sprintf("Mode(%d)", uint64(m))
	}
	s := t.Name + "." + t.Kinds[m.Kind()-1].Name
	if m.Part() != 0 {
		s += fmt.Sprintf("(%x)", m.Part())
	}
	return s
}

// Name returns the mode's name in messages to other programs: "write", "set.add". It is empty for
// ModeNone and unknown modes.
//
// ModeNone has no name: a receipt without a mode is one of a node that does not know it.
func (m Mode) Name() string {
	if m < numModes && m != ModeNone {
		return m.String()
	}
	return m.KindName()
}

// KindName returns type and kind of a mode of a data type: "set.add".
func (m Mode) KindName() string {
	t, typed := m.Type()
	if !typed || !m.Valid() {
		return ""
	}
	return Lookup(t).Name + "." + Lookup(t).Kinds[m.Kind()-1].Name
}

// ParseMode returns the generic mode with a name, or ModeNone.
func ParseMode(name string) Mode {
	for m := ModeNone + 1; m < numModes; m++ {
		if m.String() == name {
			return m
		}
	}
	return ModeNone
}

// Valid reports whether the mode can be requested.
//
// Modes arrive from peers and from the log. An unknown one is not an error there: it conflicts with everything
// (canChange, areCompatible), which is safe.
func (m Mode) Valid() bool {
	if m < numModes {
		return m > ModeNone
	}
	t := Lookup(entry.Type(m >> 8))
	return t != nil && m.Kind() > 0 && int(m.Kind()) <= len(t.Kinds)
}

// compatible is the relation of the generic modes: two modes are compatible if every operation of
// the one commutes with every operation of the other. It is where commutativity becomes concurrency
// for values and counters.
//
//	        none read add  write
//	none     x    x    x    x
//	read     x    x
//	add      x         x
//	write    x
var compatible = [numModes][numModes]bool{
	ModeNone:  {true, true, true, true},
	ModeRead:  {ModeNone: true, ModeRead: true},
	ModeAdd:   {ModeNone: true, ModeAdd: true},
	ModeWrite: {ModeNone: true},
}

// Compatible reports whether different transactions may hold both modes at once. It is symmetric.
//
// It is what the protocol relies on: if it is true, the two transactions may commit in either order, and both orders
// give the same state and the same results. Package check searches for counterexamples for the data types; for the
// generic modes it follows from their operations:
//
//	read, read    neither changes the state
//	add, add      a + b = b + a in 64 bits, and neither returns the sum; an overflow is checked when the sum is
//	              applied, against all increments that may precede it
//	read, add     the reader would see the increment or not
func Compatible(a, b Mode) bool {
	if a < numModes && b < numModes {
		return compatible[a][b]
	}
	return typedCompatible(a, b)
}

// typedCompatible compares modes of which at least one is of a data type.
//
//	read of any type, with a query of a type          compatible: neither changes the value
//	get, with add(x) of a set                         not compatible: get shows the version
//	add(x) of a set, with add of a counter            not compatible: only one of them can find its type
func typedCompatible(a, b Mode) bool {
	if a == ModeNone || b == ModeNone {
		return true
	}
	// Two modes that only read are compatible, whatever their types are.
	if a.canChange() != b.canChange() || a.canChange() {
		ta, _ := a.Type()
		tb, _ := b.Type()
		if ta != tb || a < numModes || b < numModes {
			return false // one may change the type that the other requires
		}
		return Lookup(ta).areCompatible(a, b)
	}
	return true
}

// canChange reports whether an operation of the mode may change the value. An unknown mode may.
func (m Mode) canChange() bool {
	if m < numModes {
		return m > ModeRead
	}
	t := Lookup(entry.Type(m >> 8))
	return t == nil || m.Kind() == 0 || int(m.Kind()) > len(t.Kinds) || t.Kinds[m.Kind()-1].Changes
}

// Join returns the weakest mode that covers both. ok is false if there is none: then both are
// needed.
//
// Example: read and add of a counter join to write. add(x) and remove(x) of a set have no mode that covers both, so the
// transaction holds both, and each is compared with other holders.
func Join(a, b Mode) (mode Mode, ok bool) {
	switch {
	case a == b || b == ModeNone:
		return a, true
	case a == ModeNone:
		return b, true
	case a < numModes && b < numModes:
		return ModeWrite, true
	case Covers(a, b):
		return a, true
	case Covers(b, a):
		return b, true
	}
	return ModeNone, false
}

// Covers reports whether holding a suffices where b is needed: a conflicts with everything that b
// conflicts with. For modes of data types this follows from the relation of their kinds: "alone" of
// a bounded counter covers "add", and a kind on the whole set covers it on one member.
//
// It decides whether a transaction that holds a needs another lock for b. If it were true without reason, another
// transaction could change what b protects.
func Covers(a, b Mode) bool {
	switch {
	case a == b || b == ModeNone || a == ModeWrite:
		return true
	case a == ModeRead:
		return b >= numModes && !b.canChange()
	case a < numModes || b < numModes:
		return false
	}
	ta, _ := a.Type()
	tb, _ := b.Type()
	return ta == tb && Lookup(ta).covers(a, b)
}

// ModeOf returns the mode that an operation needs on its key or range, whatever the key holds. A
// call of a data type may need several modes, or weaker ones: see Modes.
//
// A blind add needs only ModeAdd, although it fails on a value: the type of a key changes only
// under ModeWrite, so the failure of an add does not reveal the order of adds. An operation with an
// expectation reads the state, so a conditional write needs ModeWrite and a requirement ModeRead.
//
// A scan holds ModeRead on its range, so that an insertion into the range, which needs ModeWrite on its key,
// conflicts with it: the range has no phantoms.
func ModeOf(op *msg.Op) Mode {
	switch op.Kind {
	case msg.OpGet, msg.OpScan:
		if op.ForUpdate {
			return ModeWrite
		}
		return ModeRead
	case msg.OpRequire:
		if op.ForUpdate {
			return ModeWrite
		}
		return ModeRead
	case msg.OpAdd:
		return ModeAdd
	case msg.OpQuery:
		return ModeRead
	}
	return ModeWrite
}

// Modes appends the modes that an operation needs to buf.
//
// Arguments that do not match leave the generic mode: the call fails when it is executed, and the failure depends on
// the type of the key, which only ModeWrite changes.
func Modes(buf []Mode, op *msg.Op) []Mode {
	if t := Lookup(entry.Type(op.Type)); op.IsCall() && t != nil {
		if m := t.Method(op.Method); m != nil && m.CheckArgs(op.Args) == nil {
			return t.modes(buf, m, m.Kind, op.Args)
		}
	}
	return append(buf, ModeOf(op))
}
