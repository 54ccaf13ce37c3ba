package server

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// The fields of pb.Op that call methods of data types. From typedField on, each
// field is for one type: its number is that of the type plus typeOffset.
const (
	callField  protowire.Number = 8
	typedField protowire.Number = 10
	lastField  protowire.Number = 17
	typeOffset                  = 8
)

// callOperation is a call by the names of type and method.
func callOperation(in *pb.CallOp, out *msg.Op) *kv.Error {
	out.Key = in.Key
	if len(in.Args) > maxArgs {
		return tooManyArgs()
	}
	op, err := adt.Call(in.Key, in.Type, in.Method, pb.InsideAll(in.Args))
	if err != nil {
		return hinted(err)
	}
	*out = op
	return pointOperation(in.XXX_unrecognized, out)
}

// maxArgs is how many arguments take up all that a transaction may have.
const maxArgs = kv.MaxTxnBytes / datumFrame

func tooManyArgs() *kv.Error {
	return invalid(fmt.Sprintf("the call has more than %d arguments", maxArgs), "split the call")
}

func hinted(err error) *kv.Error {
	e := errorOf(err)
	if e.Hint == "" {
		e.Hint = `"linchpin types" lists the data types of a node and their methods`
	}
	return e
}

// typedOperation is a call by a message of the data type's own. Its form follows
// from the declaration: field n+1 calls method n, and in the method's message
// field n is parameter n. So there is one decoder for all of them, and a test
// holds the messages against the declarations.
func typedOperation(in *pb.Op, out *msg.Op) *kv.Error {
	raw, err := in.Marshal()
	if err != nil {
		return errorOf(err)
	}
	num, typ, n := protowire.ConsumeTag(raw)
	if n < 0 || typ != protowire.BytesType || num < typedField {
		return unknownOperation()
	}
	body, _ := protowire.ConsumeBytes(raw[n:])
	kerr, err := readTyped(num, body, out)
	if err != nil {
		return errorOf(err)
	}
	return kerr
}

// readTyped reads the message in field num of a pb.Op.
func readTyped(num protowire.Number, body []byte, out *msg.Op) (*kv.Error, error) {
	t := adt.Lookup(entry.Type(num - typeOffset))
	if t == nil {
		return unknownOperation(), nil
	}
	var m *adt.TypeMethod
	var call []byte
	newer := false
	err := fields(body, func(num protowire.Number, raw []byte, _ uint64) error {
		switch {
		case raw != nil && num == 1:
			out.Key = append([]byte(nil), raw...)
		case raw != nil && num > 1 && t.Method(uint32(num-1)) != nil:
			m, call = t.Method(uint32(num-1)), raw
		default:
			newer = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m == nil {
		return invalid(fmt.Sprintf("a call of a %s needs a method", t.Name), "its methods are "+t.MethodNames()), nil
	}
	if newer {
		return unknownField(), nil
	}
	args, err := readArgs(m, call)
	if kerr := (*kv.Error)(nil); errors.As(err, &kerr) {
		return kerr, nil
	} else if err != nil {
		return nil, err
	}
	*out = m.Op(out.Key, args...)
	if _, err := adt.Find(out); err != nil {
		return hinted(err), nil
	}
	return pointOperation(nil, out), nil
}

// readArgs reads a message of a method's parameters.
func readArgs(m *adt.TypeMethod, b []byte) (adt.Args, error) {
	single := len(m.Params)
	var many []adt.Param
	for i := range m.Params {
		if m.Params[i].Many {
			single, many = i, m.Params[i:]
			break
		}
	}
	args, given, err := readRow(m.Params[:single], b, func(num protowire.Number, typ protowire.Type, b []byte) ([]msg.Datum, error) {
		switch {
		case int(num) != single+1 || len(many) == 0:
			return nil, unknownField()
		case len(many) == 1:
			return readMany(many[0].Kind, typ, b)
		case typ != protowire.BytesType:
			return nil, unknownField()
		}
		row, _ := protowire.ConsumeBytes(b)
		data, _, err := readRow(many, row, nil)
		return data, err
	})
	if err != nil || len(args) > single {
		return args, err
	}
	// An optional parameter is absent if the message has neither it nor a later one.
	for single > given && m.Params[single-1].Optional {
		single--
	}
	return args[:single], nil
}

// readRow reads a message that has a field for each parameter: a datum for each
// of them, and what more gives for other fields after that. given counts the parameters
// up to the last one that the message has. An optional parameter is in it if it was set,
// also to 0.
func readRow(params []adt.Param, b []byte, more func(protowire.Number, protowire.Type, []byte) ([]msg.Datum, error)) (out adt.Args, given int, err error) {
	if len(params) > 0 {
		out = make(adt.Args, len(params))
	}
	for i := range params {
		out[i].Kind = params[i].Kind
	}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return out, 0, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return out, 0, protowire.ParseError(size)
		}
		value := b[n : n+size]
		b = b[n+size:]
		if i := int(num) - 1; i < len(params) {
			d, ok := readDatum(params[i].Kind, typ, value)
			if !ok {
				return out, 0, unknownField()
			}
			if d.Float == 0 {
				d.Float = 0 // which has no sign in protobuf
			}
			out[i], given = d, max(given, i+1)
		} else if more == nil {
			return out, 0, unknownField()
		} else {
			data, err := more(num, typ, value)
			if err != nil {
				return out, 0, err
			}
			out = append(out, data...)
			if len(out) > maxArgs {
				return nil, 0, tooManyArgs()
			}
		}
	}
	return out, given, nil
}

// readDatum reads a value whose length has been checked; ok is false if it is
// of another kind on the wire.
func readDatum(k msg.DatumKind, typ protowire.Type, b []byte) (d msg.Datum, ok bool) {
	d.Kind = k
	switch {
	case k == msg.DatumBytes && typ == protowire.BytesType:
		raw, _ := protowire.ConsumeBytes(b)
		d.Bytes = append([]byte(nil), raw...)
	case k == msg.DatumInt && typ == protowire.VarintType:
		n, _ := protowire.ConsumeVarint(b)
		d.Int = protowire.DecodeZigZag(n)
	case k == msg.DatumBool && typ == protowire.VarintType:
		n, _ := protowire.ConsumeVarint(b)
		d.Int = int64(min(n, 1))
	case k == msg.DatumFloat && typ == protowire.Fixed64Type:
		n, _ := protowire.ConsumeFixed64(b)
		d.Float = math.Float64frombits(n)
	default:
		return d, false
	}
	return d, true
}

// readMany reads one occurrence of a repeated field: one value, or numbers that
// are packed.
func readMany(k msg.DatumKind, typ protowire.Type, b []byte) (out []msg.Datum, err error) {
	if k == msg.DatumBytes || typ != protowire.BytesType {
		d, ok := readDatum(k, typ, b)
		if !ok {
			return nil, unknownField()
		}
		return []msg.Datum{d}, nil
	}
	elem := protowire.VarintType
	if k == msg.DatumFloat {
		elem = protowire.Fixed64Type
	}
	packed, _ := protowire.ConsumeBytes(b)
	for len(packed) > 0 {
		n := protowire.ConsumeFieldValue(1, elem, packed)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		d, _ := readDatum(k, elem, packed[:n])
		out, packed = append(out, d), packed[n:]
	}
	return out, nil
}

// argBytes is what arguments count of a transaction's bytes.
func argBytes(args []msg.Datum) (n int) {
	for i := range args {
		n += datumFrame + len(args[i].Bytes)
	}
	return n
}

// datumFrame is about what a datum takes beside its bytes.
const datumFrame = 16
