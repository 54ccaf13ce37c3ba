package exec

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Sharing says what transactions on the same key make of it that they commute.
// The zero value is everything; the rest is for comparison (Holt 2016, section
// 4.6, compares the same).
type Sharing struct {
	// Locks is what their operations' locks go by.
	Locks Locks
	// Phasing off: whoever is younger waits behind an older one, though it goes
	// together with those that hold the lock now.
	Phasing Off
	// Combining off: each transaction writes rows of its own.
	Combining Off
}

// Locks is what locks go by.
type Locks uint8

const (
	// AbstractLocks go by what operations do: those that commute go together.
	AbstractLocks Locks = iota
	// RWLocks go by whether they write.
	RWLocks
)

var locksWords = []string{"abstract", "rw"}

func (l Locks) String() string {
	if int(l) < len(locksWords) {
		return locksWords[l]
	}
	return fmt.Sprintf("Locks(%d)", uint8(l))
}

// Set reads what String writes, for a flag.
func (l *Locks) Set(s string) error {
	i := slices.Index(locksWords, s)
	if i < 0 {
		return fmt.Errorf("want abstract or rw")
	}
	*l = Locks(i)
	return nil
}

// Type is what a flag's help calls it.
func (l *Locks) Type() string { return "abstract|rw" }

// Off is a flag that is on, or off. It holds true for off, so that its zero
// value is on.
type Off bool

func (o *Off) String() string {
	if *o {
		return "off"
	}
	return "on"
}

// Set reads what String writes.
func (o *Off) Set(s string) error {
	switch s {
	case "on", "off":
		*o = s == "off"
		return nil
	}
	return fmt.Errorf("want on or off")
}

// Type is what a flag's help calls it.
func (o *Off) Type() string { return "on|off" }

// modeOf is the lock that an operation on a key or range needs.
func (x *Executor) modeOf(op *msg.Op) adt.Mode {
	mode := adt.ModeOf(op)
	if x.cfg.Sharing.Locks == RWLocks && mode != adt.ModeRead {
		mode = adt.ModeWrite
	}
	return mode
}

// Changes lists what effects change, as readers see it.
func (x *Executor) Changes(effects []entry.Effect) []snapshotqueue.Need {
	if x.Env.Mutants.Has(mutant.MovesIgnoreReaders) && len(effects) > 0 && effects[0].IsMove() {
		return nil
	}
	out := make([]snapshotqueue.Need, 0, len(effects))
	for i := range effects {
		modes, methods := x.changeModes(&effects[i])
		for _, mode := range modes {
			out = append(out, snapshotqueue.Need{Span: kv.Point(effects[i].Key), Mode: mode, Methods: methods})
		}
	}
	return out
}

// changeModes lists what an effect does to its key, as readers see it.
func (x *Executor) changeModes(e *entry.Effect) ([]adt.Mode, adt.Methods) {
	if e.Kind == entry.EffectChange && x.Env.Mutants.Has(mutant.ChangeUnshown) {
		return nil, adt.MethodUpdate.Set()
	}
	if len(e.Calls) > 1 && x.Env.Mutants.Has(mutant.ChangeShownByFirst) {
		return adt.ChangeOf(x.modes[:0], &entry.Effect{Key: e.Key, Kind: e.Kind, Type: e.Type, Calls: e.Calls[:1]})
	}
	modes, method := adt.ChangeOf(x.modes[:0], e)
	x.modes = modes
	if x.cfg.Sharing.Locks == RWLocks {
		modes = append(modes[:0], adt.ModeWrite)
	}
	return modes, method
}

// Used counts the keys that a piece has written as used, and those of which it has asked what data
// types hold. hold is how long an update mostly keeps them locked, in nanoseconds.
func (x *Executor) Used(t *Task, effects []entry.Effect, hold int64) {
	if x.Heat.Blind() {
		return
	}
	waited, on, _ := t.Request.Waited()
	used := func(key []byte, mode adt.Mode) {
		x.Heat.Used(contention.Use{Key: key, Item: x.Find(t, key), Mode: mode, Hold: hold, Waited: waited > 0 && bytes.Equal(on, key)})
	}
	for i := range effects {
		used(effects[i].Key, x.usedAs(&effects[i]))
	}
	for i := range t.Ops {
		op := &t.Ops[i]
		if op.Kind == msg.OpQuery {
			used(op.Key, x.askedAs(op))
		}
	}
}

// usedAs is how an effect uses its key, as seen by transactions that might wait for it. Of several
// parts of a value the first stands for all.
func (x *Executor) usedAs(e *entry.Effect) adt.Mode {
	if e.Kind != entry.EffectChange && (e.Kind != entry.EffectAdd || x.cfg.Sharing.Locks == RWLocks) {
		return adt.ModeWrite
	}
	modes, _ := x.changeModes(e)
	if len(modes) > 0 {
		return modes[0]
	}
	return adt.ModeWrite
}

// askedAs is how a call that changes nothing uses its key.
func (x *Executor) askedAs(op *msg.Op) adt.Mode {
	if x.cfg.Sharing.Locks == RWLocks {
		return adt.ModeRead
	}
	x.modes = adt.Modes(x.modes[:0], op)
	return x.modes[0]
}
