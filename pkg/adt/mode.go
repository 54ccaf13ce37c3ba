package adt

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Mode is an abstract lock mode: what an operation needs of a key, or of a
// range of keys, as seen by others. It is one of the four that go for a key
// whatever it holds, or of a data type: one of the type's kinds, and the part of
// the value that it is about.
//
//	bits  0-7   kind
//	      8-15  data type, 0 for the four
//	     16-63  hash of the part, 0 for all of it
//
// Modes are in the log, as long as a transaction is prepared, and in messages:
// their numbers and the hash must never change.
type Mode uint64

const (
	// ModeNone needs nothing.
	ModeNone Mode = iota
	// ModeRead sees the state.
	ModeRead
	// ModeAdd changes a counter in a way that commutes with other adds and
	// sees nothing of it.
	ModeAdd
	// ModeWrite changes the state in any way, and may see it.
	ModeWrite
	numModes
)

// modeOf is a mode of a data type; part 0 is all of the value.
func modeOf(t entry.Type, k Kind, part uint64) Mode {
	return Mode(k) | Mode(t)<<8 | Mode(part)<<16
}

// Type is the data type that the mode belongs to; ok is false if it is one of
// the four that go for any key.
func (m Mode) Type() (t entry.Type, ok bool) { return entry.Type(m >> 8), m >= numModes }

// Kind is the type's kind of lock, for a mode of a type.
func (m Mode) Kind() Kind { return Kind(m) }

// Part is the hash of the part of a value that the mode is about, of 48 bits; 0 is
// all of the value.
func (m Mode) Part() uint64 { return uint64(m >> 16) }

// OfPart reports whether the mode is about a part of a value only.
func (m Mode) OfPart() bool { return m >= numModes && m.Part() != 0 }

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

// Name is the mode as messages to other programs name it: "write", and of a data type
// "set.add". It is empty for ModeNone and for modes that are not known.
func (m Mode) Name() string {
	if m < numModes && m != ModeNone {
		return m.String()
	}
	return m.KindName()
}

// ModeNamed is the mode with a name, of those for any key; ModeNone if there is none.
func ModeNamed(name string) Mode {
	for m := ModeNone + 1; m < numModes; m++ {
		if m.String() == name {
			return m
		}
	}
	return ModeNone
}

// Valid reports whether m is a mode that can be asked for.
func (m Mode) Valid() bool {
	if m < numModes {
		return m > ModeNone
	}
	t := Lookup(entry.Type(m >> 8))
	return t != nil && m.Kind() > 0 && int(m.Kind()) <= len(t.Kinds)
}

// compatible is the relation for any key, the one place where commutativity
// becomes concurrency for values and counters: two modes go together if every
// operation of the one commutes with every operation of the other. Other data
// types bring a relation of their own.
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

// Compatible reports whether both modes may be held at once by different
// transactions. It is symmetric.
func Compatible(a, b Mode) bool {
	if a < numModes && b < numModes {
		return compatible[a][b]
	}
	return typedCompatible(a, b)
}

func typedCompatible(a, b Mode) bool {
	if a == ModeNone || b == ModeNone {
		return true
	}
	if a.changes() != b.changes() || a.changes() {
		ta, _ := a.Type()
		tb, _ := b.Type()
		if ta != tb || a < numModes || b < numModes {
			return false // one of them may make what the other finds of a wrong type
		}
		return Lookup(ta).together(a, b)
	}
	return true
}

// changes reports whether operations of the mode may change something.
func (m Mode) changes() bool {
	if m < numModes {
		return m > ModeRead
	}
	t := Lookup(entry.Type(m >> 8))
	return t == nil || m.Kind() == 0 || int(m.Kind()) > len(t.Kinds) || t.Kinds[m.Kind()-1].Changes
}

// Join is the least mode that gives what both give. ok is false if there is
// none: then both are needed.
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

// Covers reports whether holding a is as good as holding b: it keeps out all that b
// does. For modes of data types that follows from what their kinds go with: "alone"
// of a bounded counter is as good as "add", and all of a set as one member.
func Covers(a, b Mode) bool {
	switch {
	case a == b || b == ModeNone || a == ModeWrite:
		return true
	case a == ModeRead:
		return b >= numModes && !b.changes()
	case a < numModes || b < numModes:
		return false
	}
	ta, _ := a.Type()
	tb, _ := b.Type()
	return ta == tb && Lookup(ta).covers(a, b)
}

// ModeOf is the mode that an operation on a key or range needs on its span
// whatever the key holds. One of a data type may need several, or less: see
// Modes.
//
// A blind add needs ModeAdd alone, although it fails on a value: a key's
// type is changed only under ModeWrite, so adds cannot tell their order from
// whether they failed. An operation that expects something sees the state, so
// a conditional write needs ModeWrite and a requirement ModeRead.
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

// Modes lists what an operation needs of its span, appended to room.
func Modes(room []Mode, op *msg.Op) []Mode {
	if t := Lookup(entry.Type(op.Type)); op.IsCall() && t != nil {
		if m := t.Method(op.Method); m != nil && m.Fits(op.Args) == nil {
			return t.modes(room, m, m.Kind, op.Args)
		}
	}
	return append(room, ModeOf(op))
}
