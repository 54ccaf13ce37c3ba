package adt

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Bare exposes the single steps of a type, declared or installed, on values without their Go type.
// It is for programs that examine declarations, such as package check.
type Bare struct{ *Type }

// State returns the decoded value, or the type's zero; v stores it.
func (b Bare) State(v *entry.Value) (any, error) { return b.state(v) }

// Zero returns the value of an absent key.
func (b Bare) Zero() any { return b.zero() }

// Encode returns the stored form of a decoded value.
func (b Bare) Encode(s any) []byte { return b.encode(s) }

// Decode decodes a stored form.
func (b Bare) Decode(form []byte) (any, error) { return b.decode(form) }

// Has reports whether the type has a kind of lock.
func (b Bare) Has(k Kind) bool { return b.hasKind(k) }

// AreCompatible reports whether two modes of the type are compatible, at least one of which may change
// the value.
func (b Bare) AreCompatible(x, y Mode) bool { return b.areCompatible(x, y) }

// Modes returns the modes that a call needs under a kind of lock.
func (b Bare) Modes(m *TypeMethod, k Kind, a Args) []Mode { return b.modes(nil, m, k, a) }

// ChangeModes returns the modes under which calls change their key.
func (b Bare) ChangeModes(calls []msg.Call) []Mode { return b.changeModes(nil, calls) }

// Apply is the function Apply for this type.
func (b Bare) Apply(v *entry.Value, calls []msg.Call) (entry.Value, error) { return b.apply(v, calls) }

// ApplyCall applies one call to a decoded value. The result may be Empty.
func (b Bare) ApplyCall(m *TypeMethod, s any, a Args) (any, error) { return m.apply(s, a) }

// CanChange reports whether calls of the method can be in the log: it has an Apply.
func (b Bare) CanChange(m *TypeMethod) bool { return m.apply != nil }

// CombineCalls is the function CombineCalls for this type.
func (b Bare) CombineCalls(calls, more []msg.Call) []msg.Call { return b.combineCalls(calls, more) }

// Draw makes arguments; ok is false if the method has no Draw.
func (b Bare) Draw(m *TypeMethod, n func(int) int) (a Args, ok bool) {
	if m.draw == nil {
		return nil, false
	}
	return m.draw(n), true
}
