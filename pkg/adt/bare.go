package adt

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Bare is a type by itself, installed or not, with what the machines otherwise do
// by its number. It is there for those who look at declarations, as package check
// does: a value without its Go type, each step of a call alone.
type Bare struct{ *Type }

// State is what a value holds, decoded, or the zero of the type; v remembers it.
func (b Bare) State(v *entry.Value) (any, error) { return b.state(v) }

// Zero is what a key holds that is not there.
func (b Bare) Zero() any { return b.zero() }

// Encode gives the stored form of what a value holds.
func (b Bare) Encode(s any) []byte { return b.encode(s) }

// Decode reads a stored form.
func (b Bare) Decode(form []byte) (any, error) { return b.decode(form) }

// Has reports whether the type has a kind of lock.
func (b Bare) Has(k Kind) bool { return b.has(k) }

// Together reports whether two modes of the type go together, of which one at
// least may change something.
func (b Bare) Together(x, y Mode) bool { return b.together(x, y) }

// Modes lists what a call needs under a kind of lock.
func (b Bare) Modes(m *TypeMethod, k Kind, a Args) []Mode { return b.modes(nil, m, k, a) }

// ChangeModes lists what changes do to their key, as others see it.
func (b Bare) ChangeModes(calls []msg.Call) []Mode { return b.changeModes(nil, calls) }

// Apply makes changes to a value, as the function Apply does.
func (b Bare) Apply(v *entry.Value, calls []msg.Call) (entry.Value, error) { return b.apply(v, calls) }

// Change makes one change of what a value holds. What comes of it may be Empty.
func (b Bare) Change(m *TypeMethod, s any, a Args) (any, error) { return m.apply(s, a) }

// CanChange reports whether a method can stand in the log: it has an Apply.
func (b Bare) CanChange(m *TypeMethod) bool { return m.apply != nil }

// Gather makes one of neighbouring calls where the type can, as the function
// Gather does.
func (b Bare) Gather(calls, more []msg.Call) []msg.Call { return b.gather(calls, more) }

// Draw makes up arguments; ok is false if the method leaves that to others.
func (b Bare) Draw(m *TypeMethod, n func(int) int) (a Args, ok bool) {
	if m.draw == nil {
		return nil, false
	}
	return m.draw(n), true
}
