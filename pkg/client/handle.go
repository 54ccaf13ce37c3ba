package client

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// handle is a key that holds a data type with elements.
type handle[T any] struct {
	key   string
	codec Codec[T]
}

// Key returns the key.
func (h handle[T]) Key() string { return h.key }

// encode appends elements to arguments.
func (h handle[T]) encode(args []msg.Datum, elements ...T) ([]msg.Datum, *kv.Error) {
	for _, e := range elements {
		b, err := h.codec.Encode(e)
		if err != nil {
			return nil, &kv.Error{Kind: kv.KindInvalid, Key: []byte(h.key), Text: fmt.Sprintf("the codec cannot encode a %T: %v",
				e, err)}
		}
		args = append(args, adt.Bytes(b))
	}
	return args, nil
}

func (h handle[T]) decode(o *operation, d Datum) (T, error) {
	v, err := h.codec.Decode(d.Bytes())
	if err != nil {
		return v, undecodable(o, err)
	}
	return v, nil
}

// command makes a call without a result, with elements behind other arguments.
func (h handle[T]) command(m method, args []msg.Datum, elements ...T) Op {
	args, wrong := h.encode(args, elements...)
	c := commanding(h.key, m, args...)
	c.wrong = wrong
	return c
}

// about makes a call with elements behind other arguments.
func about[R, T any](h handle[T], m method, decode func(*Result[R], []Datum) error, args []msg.Datum,
	elements ...T) *Result[R] {
	args, wrong := h.encode(args, elements...)
	r := calling(h.key, m, decode, args...)
	r.wrong = wrong
	return r
}

// element decodes an element, or nothing.
func (h handle[T]) element(r *Result[T], a []Datum) (err error) {
	if len(a) == 0 {
		return tooLittle(&r.operation)
	}
	r.found = !a[0].IsNil()
	if r.found {
		r.value, err = h.decode(&r.operation, a[0])
	}
	return err
}

// elements decodes elements.
func (h handle[T]) elements(r *Result[[]T], a []Datum) (err error) {
	r.value, r.found = make([]T, len(a)), len(a) > 0
	for i, d := range a {
		r.value[i], err = h.decode(&r.operation, d)
		if err != nil {
			return err
		}
	}
	return nil
}

// Scored is a member with its score. Scores have at most six decimal places.
type Scored[T any] struct {
	Member T
	Score  float64
}

// scored decodes members with scores.
func (h handle[T]) scored(r *Result[[]Scored[T]], a []Datum) (err error) {
	r.value, r.found = make([]Scored[T], len(a)/2), len(a) > 1
	for i := range r.value {
		r.value[i].Score = a[2*i+1].Float()
		r.value[i].Member, err = h.decode(&r.operation, a[2*i])
		if err != nil {
			return err
		}
	}
	return nil
}

// Field is a field of a [Map] with its value.
type Field[T any] struct {
	Name  string
	Value T
}

// fields decodes fields.
func (h handle[T]) fields(r *Result[[]Field[T]], a []Datum) (err error) {
	r.value, r.found = make([]Field[T], len(a)/2), len(a) > 1
	for i := range r.value {
		r.value[i].Name = a[2*i].String()
		r.value[i].Value, err = h.decode(&r.operation, a[2*i+1])
		if err != nil {
			return err
		}
	}
	return nil
}

// The decoders of single data. What may be nothing is found if it is not.

func asInt(r *Result[int], a []Datum) error {
	if len(a) == 0 {
		return tooLittle(&r.operation)
	}
	r.value, r.found = int(a[0].Int()), !a[0].IsNil()
	return nil
}

func asInt64(r *Result[int64], a []Datum) error {
	if len(a) == 0 {
		return tooLittle(&r.operation)
	}
	r.value, r.found = a[0].Int(), !a[0].IsNil()
	return nil
}

func asFloat(r *Result[float64], a []Datum) error {
	if len(a) == 0 {
		return tooLittle(&r.operation)
	}
	r.value, r.found = a[0].Float(), !a[0].IsNil()
	return nil
}

func asBool(r *Result[bool], a []Datum) error {
	if len(a) == 0 {
		return tooLittle(&r.operation)
	}
	r.value, r.found = a[0].Bool(), a[0].Bool()
	return nil
}

// texts are strings as arguments.
func texts(ss []string) []msg.Datum {
	out := make([]msg.Datum, len(ss))
	for i, s := range ss {
		out[i] = text(s)
	}
	return out
}

func text(s string) msg.Datum { return adt.Bytes(bytesOf(s)) }

func number(n int) msg.Datum { return adt.Int(int64(n)) }

// these are arguments.
func these(args ...msg.Datum) []msg.Datum { return args }
