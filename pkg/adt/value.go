package adt

import (
	"bytes"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// state returns the decoded value, the type's zero if there is none. It stores the decoded form in
// v.
//
// HAZARD: v is changed. The decoded form is shared by all copies of the value that are made afterwards, and by all
// goroutines that read them: nothing may change it.
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

// CacheState decodes a value of a data type, so that its copies share the decoded form. A value that
// cannot be decoded is left as it is: calls of its methods return the error.
//
// Without it each of n readers of one version would decode its own copy, since each starts from the stored form.
func CacheState(v *entry.Value) {
	if v.State == nil && v.Type > Counter && v.Exists() {
		if t := Lookup(v.Type); t != nil {
			_, _ = t.state(v)
		}
	}
}

// newValue returns the value with a decoded form: a tombstone if it is empty.
//
// A value that has become empty is not stored, so no operation can distinguish an emptied set from one that
// never existed: not by a scan, not by a condition, and not by the type of the next operation.
func (t *Type) newValue(s any) entry.Value {
	if t.empty(s) {
		return entry.Value{Type: entry.TypeDeleted}
	}
	return entry.Value{Type: t.ID, State: s}
}

// Payload returns the stored form of a value in one piece. All its pages must be in memory (see
// MissingPages).
//
// The stored form is kept in v: a value that is logged, checkpointed and sent is encoded once.
func Payload(v *entry.Value) []byte {
	if v.Payload == nil && v.State != nil {
		if t := Lookup(v.Type); t != nil {
			v.Payload = t.encode(v.State)
		}
	}
	return v.Payload
}

// CheckStored returns an error if payload cannot be a stored value: the type is not known here, or
// the form cannot be decoded, is empty or too large. An operation that sets the whole value may
// write what it accepts.
//
// It guards the operation with which a restore, or any client, writes a whole stored value. What passes must be
// readable by every later version.
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

// SameStored reports whether two stored forms are the same value; forms of different versions can
// be. It is false for forms that cannot be decoded here.
//
// A restore compares what it has written with the backup, which an older version may have stored in another form.
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

// elementBytes approximates the memory of an element beyond its bytes: a tree node and the
// allocator's rounding.
const elementBytes = 64

// Memory approximates the memory of a value in bytes. Decoded, small elements take a multiple of
// their stored size.
//
// It is an estimate for the budget of caches: no decision about the content of a value depends on it.
func Memory(v *entry.Value) int {
	if v.State == nil {
		return len(v.Payload)
	}
	t := Lookup(v.Type)
	if t != nil && t.elements != nil {
		return Size(v) + elementBytes*t.elements(v.State)
	}
	return 8 * max(Size(v)-UnloadedBytes(v), 0)
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

// Request is a call to be planned.
type Request struct {
	Method *TypeMethod
	Args   Args
	// Value is the key's value with the transaction's own changes.
	Value *entry.Value
	// Others, Ahead and Unique are as in View.
	Others func(func(calls []msg.Call))
	Ahead  bool
	Unique [24]byte
}

// Plan plans a call and appends the modes that it needs to buf. A failure is in the plan; without a
// Need it is true for all outcomes, unless the error is that pages are not in memory (AbsentPages).
//
// A failure is true for all outcomes of the undecided transactions if the plan needs no lock; else under that lock.
func (r *Request) Plan(buf []Mode) (Plan, []Mode) {
	t := r.Method.Type
	s, err := t.state(r.Value)
	if err != nil {
		return Plan{Err: err}, buf
	}
	others := r.Others
	if others == nil {
		others = func(func([]msg.Call)) {}
	}
	p := r.plan(&View[any]{State: s, Exists: r.Value.Exists(), Others: others, Ahead: r.Ahead, Unique: r.Unique})
	if p.Need != 0 {
		buf = t.modes(buf, r.Method, p.Need, r.Args)
	}
	return p, buf
}

// plan plans the call and reports absent pages.
//
// The deferred function costs more than most plans, so it is set up only for values in pages.
func (r *Request) plan(v *View[any]) (p Plan) {
	// Only values in pages can panic with absent pages; others need no recover.
	if t := r.Method.Type; t.pages != nil && t.pages.InPages(v.State) {
		defer t.recoverAbsent(v.State, &p.Err, func() []string {
			return t.elementNames(
				[]msg.Call{{Method: r.Method.Number, Args: r.Args}})
		})
	}
	return r.Method.plan(v, r.Args)
}

// Apply applies calls to a value and returns the result, without a version. It does not change v,
// except that it stores the decoded form. The error may be that pages are not in memory (AbsentPages),
// but not if the calls' parts were looked up in this value or an earlier one that it is derived
// from.
//
// It is used three times for a change: to compute the value that later operations of the same piece see, to make the
// change visible, and to fold deltas that were read from the log. All three must agree, so it depends on nothing
// else.
func Apply(id entry.Type, v *entry.Value, calls []msg.Call) (entry.Value, error) {
	t := Lookup(id)
	if t == nil {
		return entry.Value{}, kv.Errorf(kv.KindInvalid, "data type %d is not known", id)
	}
	return t.apply(v, calls)
}

// apply implements Apply for this type.
func (t *Type) apply(v *entry.Value, calls []msg.Call) (entry.Value, error) {
	s, err := t.state(v)
	if err != nil {
		return entry.Value{}, err
	}
	s, err = t.applyCalls(s, calls)
	if err != nil {
		return entry.Value{}, err
	}
	return t.newValue(s), nil
}

// applyCalls applies calls to a decoded value and reports absent pages.
//
// A method without Apply is in no log that this program has written, but may be in one of a newer program, after a
// downgrade. It is an error: leaving the change out would lose it.
func (t *Type) applyCalls(s any, calls []msg.Call) (after any, err error) {
	if t.pages != nil && t.pages.InPages(s) {
		defer t.recoverAbsent(s, &err, func() []string { return t.elementNames(calls) })
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

// ChangeModes appends the modes under which calls change their key to buf.
//
// The modes are those of the methods' Kinds, which conflict with everything that the planned kinds conflict with
// (package check verifies it): the plan is not in the log, and after a restart the value that it was made on is gone.
func ChangeModes(buf []Mode, id entry.Type, calls []msg.Call) []Mode {
	t := Lookup(id)
	if t == nil {
		return append(buf, ModeWrite)
	}
	return t.changeModes(buf, calls)
}

// changeModes implements ChangeModes. A method that is not declared here needs ModeWrite, which
// conflicts with everything.
func (t *Type) changeModes(buf []Mode, calls []msg.Call) []Mode {
	for i := range calls {
		m := t.Method(calls[i].Method)
		if m == nil {
			return append(buf, ModeWrite)
		}
		buf = t.modes(buf, m, m.Kind, calls[i].Args)
	}
	return buf
}

// Find returns the method that an operation calls, and an error if its arguments do not match.
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
	return m, m.CheckArgs(op.Args)
}

// NeedsPlan reports whether the lock that a call needs depends on more than its arguments.
//
// If not, its locks are known when the piece arrives, and no key has to be in memory for them.
func NeedsPlan(op *msg.Op) bool {
	t := Lookup(entry.Type(op.Type))
	if t == nil || op.Type > 255 {
		return false
	}
	m := t.Method(op.Method)
	return m != nil && m.hasPlan
}

// OpKind returns the kind of the operation that calls the method.
//
// The kind is redundant on the wire, and is compared (Find): a peer that has another declaration of the method would
// otherwise apply an update where the sender expects a query.
func (m *TypeMethod) OpKind() msg.OpKind {
	switch {
	case !m.Changes:
		return msg.OpQuery
	case m.Answers:
		return msg.OpUpdateGet
	}
	return msg.OpUpdate
}

// Op returns the operation that calls the method on a key.
func (m *TypeMethod) Op(key []byte, args ...msg.Datum) msg.Op {
	return msg.Op{Kind: m.OpKind(), Key: key, Type: uint32(m.Type.ID), Method: m.Number, Args: args}
}
