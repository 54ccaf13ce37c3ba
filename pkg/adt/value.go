package adt

import (
	"bytes"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// state is what a value holds, decoded; the zero of the type if it holds nothing.
func (t *Type) state(v *entry.Value) (any, error) {
	switch {
	case !v.Exists():
		return t.zero(), nil
	case v.Type != t.ID:
		return nil, kv.Errorf(kv.KindWrongType, "the value is a %s, not a %s", TypeName(v.Type), t.Name)
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

// Remember decodes a value, unless it is a value or a counter or nothing, so
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

// Payload is the stored form of what a value holds, in one piece. All of it has
// to be in memory (Missing).
func Payload(v *entry.Value) []byte {
	if v.Payload == nil && v.State != nil {
		if t := Lookup(v.Type); t != nil {
			v.Payload = t.encode(v.State)
		}
	}
	return v.Payload
}

// CheckStored tells why a value of a type cannot be what is stored: it is of a type
// that is not known here, cannot be read, holds nothing, or is too large. What it
// accepts may be written by an operation that sets the whole value.
func CheckStored(id entry.Type, payload []byte) error {
	most := kv.MaxStateBytes
	if id <= Counter {
		most = kv.MaxValueBytes
	}
	if len(payload) > most {
		return kv.Errorf(kv.KindInvalid, "the stored value has %d bytes; the limit is %d", len(payload), most)
	}
	switch id {
	case Value:
		return nil
	case Counter:
		_, err := DecodeCounter(payload)
		return err
	}
	t := Lookup(id)
	if t == nil {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: fmt.Sprintf("data type %d is not known", id),
			Hint: "run a server that has the type (docs/own-types.md)"}
	}
	s, err := t.decode(payload)
	if err != nil {
		return kv.Errorf(kv.KindInvalid, "the stored form of a %s cannot be read: %v", t.Name, err)
	}
	if t.empty(s) {
		return kv.Errorf(kv.KindInvalid, "the stored form of a %s is empty; delete the key instead", t.Name)
	}
	return nil
}

// SameStored reports whether two stored forms of a type are the same value: forms
// of different versions can be. It is false for what cannot be read here.
func SameStored(id entry.Type, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	t := Lookup(id)
	if t == nil {
		return false
	}
	x, err := t.decode(a)
	y, err2 := t.decode(b)
	return err == nil && err2 == nil && bytes.Equal(t.encode(x), t.encode(y))
}

// elementBytes is what an element takes in memory besides its bytes: a node of a tree, and
// what the allocator rounds up.
const elementBytes = 64

// Memory approximates the bytes that a value takes in memory. Decoded, small
// elements take a multiple of what they do stored.
func Memory(v *entry.Value) int {
	if v.State == nil {
		return len(v.Payload)
	}
	t := Lookup(v.Type)
	if t != nil && t.elements != nil {
		return Size(v) + elementBytes*t.elements(v.State)
	}
	return 8 * max(Size(v)-Away(v), 0)
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
	Others func(func(calls []msg.Call))
	Ahead  bool
	Unique [24]byte
}

// Plan plans a call: what it needs, as modes in room, what it changes and
// answers. A failure is in the plan; without a Need it is true whatever happens,
// unless it is that pages are lacking (Lacks).
func (r *Request) Plan(room []Mode) (Plan, []Mode) {
	t := r.Method.Type
	s, err := t.state(r.Value)
	if err != nil {
		return Plan{Err: err}, room
	}
	others := r.Others
	if others == nil {
		others = func(func([]msg.Call)) {}
	}
	p := r.plan(&View[any]{State: s, Exists: r.Value.Exists(), Others: others, Ahead: r.Ahead, Unique: r.Unique})
	if p.Need != 0 {
		room = t.modes(room, r.Method, p.Need, r.Args)
	}
	return p, room
}

// plan plans the call of a value that may be in pages.
func (r *Request) plan(v *View[any]) (p Plan) {
	if t := r.Method.Type; t.pages != nil && t.pages.InPages(v.State) {
		defer t.lacking(v.State, &p.Err, func() []string { return t.names([]msg.Call{{Method: r.Method.Number, Args: r.Args}}) })
	}
	return r.Method.plan(v, r.Args)
}

// Apply makes changes to a value and returns what comes of it, without an
// identity. It does not touch v but to remember what it decoded. The error may be
// that pages are lacking (Lacks). It never is if the calls' parts have been looked
// up in the value, or in one that it has come from.
func Apply(id entry.Type, v *entry.Value, calls []msg.Call) (entry.Value, error) {
	t := Lookup(id)
	if t == nil {
		return entry.Value{}, kv.Errorf(kv.KindInvalid, "data type %d is not known", id)
	}
	return t.apply(v, calls)
}

func (t *Type) apply(v *entry.Value, calls []msg.Call) (entry.Value, error) {
	s, err := t.state(v)
	if err != nil {
		return entry.Value{}, err
	}
	s, err = t.called(s, calls)
	if err != nil {
		return entry.Value{}, err
	}
	return t.changed(s), nil
}

// called makes changes of a value that may be in pages.
func (t *Type) called(s any, calls []msg.Call) (after any, err error) {
	if t.pages != nil && t.pages.InPages(s) {
		defer t.lacking(s, &err, func() []string { return t.names(calls) })
	}
	for i := range calls {
		m := t.Method(calls[i].Method)
		if m == nil || m.apply == nil {
			return nil, kv.Errorf(kv.KindInvalid, "a %s has no update number %d", t.Name, calls[i].Method)
		}
		s, err = m.apply(s, calls[i].Args)
		if err != nil {
			return nil, err
		}
	}
	return s, nil
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
		return nil, kv.Errorf(kv.KindInvalid, "data type %d is not known", op.Type)
	}
	m := t.Method(op.Method)
	if m == nil {
		return nil, kv.Errorf(kv.KindInvalid, "a %s has no method number %d", t.Name, op.Method)
	}
	if want := m.OpKind(); op.Kind != want {
		return nil, kv.Errorf(kv.KindInvalid, "%s of a %s is a %v, not a %v", m.Name, t.Name, want, op.Kind)
	}
	return m, m.Fits(op.Args)
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
		return msg.OpQuery
	case m.Answers:
		return msg.OpUpdateGet
	}
	return msg.OpUpdate
}

// Op is the operation that calls the method on a key.
func (m *TypeMethod) Op(key []byte, args ...msg.Datum) msg.Op {
	return msg.Op{Kind: m.OpKind(), Key: key, Type: uint32(m.Type.ID), Method: m.Number, Args: args}
}
