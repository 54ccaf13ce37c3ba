package client

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Doer runs operations: the *Tx of an Update, the *ReadTx of a View, and what
// DB.OneShot gives. The handles of data types take any of them.
type Doer interface {
	Do(ops ...Op) ([]Result, error)
}

// later is a Doer that can note an operation whose result nobody waits for.
type later interface{ keep(op Op) error }

func (tx *Tx) keep(op Op) error { return tx.t.keep(op) }

// OneShot is a Doer each of whose calls is a transaction of its own.
func (db *DB) OneShot(ctx context.Context) Doer { return oneShot{ctx, db.With()} }

// OneShot is DB.OneShot with the handle's options.
func (x *Handle) OneShot(ctx context.Context) Doer { return oneShot{ctx, x} }

type oneShot struct {
	ctx context.Context
	x   *Handle
}

func (o oneShot) Do(ops ...Op) ([]Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	out, err := o.x.Execute(o.ctx, ops...)
	if err != nil {
		return nil, err
	}
	if out.ResultsLost {
		e := errorf(kv.KindResultsLost, nil, "the transaction has committed, but its results are no longer known")
		e.ID = out.ID
		return nil, e
	}
	return out.Results, nil
}

// tell calls a method that answers nothing. In an Update it is only noted, as a
// Put is.
func tell(d Doer, op Op) error {
	if l, ok := d.(later); ok {
		return l.keep(op)
	}
	_, err := d.Do(op)
	return err
}

// ask calls a method that answers at least some data.
func ask(d Doer, op Op, least int) ([]Datum, error) {
	rs, err := d.Do(op)
	if err != nil {
		return nil, err
	}
	if len(rs) != 1 || len(rs[0].Answer) < least {
		return nil, errorf(kv.KindInternal, nil, "the server answered %s of a %s with less than is to be told", op.called.method, op.called.typ)
	}
	return rs[0].Answer, nil
}

func askInt(d Doer, op Op) (int64, error) {
	a, err := ask(d, op, 1)
	if err != nil {
		return 0, err
	}
	return a[0].Int(), nil
}

func askBool(d Doer, op Op) (bool, error) {
	a, err := ask(d, op, 1)
	return err == nil && a[0].Bool(), err
}

// askFloat tells also whether there is a number.
func askFloat(d Doer, op Op) (x float64, ok bool, err error) {
	a, err := ask(d, op, 1)
	if err != nil || a[0].IsNil() {
		return 0, false, err
	}
	return a[0].Float(), true, nil
}

// askPlace tells a number that need not be there.
func askPlace(d Doer, op Op) (n int64, ok bool, err error) {
	a, err := ask(d, op, 1)
	if err != nil || a[0].IsNil() {
		return 0, false, err
	}
	return a[0].Int(), true, nil
}

// Codec makes bytes of the elements of a data type, and elements of bytes. Equal
// elements must have equal bytes, and elements have the order of their bytes.
type Codec[T any] interface {
	Encode(T) ([]byte, error)
	Decode([]byte) (T, error)
}

// The codecs of common elements. Ints are in decimal, as dicts count and as a
// command line shows them; so 10 comes before 9.
var (
	Strings Codec[string] = stringCodec{}
	Raw     Codec[[]byte] = rawCodec{}
	Ints    Codec[int64]  = intCodec{}
)

// JSON is the codec of what package encoding/json can write and read.
func JSON[T any]() Codec[T] { return jsonCodec[T]{} }

type stringCodec struct{}

func (stringCodec) Encode(s string) ([]byte, error) { return []byte(s), nil }
func (stringCodec) Decode(b []byte) (string, error) { return string(b), nil }

type rawCodec struct{}

func (rawCodec) Encode(b []byte) ([]byte, error) { return b, nil }
func (rawCodec) Decode(b []byte) ([]byte, error) { return b, nil }

type intCodec struct{}

func (intCodec) Encode(n int64) ([]byte, error) { return strconv.AppendInt(nil, n, 10), nil }
func (intCodec) Decode(b []byte) (int64, error) { return strconv.ParseInt(string(b), 10, 64) }

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Encode(v T) ([]byte, error) { return json.Marshal(v) }

func (jsonCodec[T]) Decode(b []byte) (v T, err error) { return v, json.Unmarshal(b, &v) }

// typed is a key that holds a data type with elements.
type typed[T any] struct {
	key, typ string
	codec    Codec[T]
}

// Key is the key.
func (h *typed[T]) Key() string { return h.key }

func (h *typed[T]) call(method string, args ...any) Op {
	return Call([]byte(h.key), h.typ, method, args...)
}

// with calls a method with elements behind its other arguments.
func (h *typed[T]) with(method string, args []any, elements ...T) (Op, error) {
	for _, e := range elements {
		b, err := h.codec.Encode(e)
		if err != nil {
			return Op{}, h.failed(err, "an element cannot be written")
		}
		args = append(args, b)
	}
	return h.call(method, args...), nil
}

func (h *typed[T]) failed(err error, text string) error {
	e := errorf(kv.KindInvalid, err, "%s: %v", text, err)
	e.Key = []byte(h.key)
	return e
}

func (h *typed[T]) element(d Datum) (T, error) {
	v, err := h.codec.Decode(d.Bytes())
	if err != nil {
		return v, h.failed(err, "an element of the "+h.typ+" cannot be read")
	}
	return v, nil
}

func (h *typed[T]) elements(ds []Datum) ([]T, error) {
	out := make([]T, len(ds))
	for i, d := range ds {
		var err error
		out[i], err = h.element(d)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tellOf calls a method that answers nothing with elements; of none, it does
// nothing.
func (h *typed[T]) tellOf(d Doer, method string, elements []T) error {
	if len(elements) == 0 {
		return nil
	}
	op, err := h.with(method, nil, elements...)
	if err != nil {
		return err
	}
	return tell(d, op)
}

// countOf calls a method that answers a number with elements.
func (h *typed[T]) countOf(d Doer, method string, elements []T) (int64, error) {
	op, err := h.with(method, nil, elements...)
	if err != nil {
		return 0, err
	}
	return askInt(d, op)
}

// listed calls a method that answers elements.
func (h *typed[T]) listed(d Doer, method string, args ...any) ([]T, error) {
	a, err := ask(d, h.call(method, args...), 0)
	if err != nil {
		return nil, err
	}
	return h.elements(a)
}
