package adt

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// state is what a value holds, decoded; the zero of the type if it holds nothing.
func (t *Type) state(v *entry.Value) (any, error) {
	switch {
	case !v.Exists():
		return t.zero(), nil
	case v.State != nil:
		return v.State, nil
	}
	s, err := t.decode(v.Payload)
	if err != nil {
		return nil, kv.Errorf(kv.KindCorrupt, "a stored %s cannot be read: %v", t.Name, err)
	}
	v.State = s
	return s, nil
}

// Remember decodes a value, unless it is a register or a counter or nothing, so
// that it need not be done again for each of its copies. What cannot be read is
// left as it is: whoever calls a method of it is told.
func Remember(v *entry.Value) {
	if v.State == nil && v.Type > Counter && v.Exists() {
		if t := Lookup(v.Type); t != nil {
			_, _ = t.state(v)
		}
	}
}

// Changed is a value after a change: of the type, or a tombstone if there is
// nothing left.
func (t *Type) changed(s any) entry.Value {
	if t.empty(s) {
		return entry.Value{Type: entry.TypeDeleted}
	}
	return entry.Value{Type: t.ID, State: s}
}

// Payload is the stored form of what a value holds.
func Payload(v *entry.Value) []byte {
	if v.Payload == nil && v.State != nil {
		if t := Lookup(v.Type); t != nil {
			v.Payload = t.encode(v.State)
		}
	}
	return v.Payload
}

// Memory approximates the bytes that a value takes in memory. Decoded, small
// elements take a multiple of what they do stored.
func Memory(v *entry.Value) int {
	if v.State != nil {
		return 8 * Size(v)
	}
	return len(v.Payload)
}

// Size approximates the length of Payload.
func Size(v *entry.Value) int {
	if v.Payload == nil && v.State != nil {
		if t := Lookup(v.Type); t != nil {
			return t.size(v.State)
		}
	}
	return len(v.Payload)
}

// Request is a call that is about to be planned.
type Request struct {
	Method *TypeMethod
	Args   Args
	// Value is the key's, with the transaction's own changes.
	Value *entry.Value
	// Others, Ahead and Unique are as in View.
	Others func(func(method uint32, args Args))
	Ahead  bool
	Unique [24]byte
}

// Planned is a plan that has been made already.
type Planned struct {
	Plan Plan
	// Modes are what it needs.
	Modes []Mode

	version kv.Version
	exists  bool
	room    [2]Mode
}

// NewPlanned keeps the plan for a value, of which nobody else's changes are
// undecided, and the modes that it needs.
func NewPlanned(p Plan, modes []Mode, v *entry.Value) *Planned {
	out := &Planned{Plan: p, version: v.Version, exists: v.Exists()}
	out.Modes = append(out.room[:0], modes...)
	return out
}

// For reports whether the plan is that for a value, of which nobody else's
// changes are undecided.
func (p *Planned) For(v *entry.Value) bool {
	return p != nil && p.version == v.Version && p.exists == v.Exists()
}

// Plan plans a call: what it needs, as modes in room, what it changes and
// answers. A failure is in the plan; without a Need it is true whatever happens.
func (r *Request) Plan(room []Mode) (Plan, []Mode) {
	t := r.Method.Type
	s, err := t.state(r.Value)
	if err != nil {
		return Plan{Err: err}, room
	}
	others := r.Others
	if others == nil {
		others = func(func(uint32, Args)) {}
	}
	p := r.Method.plan(&View[any]{State: s, Exists: r.Value.Exists(), Others: others, Ahead: r.Ahead, Unique: r.Unique}, r.Args)
	if p.Need != 0 {
		room = t.modes(room, r.Method, p.Need, r.Args)
	}
	return p, room
}

// Apply makes changes to a value and returns what comes of it, without an
// identity. It does not touch v but to remember what it decoded.
func Apply(id entry.Type, v *entry.Value, calls []msg.Call) (entry.Value, error) {
	t := Lookup(id)
	if t == nil {
		return entry.Value{}, kv.Errorf(kv.KindInvalid, "data type %d is not known here", id)
	}
	return t.apply(v, calls)
}

func (t *Type) apply(v *entry.Value, calls []msg.Call) (entry.Value, error) {
	s, err := t.state(v)
	if err != nil {
		return entry.Value{}, err
	}
	for i := range calls {
		m := t.Method(calls[i].Method)
		if m == nil || m.apply == nil {
			return entry.Value{}, kv.Errorf(kv.KindInvalid, "a %s has no change number %d", t.Name, calls[i].Method)
		}
		if s, err = m.apply(s, calls[i].Args); err != nil {
			return entry.Value{}, err
		}
	}
	return t.changed(s), nil
}

// Merge adds calls to those that a transaction has made already on a key, and
// makes one of neighbours where the type can. It may change calls, as append does,
// and keeps more's arguments.
func Merge(id entry.Type, calls, more []msg.Call) []msg.Call {
	return Lookup(id).merge(calls, more)
}

func (t *Type) merge(calls, more []msg.Call) []msg.Call {
	return t.gather(calls, more)
}

// ChangeModes lists what a change does to its key, as others see it, appended to
// room.
func ChangeModes(room []Mode, id entry.Type, calls []msg.Call) []Mode {
	t := Lookup(id)
	if t == nil {
		return append(room, ModeWrite)
	}
	return t.changeModes(room, calls)
}

func (t *Type) changeModes(room []Mode, calls []msg.Call) []Mode {
	for i := range calls {
		m := t.Method(calls[i].Method)
		if m == nil {
			return append(room, ModeWrite)
		}
		room = t.modes(room, m, m.Kind, calls[i].Args)
	}
	return room
}

// Find resolves the method that an operation calls, and checks its arguments.
func Find(op *msg.Op) (*TypeMethod, error) {
	t := Lookup(entry.Type(op.Type))
	if t == nil || op.Type > 255 {
		return nil, kv.Errorf(kv.KindInvalid, "data type %d is not known here", op.Type)
	}
	m := t.Method(op.Method)
	if m == nil {
		return nil, kv.Errorf(kv.KindInvalid, "a %s has no method number %d", t.Name, op.Method)
	}
	if want := m.OpKind(); op.Kind != want {
		return nil, kv.Errorf(kv.KindInvalid, "%s of a %s is called by %v, not by %v", m.Name, t.Name, want, op.Kind)
	}
	return m, m.fits(op.Args)
}

// NeedsPlan reports whether the lock that a call needs depends on more than its
// arguments.
func NeedsPlan(op *msg.Op) bool {
	t := Lookup(entry.Type(op.Type))
	if t == nil || op.Type > 255 {
		return false
	}
	m := t.Method(op.Method)
	return m != nil && m.planned
}

// OpKind is the operation that calls the method.
func (m *TypeMethod) OpKind() msg.OpKind {
	switch {
	case !m.Changes:
		return msg.OpAsk
	case m.Answers:
		return msg.OpChangeAsk
	}
	return msg.OpChange
}

// Op is the operation that calls the method on a key.
func (m *TypeMethod) Op(key []byte, args ...msg.Datum) msg.Op {
	return msg.Op{Kind: m.OpKind(), Key: key, Type: uint32(m.Type.ID), Method: m.Number, Args: args}
}
