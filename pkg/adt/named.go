package adt

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// The numbers of the methods of values and counters, in msg.Op.Method of operations that call them by name.
const (
	valuePut uint32 = iota + 1
	valueGet
)

const (
	counterAdd uint32 = iota + 1
	counterGet
	counterAddGet
)

// plainTypes declare values and counters for calls by name. The store has operations of its own for
// them.
var plainTypes = []*Type{
	plainType(Value, "value", "A byte string.",
		[]KindSpec{{Name: "read"}, {Name: "write", Changes: true}}, nil,
		&TypeMethod{Name: "put", Doc: "Sets the value.", Kind: 2, Changes: true,
			Params: []Param{{Name: "value", Kind: msg.DatumBytes}}},
		&TypeMethod{Name: "get", Doc: "Returns the value, or nil.", Kind: 1, Answers: true}),
	plainType(Counter, "counter", "A signed 64-bit integer. A counter that does not exist is 0.",
		[]KindSpec{{Name: "read"}, {Name: "add", Changes: true}, {Name: "write", Changes: true}}, []Commutes{{2, 2, Always}},
		&TypeMethod{Name: "add", Doc: "Adds n.", Kind: 2, Changes: true, Params: []Param{{Name: "n", Kind: msg.DatumInt}}},
		&TypeMethod{Name: "get", Doc: "Returns the number.", Kind: 1, Answers: true},
		&TypeMethod{Name: "add-get", Doc: "Adds n and returns the sum.", Kind: 3, Changes: true,
			Answers: true, Params: []Param{{Name: "n", Kind: msg.DatumInt}}}),
}

// plainType makes a declaration without functions.
//
// Their relation serves the advice and the documentation only. Locks of values and counters follow from the generic
// modes ([Compatible]).
func plainType(id entry.Type, name, doc string, kinds []KindSpec, commute []Commutes, methods ...*TypeMethod) *Type {
	t := &Type{ID: id, Name: name, Doc: doc, Kinds: kinds, Methods: methods}
	for i, m := range methods {
		m.Type, m.Number = t, uint32(i+1)
	}
	t.relation = make([][]When, len(kinds))
	for i := range t.relation {
		t.relation[i] = make([]When, len(kinds))
	}
	for _, c := range commute {
		t.relation[c.A-1][c.B-1], t.relation[c.B-1][c.A-1] = c.When, c.When
	}
	return t
}

// All returns all types by number, including values and counters.
func All() []*Type { return append(slices.Clip(plainTypes), Types()...) }

// Call returns the operation that calls a method by name. For a numeric parameter, an integer or
// its text is accepted. An error for an unknown name lists the known ones.
//
//	Call(k, "counter", "add", 1)     the operation OpAdd, with its own mode and effect
//	Call(k, "set", "add", "x")       OpUpdate with the number of the type and the method
func Call(key []byte, typeName, method string, args Args) (msg.Op, error) {
	m, err := FindNamed(typeName, method)
	if err != nil {
		return msg.Op{}, err
	}
	args = m.convertArgs(args)
	if err := m.CheckArgs(args); err != nil {
		return msg.Op{}, err
	}
	if m.Type.ID > Counter {
		return m.Op(key, args...), nil
	}
	op := msg.Op{Key: key, Type: uint32(m.Type.ID), Method: m.Number}
	switch {
	case m.Type.ID == Value && m.Number == valuePut:
		op.Kind, op.Value = msg.OpPut, args[0].Bytes
	case m.Number == counterAdd:
		op.Kind, op.Delta = msg.OpAdd, args[0].Int
	case m.Type.ID == Counter && m.Number == counterAddGet:
		op.Kind, op.Delta = msg.OpAddGet, args[0].Int
	default:
		op.Kind = msg.OpGet
	}
	return op, nil
}

// FindType returns the type with a name. The error lists the types.
func FindType(name string) (*Type, error) {
	if t := TypeByName(name); t != nil {
		return t, nil
	}
	var names []string
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return nil, kv.Errorf(kv.KindInvalid, "unknown data type %.40q; the types are %s", name, strings.Join(names, ", "))
}

