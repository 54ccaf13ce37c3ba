package client

import (
	"fmt"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Datum is a part of what a method of a data type returns: bytes, a whole number, a number, a truth
// value, or nothing.
type Datum struct{ d msg.Datum }

// IsNil reports whether it is nothing: there is no such member, for instance.
func (d Datum) IsNil() bool { return d.d.Kind == msg.DatumNil }

// Bytes returns the bytes: empty and not nil if there are none, nil if the datum is not bytes.
func (d Datum) Bytes() []byte {
	switch {
	case d.d.Kind != msg.DatumBytes:
		return nil
	case d.d.Bytes == nil:
		return []byte{}
	}
	return d.d.Bytes
}

// Int returns the whole number, 0 if it is none.
func (d Datum) Int() int64 {
	if d.d.Kind != msg.DatumInt {
		return 0
	}
	return d.d.Int
}

// Float returns the number, whole or not, 0 if it is none.
func (d Datum) Float() float64 {
	if d.d.Kind == msg.DatumInt {
		return float64(d.d.Int)
	}
	return d.d.Float
}

// Bool returns the truth value, false if it is none.
func (d Datum) Bool() bool { return d.d.Kind == msg.DatumBool && d.d.Int != 0 }

// Any returns the datum as a []byte, int64, float64 or bool, nil if it is nothing.
func (d Datum) Any() any {
	switch d.d.Kind {
	case msg.DatumBytes:
		return d.Bytes()
	case msg.DatumInt:
		return d.d.Int
	case msg.DatumFloat:
		return d.d.Float
	case msg.DatumBool:
		return d.Bool()
	}
	return nil
}

// String returns the datum as text.
func (d Datum) String() string {
	switch d.d.Kind {
	case msg.DatumBytes:
		return string(d.d.Bytes)
	case msg.DatumInt:
		return strconv.FormatInt(d.d.Int, 10)
	case msg.DatumFloat:
		return strconv.FormatFloat(d.d.Float, 'f', -1, 64)
	case msg.DatumBool:
		return strconv.FormatBool(d.d.Int != 0)
	}
	return "nil"
}

// CallOp returns an operation that calls a method of a data type by its name: it is for types of
// the cluster's own, which have no Go type here. An argument is a []byte, a string, an int, an int64,
// a float64 or a bool; "linchpin types" prints what methods take. decode converts what the method
// returns; its error fails the operation with [KindWrongType]. With a nil decode the value is
// always the zero T.
//
//	distinct := client.CallOp("visitors", "distinct", "estimate", func(d []client.Datum) (int64, error) {
//		return d[0].Int(), nil
//	})
func CallOp[T any](key, typ, method string, decode func([]Datum) (T, error), args ...any) *Result[T] {
	m := newMethod(Type(typ), method)
	data := make([]msg.Datum, len(args))
	var wrong *kv.Error
	for i, arg := range args {
		d, ok := datumOf(arg)
		if !ok && wrong == nil {
			wrong = &kv.Error{Kind: kv.KindInvalid, Key: []byte(key), Text: fmt.Sprintf("argument %d of %s of a %s is a %T", i+1,
				method, typ, arg),
				Hint: "pass a []byte, a string, an int, an int64, a float64 or a bool"}
		}
		data[i] = d
	}
	r := calling(key, m, func(r *Result[T], a []Datum) error {
		if decode == nil {
			return nil
		}
		v, err := decode(a)
		if err != nil {
			return undecodable(&r.operation, err)
		}
		r.value, r.found = v, len(a) > 0 && !a[0].IsNil()
		return nil
	}, data...)
	r.wrong = wrong
	return r
}

func datumOf(arg any) (d msg.Datum, ok bool) {
	switch x := arg.(type) {
	case []byte:
		return adt.Bytes(x), true
	case string:
		return adt.Bytes([]byte(x)), true
	case int:
		return adt.Int(int64(x)), true
	case int64:
		return adt.Int(x), true
	case float64:
		return adt.Float(x), true
	case bool:
		return adt.Bool(x), true
	}
	return d, false
}

// calling makes a call whose result is decoded from data.
func calling[T any](key string, m method, decode func(r *Result[T], a []Datum) error, args ...msg.Datum) *Result[T] {
	r := &Result[T]{operation: called(key, m, args)}
	r.returns = true
	r.decode = func(r *Result[T], p *pb.Result) error {
		a := make([]Datum, len(p.Data))
		for i := range p.Data {
			a[i] = Datum{p.Data[i].Inside()}
		}
		return decode(r, a)
	}
	return r
}

// commanding makes a call without a result.
func commanding(key string, m method, args ...msg.Datum) *command {
	return &command{called(key, m, args)}
}

func called(key string, m method, args []msg.Datum) operation {
	return operation{op: msg.Op{Kind: m.kind, Key: bytesOf(key), Args: args}, typ: m.typ, method: m.name}
}

// undecodable is the error of a result that a codec cannot decode.
func undecodable(o *operation, err error) error {
	e := errorf(KindWrongType, err, "what the key holds cannot be decoded: %v", err)
	e.Key, e.Operation = o.Key(), o.name()
	return e
}

// tooLittle is the error of a result with fewer data than the method returns.
func tooLittle(o *operation) error {
	e := errorf(KindInternal, nil, "the node has returned less than %s returns", o.name())
	e.Key, e.Operation = o.Key(), o.name()
	return e
}
