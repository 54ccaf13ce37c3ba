package exec

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Sharing controls how transactions on one key benefit from commuting. The zero value enables everything; the
// other values exist for comparison (Holt 2016, section 4.6, compares the same ones).
type Sharing struct {
	// Locks selects the lock modes.
	Locks Locks
	// Phasing off: a request queues behind an older incompatible waiter even if it is compatible with the
	// holders.
	Phasing Off
	// Combining off: each transaction writes its own rows.
	Combining Off
}

// Locks selects the lock modes of operations.
type Locks uint8

const (
	// AbstractLocks: operations that commute have compatible modes.
	AbstractLocks Locks = iota
	// RWLocks: a mode is read or write.
	RWLocks
)

var locksNames = []string{"abstract", "rw"}

func (l Locks) String() string {
	if int(l) < len(locksNames) {
		return locksNames[l]
	}
	return fmt.Sprintf("Locks(%d)", uint8(l))
}

// Set parses the result of String, for a flag.
func (l *Locks) Set(s string) error {
	i := slices.Index(locksNames, s)
	if i < 0 {
		return fmt.Errorf("want abstract or rw")
	}
	*l = Locks(i)
	return nil
}

// Type is the name of the type in the help of a flag.
func (l *Locks) Type() string { return "abstract|rw" }

// Off is a flag with the values on and off. It is true for off, so that the zero value is on.
type Off bool

func (o *Off) String() string {
	if *o {
		return "off"
	}
	return "on"
}

// Set parses the result of String, for a flag.
func (o *Off) Set(s string) error {
	switch s {
	case "on", "off":
		*o = s == "off"
		return nil
	}
	return fmt.Errorf("want on or off")
}

// Type is the name of the type in the help of a flag.
func (o *Off) Type() string { return "on|off" }

// modeOf returns the lock mode of an operation on a key or range.
// With read-write locks every change is a write.
func (x *planner) modeOf(op *msg.Op) adt.Mode {
	mode := adt.ModeOf(op)
	if x.sharing.Locks == RWLocks && mode != adt.ModeRead {
		mode = adt.ModeWrite
	}
	return mode
}

// Changes returns the changes of effects as the snapshot-queues compare them with reads.
//
// They are the modes of the changes, not of the locks: a put that is conditional on a value locks and changes the
// key; a call that was refused has locked a part of the value and changes nothing, so it holds no reader back.
func (x *Executor) Changes(effects []entry.Effect) []snapshotqueue.Need {
	out := make([]snapshotqueue.Need, 0, len(effects))
	for i := range effects {
		modes, methods := x.planner.changeModes(&effects[i])
		for _, mode := range modes {
			out = append(out, snapshotqueue.Need{Span: kv.Point(effects[i].Key), Mode: mode, Methods: methods})
		}
	}
	return out
}

// RecordUse reports the keys that a piece has written or queried to the heat statistics. hold is for how long
// an update usually locks them, in nanoseconds.
//
// The wait of a task for a lock was recorded when the lock was granted (Granted); here only the use is.
func (x *Executor) RecordUse(t *Task, effects []entry.Effect, hold int64) {
	// The measurement is disabled: the modes of the uses are not needed.
	if x.Heat.IsDisabled() {
		return
	}
	waited, on, _ := t.Request.Waited()
	used := func(key []byte, mode adt.Mode) {
		x.Heat.RecordUse(contention.Use{
			Key: key, Item: x.Find(t, key), Mode: mode, Hold: hold, Waited: waited > 0 && bytes.Equal(on, key),
		})
	}
	for i := range effects {
		used(effects[i].Key, x.planner.useMode(&effects[i]))
	}
	for i := range t.Ops {
		op := &t.Ops[i]
		if op.Kind == msg.OpQuery {
			used(op.Key, x.planner.queryMode(op))
		}
	}
}

// useMode is the mode of an effect as transactions that would wait for it see it. If it concerns several
// parts of a value, the first one represents all.
func (x *planner) useMode(e *entry.Effect) adt.Mode {
	if e.Kind != entry.EffectChange && (e.Kind != entry.EffectAdd || x.sharing.Locks == RWLocks) {
		return adt.ModeWrite
	}
	modes, _ := x.changeModes(e)
	if len(modes) > 0 {
		return modes[0]
	}
	return adt.ModeWrite
}

// queryMode is the mode of a call that changes nothing.
func (x *planner) queryMode(op *msg.Op) adt.Mode {
	if x.sharing.Locks == RWLocks {
		return adt.ModeRead
	}
	x.modes = adt.Modes(x.modes[:0], op)
	return x.modes[0]
}
