package client

import (
	"fmt"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Call calls a method of a data type by its name: Call(key, "set", "add", "ann").
// An argument is a []byte, a string, an int, an int64, a float64 or a bool; DB.Types
// and `linchpin types` tell what methods take. What it answers is in
// Result.Answer.
//
// The types have handles, which check arguments when the program is compiled:
// see Set, Dict and the others. Call is for what has none, such as types of your
// own.
func Call(key []byte, typ, method string, args ...any) Op {
	o := Op{op: msg.Op{Kind: msg.OpUpdateGet, Key: key, Args: make([]msg.Datum, len(args))}, called: &called{typ: typ, method: method}}
	if m, err := adt.FindNamed(typ, method); err == nil && !m.Changes {
		o.op.Kind = msg.OpQuery
	}
	for i, arg := range args {
		d, ok := datumOf(arg)
		if !ok {
			o.called.wrong = &kv.Error{Kind: kv.KindInvalid, Key: key, Text: fmt.Sprintf("argument %d of %s of a %s is a %T", i+1, method, typ, arg),
				Hint: "give a []byte, a string, an int, an int64, a float64 or a bool"}
		}
		o.op.Args[i] = d
	}
	return o
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

// argumentTexts are arguments in the line language.
func argumentTexts(args []msg.Datum) (out []string) {
	for i := range args {
		switch d := &args[i]; d.Kind {
		case msg.DatumBytes:
			out = append(out, strconv.Quote(string(d.Bytes)))
		default:
			out = append(out, Datum{*d}.String())
		}
	}
	return out
}

// Datum is a part of what a method of a data type answers: bytes, a number, a
// truth value, or nothing.
type Datum struct{ d msg.Datum }

// IsNil reports whether it is nothing: there was no such member, for instance.
func (d Datum) IsNil() bool { return d.d.Kind == msg.DatumNil }

// Bytes is nil if it is not bytes, and empty if it has none.
func (d Datum) Bytes() []byte {
	switch {
	case d.d.Kind != msg.DatumBytes:
		return nil
	case d.d.Bytes == nil:
		return []byte{}
	}
	return d.d.Bytes
}

// Int is 0 if it is not a whole number.
func (d Datum) Int() int64 {
	if d.d.Kind != msg.DatumInt {
		return 0
	}
	return d.d.Int
}

// Float is the number, whole or not; 0 if it is none.
func (d Datum) Float() float64 {
	if d.d.Kind == msg.DatumInt {
		return float64(d.d.Int)
	}
	return d.d.Float
}

// Bool is false if it is not a truth value.
func (d Datum) Bool() bool { return d.d.Kind == msg.DatumBool && d.d.Int != 0 }

// Any is the datum as a []byte, int64, float64 or bool; nil if it is nothing.
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

// String is the datum as text.
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
