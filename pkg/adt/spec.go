package adt

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Args are the arguments of a call, in the order of the method's Params.
type Args = []msg.Datum

// Kind is a kind of lock of one data type: its number in Spec.Kinds, from 1.
type Kind uint8

// KindSpec describes a kind of lock.
type KindSpec struct {
	// Name is a word or two, as it stands in a contention receipt: "add".
	Name string
	// Changes: an operation under it may change the value.
	Changes bool
}

// When says for which parts two kinds of lock go together.
type When uint8

const (
	// Always: they commute, whatever the parts.
	Always When = iota + 1
	// OtherPart: they commute if they are about different parts.
	OtherPart
)

// Commutes says that two kinds of lock go together. Two that change nothing
// always do; of others, those that are not listed never do.
type Commutes struct {
	A, B Kind
	When When
}

// Param is a parameter of a method.
type Param struct {
	Name string
	Kind msg.DatumKind
	// Optional: it and those after it may be left out.
	Optional bool
	// Many: it, with those after it, may come again and again: at least once,
	// unless it is Optional too.
	Many bool
}

// FirstOwn is the first of the numbers that are free for types of users.
const FirstOwn entry.Type = 128

// Spec declares a data type whose values are S. Everything that linchpin does
// with the type follows from it: locks, phases, combining, storage, the generic
// call in the API, the command line and metrics.
//
// A value of type S is never changed: a method makes a new one, which may share
// what stayed the same. So the transaction that undoes its own writes, the reader
// of an old version and the writer of a new one need not know of each other.
type Spec[S any] struct {
	// ID is the type's number in stored values, and must never change: 2 to 127
	// are linchpin's, 128 to 239 are for types of users.
	ID entry.Type
	// Name is a lower-case word: "set".
	Name string
	// Doc says in a sentence what a value is, and whatever limits there are.
	Doc string
	// Zero is the value of a key that is not there.
	Zero func() S
	// Encode gives the stored form. Equal values have equal forms.
	Encode func(S) []byte
	// Decode reads what Encode, of this version or an older one, has written.
	Decode func([]byte) (S, error)
	// Empty reports whether a value is as good as none: then the key goes away.
	// Nil: it never does.
	Empty func(S) bool
	// Size approximates the bytes of the stored form. Nil: len(Encode(s)).
	Size func(S) int
	// Elements is how many elements a value in memory has, to tell what it takes there.
	// Nil: it is taken for eight times its size, as if they were small.
	Elements func(S) int
	// Kinds are the type's kinds of lock; their order must never change.
	Kinds []KindSpec
	// Commute is which of them go together.
	Commute []Commutes
	// Methods are what can be done with a value; their order must never change.
	Methods []MethodSpec[S]
	// Pages is how large values are stored in pages. Nil: they are stored whole.
	Pages *Pages[S]
}

// MethodSpec declares one thing that can be done with a value of a data type.
type MethodSpec[S any] struct {
	// Name is a lower-case word, or several with dashes: "add".
	Name string
	// Doc is a sentence: what it does, and what it returns.
	Doc    string
	Params []Param
	// Kind is the lock that it needs whatever the value is.
	Kind Kind
	// Part gives what the call is about, as bytes that differ if the parts do;
	// nil for all of the value.
	Part func(Args) [][]byte
	// Apply makes the change; nil if the method changes nothing. It is called
	// again when the change becomes visible, with a value that commuting changes
	// may have altered, and must not fail then if it did not fail before.
	Apply func(S, Args) (S, error)
	// Answer gives what the call returns, of the value before the change; nil if
	// it returns nothing.
	Answer func(S, Args) ([]msg.Datum, error)
	// Answers: the method returns something although Answer is nil, from its Plan.
	Answers bool
	// Distinct: no two calls are answered the same, so that none shares another's
	// answer. The Plan finds View.Unique, which is zero otherwise.
	Distinct bool
	// Plan, if there is one, decides what a call needs and does, in the place of
	// Kind, Apply and CommitResponse, as far as that depends on more than its arguments.
	// Kind is what it needs when the value is not known.
	Plan func(*View[S], Args) Plan
	// Combine, if there is one, makes one call of two that follow each other in a
	// transaction; ok is false if they cannot be one.
	Combine func(first, then Args) (both Args, ok bool)
	// Draw, if there is one, makes up arguments for the machine's check of
	// commutativity; otherwise they are made up from Params. n gives a number from
	// 0 up to its argument, without it.
	Draw func(n func(int) int) Args
}

// View is what a Plan may look at.
type View[S any] struct {
	// State is the value with the transaction's own changes so far.
	State S
	// Exists: there is a value.
	Exists bool
	// Others visits the other transactions whose changes are undecided, each with
	// its calls in their order. Each transaction may or may not come to be, all of it
	// or nothing, in any order; none of its calls is ever seen apart from the rest.
	// The calls must not be changed.
	Others func(visit func(calls []msg.Call))
	// Ahead: the answer is given now and the change made with the commit, so that
	// only a lock can keep it true until then.
	Ahead bool
	// Unique differs from that of every other call of any transaction, for a
	// method that is Distinct.
	Unique [24]byte
}

// Plan is what a call does.
type Plan struct {
	// Need is the kind of lock that must be held for it to be true. If it is not,
	// the lock is waited for, and the call planned again.
	Need Kind
	// Calls are the changes, of methods with Apply, of this type.
	Calls []msg.Call
	// Answer is what the call returns.
	Answer []msg.Datum
	// Err fails the whole transaction. With a Need, it does so only under that
	// lock, or else under the method's Kind at least where that was asked for.
	Err error
	// Short is why a stronger lock is needed than if there were enough; nil if there is. It is for
	// contention receipts: no decision depends on it.
	Short *Shortage
}

// Shortage is how much was left near a bound, and how much a call requested, which was more.
type Shortage struct {
	// Left is the amount that was certain: what is left if all undecided transactions commit that
	// take from it, and none of those that add to it.
	Left      uint64
	Requested uint64
}

// As has a plan change what the method's Apply does, with the call's arguments.
// It is for Plans that only choose what is needed.
func As(need Kind, method uint32, a Args, answer ...msg.Datum) Plan {
	return Plan{Need: need, Calls: []msg.Call{{Method: method, Args: a}}, Answer: answer}
}

// Bytes, Int, Float and Bool make a datum.
func Bytes(b []byte) msg.Datum { return msg.Datum{Kind: msg.DatumBytes, Bytes: b} }

// Int is a whole number.
func Int(n int64) msg.Datum { return msg.Datum{Kind: msg.DatumInt, Int: n} }

// Float is a number.
func Float(f float64) msg.Datum { return msg.Datum{Kind: msg.DatumFloat, Float: f} }

// Nil is the absence of something.
func Nil() msg.Datum { return msg.Datum{} }

// Bool is a truth value.
func Bool(is bool) msg.Datum {
	d := msg.Datum{Kind: msg.DatumBool}
	if is {
		d.Int = 1
	}
	return d
}

// Errorf is an error that a method fails with. Kinds that fit are kv.KindInvalid
// for bad arguments, kv.KindOutOfRange for what does not fit into a value or its bounds,
// kv.KindNotFound for a value that must exist and does not, and kv.KindConditionFailed for
// what its state does not allow otherwise.
func Errorf(kind kv.Kind, format string, args ...any) error {
	return &kv.Error{Kind: kind, Op: -1, Text: fmt.Sprintf(format, args...)}
}