// FindNamed returns a method by the names of type and method. The error lists what exists.
//
// The error goes to users who type the names, so it lists the alternatives; names are cut at 40 characters.
func FindNamed(typeName, method string) (*TypeMethod, error) {
	t, err := FindType(typeName)
	if err != nil {
		return nil, err
	}
	m := t.MethodByName(method)
	if m == nil {
		return nil, kv.Errorf(kv.KindInvalid, "the type %s has no method %.40q; its methods are %s", t.Name, method,
			t.MethodNames())
	}
	return m, nil
}

// MethodNames lists the methods in an error text.
func (t *Type) MethodNames() string {
	names := make([]string, len(t.Methods))
	for i, m := range t.Methods {
		names[i] = m.Name
	}
	return strings.Join(names, ", ")
}

// Param returns the parameter of an argument, or nil.
//
// Example: "set field value ..." repeats both parameters, so argument 5 is a value.
func (m *TypeMethod) Param(argument int) *Param {
	for i := range m.Params {
		if p := &m.Params[i]; p.Many {
			group := m.Params[i:]
			return &group[(argument-i)%len(group)]
		} else if i == argument {
			return p
		}
	}
	return nil
}

// convertArgs converts arguments to the types of their parameters where that is unambiguous: an
// integer to a number, and text, as on a command line, to a number or truth value. It does not
// change args.
//
// The command line and clients of JSON have only text and doubles. Example: "add s 1" of a sorted set converts the
// text "1" to the double 1; "1x" stays text, and CheckArgs reports which argument must be a number. A double is never
// converted to an integer: 1e300 has none, and cutting a fraction off would hide an error of the caller.
func (m *TypeMethod) convertArgs(args Args) Args {
	owned := false
	for i := range args {
		p := m.Param(i)
		if p == nil || p.Kind == args[i].Kind {
			continue
		}
		d, ok := convertDatum(args[i], p.Kind)
		if !ok {
			continue
		}
		if !owned {
			args, owned = slices.Clone(args), true
		}
		args[i] = d
	}
	return args
}

// convertDatum converts one argument.
func convertDatum(d msg.Datum, kind msg.DatumKind) (msg.Datum, bool) {
	switch {
	case d.Kind == msg.DatumInt && kind == msg.DatumFloat:
		return Float(float64(d.Int)), true
	case d.Kind == msg.DatumBytes:
		return ParseDatum(string(d.Bytes), kind)
	}
	return d, false
}

// ParseDatum parses a datum of a kind; ok is false if the text is not valid for it.
func ParseDatum(text string, kind msg.DatumKind) (d msg.Datum, ok bool) {
	switch kind {
	case msg.DatumBytes:
		return Bytes([]byte(text)), true
	case msg.DatumInt:
		n, err := strconv.ParseInt(text, 10, 64)
		return Int(n), err == nil
	case msg.DatumFloat:
		f, err := strconv.ParseFloat(text, 64)
		return Float(f), err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	case msg.DatumBool:
		return Bool(text == "true"), text == "true" || text == "false"
	}
	return d, false
}

// PlainAnswer returns the answer of a value or counter to an operation that called a method by
// name; nothing for other operations. The value has the operation's type or does not exist.
//
// An OpGet that calls no method returns the value in fields of its own. A call by name returns data (msg.Datum), so
// that a client with only the generic call can read every type.
func PlainAnswer(op *msg.Op, v *entry.Value) ([]msg.Datum, error) {
	switch {
	case op.Method == 0 || op.Kind != msg.OpGet && op.Kind != msg.OpAddGet:
		return nil, nil
	case entry.Type(op.Type) == Value && !v.Exists():
		return []msg.Datum{Nil()}, nil
	case entry.Type(op.Type) == Value:
		return []msg.Datum{Bytes(v.Payload)}, nil
	case !v.Exists():
		return []msg.Datum{Int(0)}, nil
	}
	n, err := DecodeCounter(v.Payload)
	return []msg.Datum{Int(n)}, err
}
