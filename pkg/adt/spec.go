package adt

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Args are the arguments of a call, in the order of the method's Params.
type Args = []msg.Datum

// Kind is a kind of lock of one data type: its position in Spec.Kinds, from 1.
type Kind uint8

// KindSpec describes a kind of lock.
type KindSpec struct {
	// Name is one or two words, used in contention receipts: "add".
	Name string
	// Changes: an operation under this lock may change the value.
	Changes bool
}

// When is the condition under which two kinds of lock commute.
type When uint8

const (
	// Always: they commute for any parts.
	Always When = iota + 1
	// OtherPart: they commute for different parts.
	OtherPart
)

// Commutes declares that two kinds of lock commute. Two kinds without changes always do; pairs that
// are not listed never do.
//
// What it means: for every value, and all calls under the two kinds (with When = OtherPart, on different parts), both
// orders give the same value and every call returns the same in both.
type Commutes struct {
	A, B Kind
	When When
}

// Param is a parameter of a method.
type Param struct {
	// Name is a lower-case word: "set".
	Name string
	Kind msg.DatumKind
	// Optional: this parameter and those after it may be omitted.
	Optional bool
	// Many: this parameter and those after it repeat, at least once, or any number of times if it is
	// also Optional.
	Many bool
}

// FirstUserType is the first number for users' types.
const FirstUserType entry.Type = 128

// Spec declares a data type with values of type S. Locks, phases, combining, storage, the generic
// call in the API, the command line and metrics follow from it.
//
// A value of type S is immutable: a method returns a new value, which may share unchanged parts. So
// a transaction that undoes its writes, the reader of an old version and the writer of a new one
// are independent.
//
// Example: a type "flag" with one bit, of which two raises commute and a read conflicts with a raise.
//
//	Kinds:   {"raise", Changes}, {"read"}
//	Commute: {raise, raise, Always}
//	Methods: raise (Kind raise, Apply: true), get (Kind read, Answer: the bit)
//	Empty:   the bit is false, so that an absent key is a flag that is down
type Spec[S any] struct {
	// ID is the type's number in stored values and never changes: 2 to 127 are linchpin's, 128 to
	// 239 are for users' types.
	ID entry.Type
	// Name is a lower-case word, or several with dashes: "add".
	Name string
	// Doc is one sentence: what a value is, and its limits.
	Doc string
	// Zero returns the value of an absent key.
	Zero func() S
	// Encode returns the stored form. Equal values have equal forms.
	Encode func(S) []byte
	// Decode reads what Encode has written, in this version or an older one.
	Decode func([]byte) (S, error)
	// Empty reports whether a value is equivalent to an absent key, which it then becomes. If nil,
	// no value is.
	Empty func(S) bool
	// Size approximates the size of the stored form in bytes. If nil, it is len(Encode(s)).
	Size func(S) int
	// Elements returns the number of elements of a decoded value, to estimate its memory. If nil,
	// the estimate is eight times the size, as if elements were small.
	Elements func(S) int
	// Kinds are the type's kinds of lock; their order never changes.
	Kinds []KindSpec
	// Commute declares which kinds commute.
	Commute []Commutes
	// Methods are the type's methods; their order never changes.
	Methods []MethodSpec[S]
	// Pages declares how large values are stored in pages. If nil, values are stored whole.
	Pages *Pages[S]
}

