package adt

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// Mode is an abstract lock mode: what an operation needs of a key, or of a
// range of keys, as seen by others.
type Mode uint8

const (
	// ModeNone needs nothing.
	ModeNone Mode = iota
	// ModeRead sees the state.
	ModeRead
	// ModeAdd changes the state in a way that commutes with other adds and
	// sees nothing of it.
	ModeAdd
	// ModeWrite changes the state in any way, and may see it.
	ModeWrite
	numModes
)

func (m Mode) String() string {
	if m < numModes {
		return [...]string{"none", "read", "add", "write"}[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Valid reports whether m is a mode that can be asked for.
func (m Mode) Valid() bool { return m > ModeNone && m < numModes }

// compatible is the relation, the one place where commutativity becomes
// concurrency: two modes go together if every operation of the one commutes
// with every operation of the other.
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
func Compatible(a, b Mode) bool { return compatible[a][b] }

// Join is the least mode that gives what both give.
func Join(a, b Mode) Mode {
	switch {
	case a == b || b == ModeNone:
		return a
	case a == ModeNone:
		return b
	}
	return ModeWrite
}

// Covers reports whether holding a is as good as holding b.
func Covers(a, b Mode) bool { return Join(a, b) == a }

// ModeOf is the mode that an operation needs on its span.
//
// A blind add needs ModeAdd alone, although it fails on a register: a key's
// type is changed only under ModeWrite, so adds cannot tell their order from
// whether they failed. An operation that expects something sees the state, so
// a conditional write needs ModeWrite and a requirement ModeRead.
func ModeOf(op *msg.Op) Mode {
	switch op.Kind {
	case msg.OpGet, msg.OpScan, msg.OpLockRange:
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
	}
	return ModeWrite
}
