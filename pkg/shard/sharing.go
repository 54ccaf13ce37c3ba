package shard

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
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
func (m *Machine) modeOf(op *msg.Op) adt.Mode {
	mode := adt.ModeOf(op)
	if m.cfg.Sharing.Locks == RWLocks && mode != adt.ModeRead {
		mode = adt.ModeWrite
	}
	return mode
}

// changeModes lists what an effect does to its key, as readers see it.
func (m *Machine) changeModes(e *entry.Effect) ([]adt.Mode, adt.Methods) {
	if e.Kind == entry.EffectChange && m.cfg.Mutants.Has(mutant.ChangeUnshown) {
		return nil, adt.MethodChange.Set()
	}
	if len(e.Calls) > 1 && m.cfg.Mutants.Has(mutant.ChangeShownByFirst) {
		return adt.ChangeOf(m.modes[:0], &entry.Effect{Key: e.Key, Kind: e.Kind, Type: e.Type, Calls: e.Calls[:1]})
	}
	modes, method := adt.ChangeOf(m.modes[:0], e)
	m.modes = modes
	if m.cfg.Sharing.Locks == RWLocks {
		modes = append(modes[:0], adt.ModeWrite)
	}
	return modes, method
}

// lockOptions are those of the lock table.
func (c *Config) lockOptions() lock.Options {
	opt := c.Lock
	opt.NoPhasing = opt.NoPhasing || bool(c.Sharing.Phasing)
	return opt
}