// MethodSpec declares a method of a data type.
//
// Example. "contains" of a set has no Apply. Its Plan looks the member up and needs the kind present or absent; if
// the value is not known, it needs Kind, member, which commutes with less.
type MethodSpec[S any] struct {
	// Name is a lower-case word, or several with dashes: "add".
	Name string
	// Doc is one sentence: what the method does, and what it returns.
	Doc    string
	Params []Param
	// Kind is the lock that the method needs if the value is not known, or if it has no Plan.
	Kind Kind
	// Part returns the parts that the call concerns, as bytes that differ if the parts do; nil for
	// the whole value.
	Part func(Args) [][]byte
	// Apply executes the change; nil if there is none. It is called again when the change becomes
	// visible, on a value that commuting changes may have altered, and must not fail then if it did
	// not fail before.
	Apply func(S, Args) (S, error)
	// Answer returns the result of the call, computed from the value before the change; nil if there
	// is none.
	Answer func(S, Args) ([]msg.Datum, error)
	// Answers: the method returns a result from its Plan although Answer is nil.
	Answers bool
	// Distinct: no two calls return the same, so no call shares another's answer. Its Plan can use
	// View.Unique, which is zero otherwise.
	Distinct bool
	// Plan, if set, replaces Kind, Apply and Answer where they depend on more than the arguments.
	// Kind is still the lock that is needed if the value is not known.
	Plan func(*View[S], Args) Plan
	// Combine, if set, merges two successive calls of a transaction into one; ok is false if they
	// cannot be merged.
	Combine func(first, then Args) (both Args, ok bool)
	// Draw, if set, makes arguments for package check; otherwise they are made from Params. n
	// returns a number from 0 up to its argument, exclusive.
	Draw func(n func(int) int) Args
}

// View is the input of a Plan.
type View[S any] struct {
	// State is the value with the transaction's own changes so far.
	State S
	// Exists: the key has a value.
	Exists bool
	// Others visits the transactions whose changes are undecided, each with its calls in order. Each
	// of them may commit or abort as a whole, in any order; a part of its calls is never visible.
	// The calls must not be changed.
	Others func(visit func(calls []msg.Call))
	// Ahead: the answer is returned now and the change is made with the commit, so only a lock can
	// keep it true until then.
	Ahead bool
	// Unique differs for every call of every transaction, for methods that are Distinct.
	Unique [24]byte
}

// Plan is the effect of a call.
//
// A plan is a function of its View. Between the two times that a call is planned other transactions may commit, and
// the second plan may need another kind of lock. The call then requests that one and is planned again.
type Plan struct {
	// Need is the kind of lock that must be held for the plan to be true. If it is not held, the
	// call requests it and plans again.
	Need Kind
	// Calls are the changes, as calls of methods of this type with Apply.
	Calls []msg.Call
	// Answer is the result of the call.
	Answer []msg.Datum
	// Err fails the whole transaction. With a Need it is true only under that lock; without one it
	// is true under the method's Kind where that was requested.
	Err error
	// Short is the shortage because of which a stronger lock is needed; nil if there is none. It is
	// for contention receipts: no decision depends on it.
	Short *Shortage
}

// Shortage compares the certain distance to a bound with the larger amount that a call requested.
type Shortage struct {
	// Left is the certain amount: what is left if all undecided transactions that reduce it commit,
	// and none that increase it.
	Left      uint64
	Requested uint64
}

// As returns a plan that calls the method's Apply with the call's arguments. It is for Plans that
// only choose the lock.
func As(need Kind, method uint32, a Args, answer ...msg.Datum) Plan {
	return Plan{Need: need, Calls: []msg.Call{{Method: method, Args: a}}, Answer: answer}
}

// Bytes returns a datum of bytes.
func Bytes(b []byte) msg.Datum { return msg.Datum{Kind: msg.DatumBytes, Bytes: b} }

// Int returns an integer datum.
func Int(n int64) msg.Datum { return msg.Datum{Kind: msg.DatumInt, Int: n} }

// Float returns a number datum.
func Float(f float64) msg.Datum { return msg.Datum{Kind: msg.DatumFloat, Float: f} }

// Nil returns the datum that stands for absence.
func Nil() msg.Datum { return msg.Datum{} }

// Bool returns a truth value datum.
func Bool(is bool) msg.Datum {
	d := msg.Datum{Kind: msg.DatumBool}
	if is {
		d.Int = 1
	}
	return d
}

// Errorf returns an error of a method. Suitable kinds: kv.KindInvalid for bad arguments,
// kv.KindOutOfRange for what does not fit into a value or its bounds, kv.KindNotFound for a value
// that must exist, and kv.KindConditionFailed for any other state that does not allow the call.
//
// The error fails the whole transaction, and its text is what the client sees: what failed, why, and what to do. A
// retry without a change of the value fails again.
func Errorf(kind kv.Kind, format string, args ...any) error {
	return &kv.Error{Kind: kind, Op: -1, Text: fmt.Sprintf(format, args...)}
}
